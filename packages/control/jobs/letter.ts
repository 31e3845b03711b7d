/** A plain-text message of a job. Its Message-ID comes from the job's id: a message sent twice after a crash is recognisably the same one. */
import type { Deps, Letter } from "../deps.ts";

export function letter({ config }: Deps, job_id: string, to: string, subject: string, paragraphs: readonly string[]): Letter {
  return { to, subject, text: `${paragraphs.join("\n\n")}\n`, message_id: `<${job_id}@${new URL(config.base_url).hostname}>` };
}
