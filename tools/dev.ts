/**
 * `npm run dev`: the whole control plane on this machine, from a clean clone, without root and without Docker.
 * It brings a real PostgreSQL (or uses DATABASE_URL), a local CA, a mailbox that prints what it gets, and three people
 * with keys. Everything it keeps is in `.stead/`; delete that folder to start afresh.
 */
import { randomUUIDv7 } from "node:crypto";
import { relative, resolve } from "node:path";
import { styleText } from "node:util";
import { formatId } from "@stead/base/id.ts";
import { readConfig } from "@stead/control/config.ts";
import type { Db } from "@stead/control/db/pool.ts";
import { hashOf, newCredential } from "@stead/control/identity/credential.ts";
import { hashPassword } from "@stead/control/identity/password.ts";
import { processLog } from "@stead/control/log.ts";
import { migrate } from "@stead/control/migrate.ts";
import { smtpMail } from "@stead/control/outside/mail.ts";
import { serve } from "@stead/control/serve.ts";
import { loadOrCreate } from "@stead/testkit/ca.ts";
import { ensureDatabase, startPostgres } from "@stead/testkit/postgres.ts";
import { startSmtp } from "@stead/testkit/smtp.ts";

const home = resolve(import.meta.dirname, "../.stead");
const port = process.env.STEAD_DEV_PORT ?? "8443";
const password = "stead development";
const people = [
  { first_name: "Ada", email: "ada@example.com", role: "admin" },
  { first_name: "Grace", email: "grace@example.com", role: "user" },
  { first_name: "Linus", email: "linus@example.com", role: "user" },
] as const;

const say = (text = "") => void process.stdout.write(`${text}\n`);

/** The people stay from one start to the next; their keys are new each time, because only hashes are kept. */
async function seedPeople(db: Db): Promise<{ email: string; uid: string; key: string }[]> {
  const password_hash = await hashPassword(password);
  const { plan_id } = await db.selectFrom("plans").select("plan_id").where("is_default", "=", true).executeTakeFirstOrThrow();
  return Promise.all(
    people.map(async (person) => {
      await db
        .insertInto("users")
        .values({ uid: randomUUIDv7(), ...person, password_hash, plan_id, verified_at: new Date() })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const { uid } = await db.selectFrom("users").select("uid").where("email", "=", person.email).executeTakeFirstOrThrow();
      const key = newCredential("stead_");
      await db.deleteFrom("credentials").where("uid", "=", uid).where("kind", "=", "primary").execute();
      await db
        .insertInto("credentials")
        .values({ key_id: randomUUIDv7(), uid, kind: "primary", hash: hashOf(key), last4: key.slice(-4), name: "Primary key" })
        .execute();
      return { email: person.email, uid: formatId("usr", uid), key };
    }),
  );
}

const started = performance.now();
const postgres = await startPostgres({ dir: `${home}/postgres`, durable: true });
const database_url = await ensureDatabase(postgres.url, "stead");
await migrate(database_url);
const tls = await loadOrCreate(`${home}/tls`);
const mailbox = await startSmtp({
  on_mail: ({ to, subject, text }) => say(`${styleText("cyan", "mail")} to ${to.join(", ")}: ${subject}\n${text.replace(/^/gm, "  ")}`),
});
const config = readConfig({
  DATABASE_URL: database_url,
  STEAD_BIND: `127.0.0.1:${port}`,
  STEAD_INTERNAL_BIND: `127.0.0.1:${process.env.STEAD_DEV_INTERNAL_PORT ?? "9090"}`,
  STEAD_BASE_URL: `https://localhost:${port}`,
  STEAD_TLS: "direct",
  STEAD_TLS_CERT: `${home}/tls/localhost.pem`,
  STEAD_TLS_KEY: `${home}/tls/localhost-key.pem`,
  STEAD_SMTP_URL: mailbox.url,
  STEAD_MAIL_FROM: "Stead <stead@localhost>",
});
const mail = config.mail && smtpMail(config.mail);
const log = processLog();
const running = await serve(config, log, { mail });
const seeded = await seedPeople(running.deps.db);

say(
  `\n${styleText("green", "Stead runs")} at ${config.base_url} (${((performance.now() - started) / 1000).toFixed(1)} s). People, all with the password "${password}":\n`,
);
for (const { email, uid, key } of seeded) say(`  ${email.padEnd(18)} ${uid}\n  ${"".padEnd(18)} ${key}`);
say(`\nTry it:\n\n  curl --cacert ${relative(process.cwd(), tls.ca_path)} ${config.base_url}/api/v2/ext/me -H "Authorization: Bearer ${seeded[0]?.key}"\n`);
say("Ctrl-C stops it. What it keeps is in .stead/.\n");

let stopping = false;
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  await running.stop();
  mail?.close();
  await mailbox.stop();
  await postgres.stop();
  log.flush();
}
process.on("SIGINT", () => void stop());
process.on("SIGTERM", () => void stop());
