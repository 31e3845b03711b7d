/**
 * `kill -9` again and again under a writing load. Each writer keeps a journal of what it asked for and what was
 * acknowledged; in the end the database and the mailbox are held against the journals. PostgreSQL is one that syncs.
 */
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, startPostgres } from "@stead/testkit/postgres.ts";
import { endLeftovers, freePorts, type Ports, type SteadProcess, spawnStead, startStead } from "@stead/testkit/process.ts";
import { type SmtpServer, startSmtp } from "@stead/testkit/smtp.ts";
import { insertPerson } from "@stead/testkit/world.ts";
import { Crew, type JournalEntry, type WriteKind } from "@stead/testkit/writers.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Database, openDatabase } from "./db/pool.ts";
import { hashOf } from "./identity/credential.ts";
import { migrate } from "./migrate.ts";

const kills = Number(process.env.STEAD_KILLS ?? 100);
const writers = 8;

let own: Database;
let smtp: SmtpServer;
let ports: Ports;
const cleanUp: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const server = await startPostgres({ durable: true });
  cleanUp.push(() => server.stop());
  const database = await createDatabase(server.url);
  cleanUp.push(() => database.drop());
  await migrate(database.url);
  // One that ends by itself leaves its compiled code for those that will not.
  await (await startStead({ database_url: database.url })).kill("SIGTERM");
  own = openDatabase({ url: database.url, connections: 4, onIdleError: () => {} });
  cleanUp.push(() => own.close());
  smtp = await startSmtp();
  cleanUp.push(() => smtp.stop());
  ports = await freePorts();
});
afterAll(async () => {
  await endLeftovers();
  for (const step of cleanUp.reverse()) await step();
});

/** Kills at a random moment of its life: while it starts, or up to 0.7 s after it was ready. */
async function liveAndDie(env: Record<string, string>, startup: number[]): Promise<"before ready" | "after ready"> {
  const begun = performance.now();
  const stead = spawnStead({ database_url: env.DATABASE_URL as string, ports, env });
  const early = Math.random() < 0.15;
  if (early) await Promise.race([sleep(Math.random() * 700), stead.ended]);
  else {
    await stead.ready;
    startup.push(performance.now() - begun);
    await sleep(Math.random() * 700);
  }
  expect(await stead.kill("SIGKILL"), stead.stderr).toMatchObject({ signal: "SIGKILL" });
  return early ? "before ready" : "after ready";
}

test(`${kills} times kill -9 under a writing load`, { timeout: 120_000 + kills * 4000 }, async () => {
  const database_url = own.pool.options.connectionString as string;
  const env = { DATABASE_URL: database_url, STEAD_SMTP_URL: smtp.url, STEAD_MAIL_FROM: "Stead <stead@stead.test>" };
  const people = await Promise.all(Array.from({ length: writers }, (_, n) => insertPerson(own.db, `http://127.0.0.1:${ports.api}`, `writer${n}`)));
  const crew = new Crew(people, ports.api);
  const begun = performance.now();
  const startup: number[] = [];
  let early = 0;
  for (let n = 0; n < kills; n++) if ((await liveAndDie(env, startup)) === "before ready") early++;
  const killed_ms = performance.now() - begun;

  const last = spawnStead({ database_url, ports, env });
  await last.ready;
  // Those who wait for an answer get it now.
  await sleep(500);
  await crew.stop();
  const drained_ms = await drain(last);

  const found = await expectWhole(crew);
  const mails = expectMails(crew, found);
  const entries = crew.journal;
  // Or it was no load.
  expect(entries.filter(({ acknowledged }) => acknowledged).length).toBeGreaterThan(kills);
  process.stdout.write(
    [
      `kill -9: ${kills} times (${early} of them before it was ready) in ${seconds(killed_ms)}, start-up median ${Math.round(median(startup))} ms; queue drained in ${seconds(drained_ms)}`,
      `writes: ${entries.length} asked for, ${entries.filter(({ acknowledged }) => acknowledged).length} acknowledged, ${entries.filter(({ sent, acknowledged }) => sent > 1 && acknowledged).length} of them after a repeat under the same key`,
      `never acknowledged: ${entries.filter(({ acknowledged }) => !acknowledged).length}, of which ${found.unanswered} are there whole and the rest not at all`,
      `effects: ${JSON.stringify(found.effects)}; activity entries: ${found.activity}`,
      `mails: ${mails.distinct} of ${mails.expected} messages, ${mails.delivered} deliveries, ${mails.repeated} repeats under the same Message-ID; jobs: ${JSON.stringify(found.jobs)}`,
      "",
    ].join("\n"),
  );
});

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Waits until no job is left to do. What a killed process had taken comes back when its heartbeat is missed. */
async function drain(last: SteadProcess): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const { rows } = await sql<{ left: number }>`select count(*)::int as left from pgboss.job where state < 'completed'`.execute(own.db);
    const waited = performance.now() - begun;
    if (rows[0]?.left === 0) return waited;
    if (waited > 90_000) throw new Error(`${rows[0]?.left} jobs are still not done: ${last.stdout.slice(-2000)}`);
    await sleep(200);
  }
}

interface Found {
  readonly effects: Record<WriteKind, number>;
  readonly unanswered: number;
  readonly activity: number;
  readonly jobs: Record<string, number>;
  /** The ids of the jobs by the address that they write to. */
  readonly letters: Map<string, string[]>;
}

/** Every part that a write of that kind leaves, by the write's name: all of them are there, once, or none is. */
async function expectWhole(crew: Crew): Promise<Found> {
  const parts = await readParts();
  const effects: Record<WriteKind, number> = { team: 0, profile: 0, key: 0, invite: 0, signup: 0 };
  let unanswered = 0;
  for (const { person, journal } of crew.writers) {
    for (const entry of journal) {
      const seen = parts[entry.kind].map((part) => part(person.uuid, entry));
      expect([0, 1], `${entry.kind} ${entry.name} is there in halves: ${seen.join()}`).toContain(seen[0]);
      expect(new Set(seen).size, `${entry.kind} ${entry.name} is there in halves: ${seen.join()}`).toBe(1);
      if (entry.acknowledged) expect(seen[0], `${entry.kind} ${entry.name} was acknowledged and is lost`).toBe(1);
      else if (seen[0] === 1) unanswered++;
      effects[entry.kind] += seen[0] as number;
      if (entry.kind === "key" && entry.reply)
        expect(parts.keyHashes.get(entry.name)).toBe(hashOf((entry.reply as { api_key: string }).api_key).toString("hex"));
    }
    // The profile shows the last change that is on record, acknowledged or not.
    const lastChange = journal.findLast((entry) => entry.kind === "profile" && parts.record(person.uuid, entry) === 1);
    const { phone } = await own.db.selectFrom("users").select("phone").where("uid", "=", person.uuid).executeTakeFirstOrThrow();
    expect(phone).toBe(lastChange?.name ?? "");
    const changes = journal.filter((entry) => entry.kind === "profile" && parts.record(person.uuid, entry) === 1).length;
    expect(parts.profileChanges.get(person.uuid) ?? 0).toBe(changes);
  }
  expect(crew.refusals).toEqual([]);
  // Nothing is there that nobody asked for.
  const total = Object.values(effects).reduce((sum, count) => sum + count, 0);
  expect(parts.activity).toBe(total);
  expect(parts.records).toBe(total - effects.signup);
  expect(Object.keys(parts.jobs)).toEqual(["completed"]);
  return { effects, unanswered, activity: parts.activity, jobs: parts.jobs, letters: parts.letters };
}

type Part = (uid: string, entry: JournalEntry) => number;

async function readParts() {
  const counted = async (rows: Promise<{ readonly name: string }[]>): Promise<(name: string) => number> => {
    const counts = new Map<string, number>();
    for (const { name } of await rows) counts.set(name, (counts.get(name) ?? 0) + 1);
    return (name) => counts.get(name) ?? 0;
  };
  const { db } = own;
  const teams = await counted(db.selectFrom("teams").select("name").execute());
  const owners = await counted(
    db
      .selectFrom("teams")
      .innerJoin("team_members", "team_members.tid", "teams.tid")
      .select("name")
      .whereRef("uid", "=", "owner_uid")
      .where("role", "=", "owner")
      .execute(),
  );
  const scoped = await db.selectFrom("credentials").select(["name", "hash"]).where("kind", "=", "scoped").execute();
  const keys = await counted(Promise.resolve(scoped));
  const pending = await counted(db.selectFrom("pending").select("email as name").$narrowType<{ name: string }>().execute());
  const users = await counted(db.selectFrom("users").select("email as name").execute());
  const activity = await db
    .selectFrom("activity")
    .leftJoin("users", "users.uid", "activity.uid")
    .select(["activity.uid", "action", "detail", "email"])
    .execute();
  const told = await counted(
    Promise.resolve(
      activity.map(({ uid, action, detail, email }) => ({
        name:
          action === "user.signup" ? `signup ${email}` : action === "user.update" ? `update ${uid}` : detail.replace(/, which ends in .*| to the team .*/, ""),
      })),
    ),
  );
  const records = await counted(
    db
      .selectFrom("idempotency")
      .select(["uid", "key_hash"])
      .execute()
      .then((rows) => rows.map(({ uid, key_hash }) => ({ name: `${uid} ${key_hash.toString("hex")}` }))),
  );
  const { rows: jobRows } = await sql<{ id: string; name: string; state: string; email: string | null }>`
    select j.id, j.name, j.state::text as state, coalesce(u.email, p.email, j.data->>'email') as email from pgboss.job j
    left join users u on u.uid::text = j.data->>'uid' left join pending p on p.id::text = j.data->>'id'
    where j.name ~ '-mail$'`.execute(db);
  const letters = Map.groupBy(
    jobRows.filter(({ name }) => name !== "auth.account-exists-mail"),
    ({ email }) => email as string,
  );
  const queued: Part = (_, { name }) => letters.get(name)?.length ?? 0;
  const record: Part = (uid, { idempotency_key }) => records(`${uid} ${hash("sha256", idempotency_key)}`);
  return {
    team: [(_, { name }) => teams(name), (_, { name }) => owners(name), (_, { name }) => told(`Created the team ${name}.`), record] as Part[],
    key: [(_, { name }) => keys(name), (_, { name }) => told(`Created the API key ${name}`), record] as Part[],
    invite: [(_, { name }) => pending(name), (_, { name }) => told(`Invited ${name}`), record, queued] as Part[],
    signup: [(_, { name }) => users(name), (_, { name }) => told(`signup ${name}`), queued] as Part[],
    profile: [record] as Part[],
    record,
    keyHashes: new Map(scoped.map(({ name, hash: digest }) => [name, digest.toString("hex")])),
    profileChanges: new Map(
      [
        ...Map.groupBy(
          activity.filter(({ action }) => action === "user.update"),
          ({ uid }) => uid,
        ),
      ].map(([uid, rows]) => [uid, rows.length]),
    ),
    activity: activity.length,
    records: Number(
      (
        await db
          .selectFrom("idempotency")
          .select((eb) => eb.fn.countAll().as("count"))
          .executeTakeFirstOrThrow()
      ).count,
    ),
    jobs: Object.fromEntries([...Map.groupBy(jobRows, ({ state }) => state)].map(([state, rows]) => [state, rows.length])),
    letters: new Map([...letters].map(([email, rows]) => [email, rows.map(({ id }) => id)])),
  };
}

/** One message for each invitation and sign-up; a crash between sending and noting it may repeat that message, never make another. */
function expectMails(crew: Crew, { letters }: Found): { expected: number; distinct: number; delivered: number; repeated: number } {
  const asked = new Set(crew.journal.filter(({ kind }) => kind === "invite" || kind === "signup").map(({ name }) => name));
  const sent = smtp.messages.filter(({ subject }) => subject !== "You already have an account");
  const byAddress = Map.groupBy(sent, ({ to }) => to[0] as string);
  for (const [email, ids] of letters) {
    expect(asked).toContain(email);
    expect(ids).toHaveLength(1);
    expect([...new Set(byAddress.get(email)?.map(({ message_id }) => message_id))], `the mail to ${email}`).toEqual([`<${ids[0]}@stead.test>`]);
  }
  expect([...byAddress.keys()].sort()).toEqual([...letters.keys()].sort());
  return {
    expected: letters.size,
    distinct: new Set(sent.map(({ message_id }) => message_id)).size,
    delivered: sent.length,
    repeated: sent.length - letters.size,
  };
}
