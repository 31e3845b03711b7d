/** Two `stead serve` on one database and many requests at once: a key means one effect, whichever process is asked, and a dead key is dead everywhere. */
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SteadError } from "@stead/sdk/client.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { endLeftovers, type SteadProcess, startStead } from "@stead/testkit/process.ts";
import { insertPerson, type Person, testClient } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Database, openDatabase } from "./db/pool.ts";

const database = testDatabase();
let own: Database;
let nodes: SteadProcess[];

beforeAll(async () => {
  own = openDatabase({ url: database.url, connections: 4, onIdleError: () => {} });
  nodes = await Promise.all([startStead({ database_url: database.url }), startStead({ database_url: database.url })]);
});
afterAll(async () => {
  await endLeftovers();
  await own.close();
});

const at = (node: number, key?: string) => testClient((nodes[node % nodes.length] as SteadProcess).url, key);

interface Answer {
  readonly status: number;
  readonly code: string | null;
  readonly body: string;
  readonly replayed: boolean;
}

interface Write {
  readonly person: Person;
  readonly idempotency_key: string;
  readonly operation: "teams.create" | "keys.create" | "users.update";
  readonly args: Record<string, unknown>;
}

async function send({ person, operation, args, idempotency_key }: Write, node: number): Promise<Answer> {
  try {
    const { status, headers, body } = await at(node, person.key).call(operation, { uid: person.uid, ...args }, { idempotency_key });
    return { status, code: null, body: JSON.stringify(body), replayed: headers.get("idempotent-replayed") === "true" };
  } catch (error) {
    if (!(error instanceof SteadError)) throw error;
    return { status: error.status, code: error.code, body: error.message, replayed: false };
  }
}

const keys = 200;
const atOnce = 5;
/** How many keys are under fire at the same time. */
const wave = 40;

const writeOf = (person: Person, n: number): Write => {
  const idempotency_key = `fire-${n}`;
  if (n % 3 === 0) return { person, idempotency_key, operation: "teams.create", args: { name: `Team ${n}` } };
  if (n % 3 === 1) return { person, idempotency_key, operation: "keys.create", args: { name: `key ${n}`, scopes: ["sites:read"] } };
  return { person, idempotency_key, operation: "users.update", args: { phone: `+4915${String(10_000_000 + n)}` } };
};

test(`${keys} keys, each sent ${atOnce} times at once over two processes, have ${keys} effects`, { timeout: 60_000 }, async () => {
  const people = await Promise.all(Array.from({ length: 5 }, (_, n) => insertPerson(own.db, "http://127.0.0.1", `person${n}`)));
  const writes = Array.from({ length: keys }, (_, n) => writeOf(people[n % people.length] as Person, n));
  const seen = { done: 0, in_progress: 0, replayed: 0, already_performed: 0 };
  const firsts = new Map<Write, string>();

  for (let from = 0; from < keys; from += wave) {
    const batch = writes.slice(from, from + wave);
    const answers = await Promise.all(batch.flatMap((write) => Array.from({ length: atOnce }, async (_, n) => [write, await send(write, n)] as const)));
    for (const [write, { status, code, body, replayed }] of answers) {
      if (status < 300 && !replayed) {
        expect(firsts.has(write), `${write.idempotency_key} was done twice`).toBe(false);
        firsts.set(write, body);
        seen.done++;
      } else if (replayed) seen.replayed++;
      else if (code === "idempotency_in_progress") seen.in_progress++;
      else if (code === "already_performed" && write.operation === "keys.create") seen.already_performed++;
      else expect.fail(`${write.operation} answered ${status} ${code}: ${body}`);
    }
    for (const [write, { replayed, body }] of answers) if (replayed) expect(body).toBe(firsts.get(write));
  }
  expect(seen.done).toBe(keys);

  // Once more each, at the process that may not have been the first: a replay, and nothing happens.
  const again = await Promise.all(writes.map((write, n) => send(write, n)));
  for (const [n, answer] of again.entries()) {
    const write = writes[n] as Write;
    if (write.operation === "keys.create") expect(answer).toMatchObject({ status: 409, code: "already_performed" });
    else expect(answer).toEqual({ status: write.operation === "teams.create" ? 201 : 200, code: null, body: firsts.get(write), replayed: true });
  }
  process.stdout.write(`idempotency: ${keys} keys × ${atOnce}: ${JSON.stringify(seen)}\n`);

  await expectEffects(people, writes);
});

async function expectEffects(people: readonly Person[], writes: readonly Write[]): Promise<void> {
  const uids = people.map(({ uuid }) => uuid);
  const count = (operation: Write["operation"]) => writes.filter((write) => write.operation === operation).length;
  const teams = await own.db
    .selectFrom("teams")
    .innerJoin("team_members", "team_members.tid", "teams.tid")
    .select("name")
    .where("owner_uid", "in", uids)
    .execute();
  expect(teams).toHaveLength(count("teams.create"));
  const scoped = await own.db.selectFrom("credentials").select("name").where("uid", "in", uids).where("kind", "=", "scoped").execute();
  expect(new Set(scoped.map(({ name }) => name)).size).toBe(scoped.length);
  expect(scoped).toHaveLength(count("keys.create"));

  const activity = await own.db
    .selectFrom("activity")
    .select(["action", (eb) => eb.fn.countAll().as("count")])
    .where("uid", "in", uids)
    .groupBy("action")
    .execute();
  expect(Object.fromEntries(activity.map((row) => [row.action, Number(row.count)]))).toEqual({
    "team.create": count("teams.create"),
    "user.api_key_create": count("keys.create"),
    "user.update": count("users.update"),
  });
  const records = await own.db.selectFrom("idempotency").select(["uid", "key_hash", "body"]).where("uid", "in", uids).execute();
  const expected = writes.map(({ person, idempotency_key }) => `${person.uuid} ${hash("sha256", idempotency_key)}`);
  expect(records.map(({ uid, key_hash }) => `${uid} ${key_hash.toString("hex")}`).sort()).toEqual(expected.sort());
  // A reply that held a secret is kept as a fact only.
  expect(records.filter(({ body }) => body === null)).toHaveLength(count("keys.create"));
}

test("a key that is regenerated on one process is refused by the other with its next request", { timeout: 60_000 }, async () => {
  const ada = await insertPerson(own.db, "http://127.0.0.1", "ada");
  const rounds = 100;
  let key = ada.key;
  for (let round = 0; round < rounds; round++) {
    // Both have just seen the old key, so either could have kept it.
    await Promise.all([at(0, key).users.me(), at(1, key).users.me()]);
    const { api_key } = await at(round, key).users.regenerate_api_key({ uid: ada.uid });
    const [old, renewed] = await Promise.allSettled([at(round + 1, key).users.me(), at(round + 1, api_key).users.me()]);
    expect(old).toMatchObject({ status: "rejected", reason: { status: 401, code: "unauthenticated" } });
    expect(renewed).toMatchObject({ status: "fulfilled", value: { uid: ada.uid } });
    key = api_key;
  }
  const activity = await own.db.selectFrom("activity").select("id").where("uid", "=", ada.uuid).where("action", "=", "user.api_key_regenerate").execute();
  expect(activity).toHaveLength(rounds);
});

test("a key is a user's own: the same one from many people at once means as many effects, and nobody waits for another", async () => {
  const people = await Promise.all(Array.from({ length: 20 }, (_, n) => insertPerson(own.db, "http://127.0.0.1", `twin${n}`)));
  const answers = await Promise.all(
    people.map((person, n) => send({ person, idempotency_key: "shared", operation: "teams.create", args: { name: "Ours" } }, n)),
  );
  for (const [n, answer] of answers.entries()) {
    expect(answer).toMatchObject({ status: 201, replayed: false });
    expect(answer.body).toContain((people[n] as Person).uid);
  }
});

test("a repeat that is let in at the very moment the first one ends gets the first answer, not what its rows make of a second try", async () => {
  // The statement that claims a key first sees what is committed and then takes the lock. Here the lock takes its time.
  const name = new URL(database.url).pathname.slice(1);
  await own.pool.query(`create schema slow;
    create function slow.pg_try_advisory_xact_lock(bigint) returns boolean language plpgsql as 'begin perform pg_sleep(0.4); return pg_catalog.pg_try_advisory_xact_lock($1); end';
    alter database ${name} set search_path = slow, pg_catalog, public`);
  const stead = await startStead({ database_url: database.url });
  onTestFinished(async () => {
    await stead.kill();
    await own.pool.query(`alter database ${name} reset search_path; drop schema slow cascade`);
  });
  const ada = await insertPerson(own.db, stead.url, "ada");
  const create = () => ada.client.call("teams.create", { uid: ada.uid, name: "Just in time" }, { idempotency_key: "close" });
  const first = create();
  await sleep(200);
  const second = create();
  const [one, two] = await Promise.all([first, second]);
  expect([one.status, two.status, two.headers.get("idempotent-replayed")]).toEqual([201, 201, "true"]);
  expect(two.body).toEqual(one.body);
});
