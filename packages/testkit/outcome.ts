/** One question to every operation: how far does this caller get? Nothing is performed. */

import { exampleOf } from "@stead/contract/example.ts";
import { prefixes } from "@stead/contract/fields.ts";
import type { NamedOperation } from "@stead/contract/index.ts";
import { paramsOf } from "@stead/contract/operation.ts";
import { type Client, SteadError } from "@stead/sdk/client.ts";

type Named = Pick<NamedOperation, "name" | "op">;

/** The code of the refusal, or "ok". Ids of the path are well formed and name nothing. */
export async function outcomeOf(client: Client, { name, op }: Named): Promise<string> {
  const ids = paramsOf(op.path)
    .filter((param) => param !== "uid")
    .map((param) => [param, `${prefixes[param as keyof typeof prefixes] ?? prefixes.uid}_01jcpv1w2n9w5eph2j1v0a7q3r`]);
  const args = { ...(op.body ? (exampleOf(op.body) as object) : {}), ...Object.fromEntries(ids) };
  try {
    await client.call(name, args, { dry_run: true });
    return "ok";
  } catch (error) {
    if (error instanceof SteadError) return error.code;
    throw error;
  }
}
