import { randomBytes, randomUUIDv7 } from "node:crypto";
import { testDatabase } from "@stead/testkit/database.ts";
import { endLeftovers, startStead } from "@stead/testkit/process.ts";
import { until } from "@stead/testkit/until.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { makePartitions } from "../db/partitions.ts";
import { retention } from "./retention.ts";

const database = testDatabase();
afterAll(endLeftovers);
let world: World;
beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
});
afterAll(() => world.stop());

const months = async (table: string) => {
  const { rows } = await sql<{
    name: string;
  }>`select inhrelid::regclass::text as name from pg_inherits where inhparent = ${table}::regclass order by 1`.execute(world.db);
  return rows.map(({ name }) => name);
};
const at = (now: string) => retention.run({ ...world.running.deps, clock: { now: () => new Date(now) } }, {}, randomUUIDv7());

test("is on the schedule once, every night, and made good when nobody was up", async () => {
  const { rows } = await sql`select name, cron, timezone, options->>'missed' as missed from pgboss.schedule`.execute(world.db);
  expect(rows).toEqual([{ name: "retention", cron: "17 3 * * *", timezone: "UTC", missed: "once" }]);
});

test("entries land in the partition of their month, this one's and the next one's", async () => {
  const now = new Date();
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 15));
  const suffix = (date: Date) => date.toISOString().slice(0, 7).replace("-", "_");
  const uid = randomUUIDv7();
  for (const created_at of [now, next]) {
    await world.db
      .insertInto("activity")
      .values({ id: randomUUIDv7(), uid, actor_uid: uid, sid: null, wid: null, action: "test.partition", detail: "", created_at })
      .execute();
    await world.db.insertInto("logins").values({ id: randomUUIDv7(), uid, ip: "192.0.2.1", created_at }).execute();
  }
  for (const table of ["activity", "logins"] as const) {
    const { rows } = await sql<{
      where: string;
    }>`select tableoid::regclass::text as where from ${sql.table(table)} where uid = ${uid} order by created_at`.execute(world.db);
    expect(rows.map((row) => row.where)).toEqual([`${table}_${suffix(now)}`, `${table}_${suffix(next)}`]);
  }
});

test("months older than a year leave, months that come are there, the rest stays", async () => {
  for (const [name, from, to] of [
    ["2029_01", "2029-01-01", "2029-02-01"],
    ["2029_02", "2029-02-01", "2029-03-01"],
    ["2029_03", "2029-03-01", "2029-04-01"],
  ] as const) {
    for (const table of ["activity", "logins"])
      await sql`create table ${sql.table(`${table}_${name}`)} partition of ${sql.table(table)} for values from (${sql.lit(from)}) to (${sql.lit(to)})`.execute(
        world.db,
      );
  }
  const before = await months("activity");
  await at("2030-03-15T03:17:00Z");
  for (const table of ["activity", "logins"]) {
    const now = await months(table);
    expect(now).not.toContain(`${table}_2029_01`);
    for (const kept of ["default", "2029_02", "2029_03", "2030_02", "2030_03", "2030_04", "2030_05"]) expect(now).toContain(`${table}_${kept}`);
  }
  // Everything from before, by years too old, is gone as well.
  expect(before.length).toBeGreaterThan(5);
  // The months of today are needed by the tests that follow.
  await makePartitions(world.db, new Date());
});

test("entries that came before their month was made move into it", async () => {
  const uid = randomUUIDv7();
  const created_at = new Date("2031-07-20T12:00:00Z");
  await world.db
    .insertInto("activity")
    .values({ id: randomUUIDv7(), uid, actor_uid: uid, sid: null, wid: null, action: "test.late", detail: "", created_at })
    .execute();
  const home = async () => (await sql<{ where: string }>`select tableoid::regclass::text as where from activity where uid = ${uid}`.execute(world.db)).rows;
  expect(await home()).toEqual([{ where: "activity_default" }]);
  await makePartitions(world.db, new Date("2031-07-21T00:00:00Z"));
  expect(await home()).toEqual([{ where: "activity_2031_07" }]);
  // Found by its index there too.
  const { rows } = await sql<{ indexes: number }>`select count(*)::int as indexes from pg_index where indrelid = 'activity_2031_07'::regclass`.execute(
    world.db,
  );
  const { rows: expected } = await sql<{ indexes: number }>`select count(*)::int as indexes from pg_index where indrelid = 'activity'::regclass`.execute(
    world.db,
  );
  expect(rows).toEqual(expected);
});

test("what has expired leaves, what has not stays", async () => {
  const now = new Date();
  const { uuid: uid, client, key } = await world.person("keeper");
  const team = await world.person("owner").then(({ client: owner }) => owner.teams.create({ name: "Kept" }));
  const { tid, owner_uid } = await world.db.selectFrom("teams").select(["tid", "owner_uid"]).where("name", "=", team.name).executeTakeFirstOrThrow();
  const plant = async (label: string, expires_at: Date) => {
    const session_id = randomUUIDv7();
    await world.db
      .insertInto("sessions")
      .values({ session_id, uid, refresh_hash: randomBytes(32), ip: "192.0.2.1", user_agent: label, expires_at })
      .execute();
    await world.db
      .insertInto("credentials")
      .values({ key_id: randomUUIDv7(), uid, kind: "scoped", hash: randomBytes(32), last4: "last", name: label, expires_at })
      .execute();
    await world.db
      .insertInto("one_time_tokens")
      .values({ hash: randomBytes(32), kind: "reset", uid, email: label, expires_at })
      .execute();
    await world.db
      .insertInto("device_logins")
      .values({ device_hash: randomBytes(32), user_code: label, client_name: label, expires_at })
      .execute();
    await world.db
      .insertInto("pending")
      .values({ id: randomUUIDv7(), type: "team_invite", uid: null, email: label, asked_by: owner_uid, tid, sid: null, detail: "", expires_at })
      .execute();
  };
  await plant("expired", new Date(now.getTime() - 1000));
  await plant("alive", new Date(now.getTime() + 3_600_000));
  // More than two batches of answers from the day before yesterday, and one of an hour ago.
  await sql`insert into idempotency (uid, key_hash, request_hash, status, body, headers, created_at)
    select ${uid}::uuid, sha256(n::text::bytea), sha256('x'::bytea), 200, '{}', '{}', now() - interval '25 hours' from generate_series(1, 25000) n`.execute(
    world.db,
  );
  await client.users.update({ phone: "+4915112345678" }, { idempotency_key: "fresh" });

  await retention.run(world.running.deps, {}, randomUUIDv7());

  const left = await Promise.all([
    world.db.selectFrom("sessions").select("user_agent as label").where("uid", "=", uid).execute(),
    world.db.selectFrom("credentials").select("name as label").where("uid", "=", uid).where("kind", "=", "scoped").execute(),
    world.db.selectFrom("one_time_tokens").select("email as label").where("uid", "=", uid).execute(),
    world.db.selectFrom("device_logins").select("client_name as label").execute(),
    world.db.selectFrom("pending").select("email as label").where("tid", "=", tid).execute(),
  ]);
  expect(left).toEqual(Array(5).fill([{ label: "alive" }]));
  const answers = await world.db.selectFrom("idempotency").select("status").where("uid", "=", uid).execute();
  expect(answers).toHaveLength(1);
  expect((await world.client(key).call("users.update", { phone: "+4915112345678" }, { idempotency_key: "fresh" })).headers.get("idempotent-replayed")).toBe(
    "true",
  );
});

test("a night that was missed is made good at the next start", { timeout: 60_000 }, async () => {
  await sql`update pgboss.schedule set created_on = now() - interval '9 days'`.execute(world.db);
  await sql`update pgboss.version set cron_on = now() - interval '3 days'`.execute(world.db);
  const runs = async () =>
    (await sql<{ state: string }>`select state::text from pgboss.job where name = ${retention.name} order by created_on`.execute(world.db)).rows;
  const before = (await runs()).length;
  const stead = await startStead({ database_url: database.url });
  onTestFinished(() => stead.kill().then(() => {}));
  await until(async () => (await runs()).length === before + 1 && (await runs()).at(-1)?.state === "completed", 45_000);
});
