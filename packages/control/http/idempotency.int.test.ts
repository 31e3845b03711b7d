/** One key, one effect (decisions 2.1.6): what was answered once is answered again, and nothing is done twice. */
import { randomUUIDv7 } from "node:crypto";
import { formatId } from "@stead/base/id.ts";
import { addressOf, callOf, mounted } from "@stead/testkit/calls.ts";
import { type Cast, castIn, join, makeKey, makeTeam } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { digestOf } from "@stead/testkit/digest.ts";
import { sampleServers } from "@stead/testkit/sample-servers.ts";
import { type Ask, ask, type Told } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let cast: Cast;
let ada: Person;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, extra: { areas: sampleServers } });
  await world.running.deps.jobs.stop();
  cast = await castIn(world);
  ada = await world.person("ada");
});
afterAll(() => world.stop());

const newKey = () => `key-${randomUUIDv7()}`;
const keyed = (idempotency: string, path: string, options: Ask) =>
  ask(world.url, path, { ...options, headers: { ...options.headers, "idempotency-key": idempotency } });
const createTeam = (person: Person, idempotency: string, name: unknown) =>
  keyed(idempotency, `/api/v2/teams/users/${person.uid}`, { method: "POST", key: person.key, body: { name } });
const teamsOf = async (person: Person) => (await world.db.selectFrom("teams").select("name").where("owner_uid", "=", person.uuid).execute()).length;
const code = ({ status, headers }: Told) => [status, headers["x-error-code"]];

describe("the same request again", () => {
  test("gets the first answer, with its headers, and does nothing", async () => {
    const key = newKey();
    const first = await createTeam(ada, key, "Once");
    expect(first).toMatchObject({ status: 201, headers: { location: expect.stringContaining("/api/v2/ext/teams/team_") } });
    expect(first.headers).not.toHaveProperty("idempotent-replayed");
    const before = await digestOf(world.db);
    const again = await createTeam(ada, key, "Once");
    expect(again).toMatchObject({
      status: 201,
      text: first.text,
      headers: { location: first.headers.location, "idempotent-replayed": "true", "cache-control": "no-store" },
    });
    expect(await digestOf(world.db)).toEqual(before);
  });

  const change = mounted.filter(({ op }) => op.effect === "change" && op.scope !== "open" && op.path !== "/users/{uid}");
  test.each(change)("$name: twice with a key is once", async ({ name, op }) => {
    const fresh = await castIn(world);
    const actor = name === "teams.leave" ? fresh.member : fresh.owner;
    const call = await callOf(name)(fresh, actor);
    const session = await world.client().auth.login({ email: actor.email, password: actor.password });
    const send = () =>
      keyed("same", addressOf(op, actor.uid, call.params), { method: op.method, key: session.token, ...(call.body ? { body: call.body } : {}) });
    const first = await send();
    expect(first.status).toBe(op.status);
    const before = await digestOf(world.db);
    const again = await send();
    if (op.secret) expect(code(again)).toEqual([409, "already_performed"]);
    else expect(again).toMatchObject({ status: op.status, text: first.text, headers: { "idempotent-replayed": "true", "cache-control": "no-store" } });
    expect(await digestOf(world.db)).toEqual(before);
  });

  test("of a change of password is not a wrong password", async () => {
    const strict = await startWorld({ database_url: database.url, env: { STEAD_RATE_LIMITS: "password=2/900" } });
    const eve = await strict.person("eve");
    const send = () =>
      ask(strict.url, `/api/v2/users/${eve.uid}/password`, {
        method: "PATCH",
        key: eve.key,
        body: { old_password: eve.password, new_password: "another good phrase" },
        headers: { "idempotency-key": "change" },
      });
    for (let i = 0; i < 5; i++) expect(await send()).toMatchObject({ status: 200, json: { message: "Password changed." } });
    await strict.stop();
  });

  test("at the limit of the plan gets the first answer", async () => {
    const limits = JSON.stringify({ servers: 1, websites: 1, team_members: 1, backups_per_website: 1 });
    await world.db
      .insertInto("plans")
      .values({ plan_id: "tiny", name: "Tiny", description: "", price: 0, currency: "EUR", interval: "none", limits, features: [], is_default: false })
      .execute();
    const boss = await world.person("boss", { plan_id: "tiny" });
    const team = await makeTeam(world, boss);
    const { uid } = await world.person("first");
    const send = (key: string, member_uid: string) =>
      keyed(key, `/api/v2/teams/${team.id}/adduser/users/${boss.uid}`, { method: "POST", key: boss.key, body: { member_uid } });
    expect(await send("add", uid)).toMatchObject({ status: 200 });
    expect(code(await send("more", (await world.person("second")).uid))).toEqual([403, "plan_limit"]);
    expect(await send("add", uid)).toMatchObject({ status: 200, headers: { "idempotent-replayed": "true" } });
  });

  test("whose body refers to what is gone meanwhile gets the first answer", async () => {
    const newcomer = await world.person("newcomer");
    const send = () =>
      keyed("gone", `/api/v2/teams/${cast.team.id}/adduser/users/${cast.owner.uid}`, {
        method: "POST",
        key: cast.owner.key,
        body: { member_uid: newcomer.uid },
      });
    expect(await send()).toMatchObject({ status: 200 });
    await world.db.deleteFrom("users").where("uid", "=", newcomer.uuid).execute();
    expect(await send()).toMatchObject({ status: 200, headers: { "idempotent-replayed": "true" } });
  });
});

test("a path that is spelt another way is the same request", async () => {
  const key = newKey();
  const send = (path: string) => keyed(key, path, { method: "POST", key: ada.key, body: { name: "Spelt" } });
  const { text } = await send(`/api/v2/teams/users/${ada.uid}`);
  for (const path of [`/api/v2/teams/users/${ada.uid}/`, `/api/v2/teams/%75sers/${ada.uid}`, `/api/v2/teams/users/${ada.uid}?x=1`])
    expect(await send(path)).toMatchObject({ status: 201, text });
});

describe("a DELETE whose object is gone", () => {
  test("is answered as the first time to the one who did it, and 404 to all others", async () => {
    const team = await makeTeam(world, ada);
    const path = `/api/v2/ext/teams/${team.id}/users/${ada.uid}`;
    expect(await keyed("delete", path, { method: "DELETE", key: ada.key })).toMatchObject({ status: 200, json: { message: "Team deleted." } });
    expect(await keyed("delete", path, { method: "DELETE", key: ada.key })).toMatchObject({
      status: 200,
      json: { message: "Team deleted." },
      headers: { "idempotent-replayed": "true", "cache-control": "no-store" },
    });
    expect(await keyed("other", path, { method: "DELETE", key: ada.key })).toMatchObject({ status: 404, text: '{"message":"Team not found."}' });
    expect(await ask(world.url, path, { method: "DELETE", key: ada.key })).toMatchObject({ status: 404 });
    expect(await keyed("delete", path, { method: "DELETE", key: ada.key, headers: { "x-dry-run": "true" } })).toMatchObject({ status: 404 });
    const { stranger } = cast;
    expect(await keyed("delete", path.replace(ada.uid, stranger.uid), { method: "DELETE", key: stranger.key })).toMatchObject({ status: 404 });
  });

  test("with a key that was used for something else is 409, not 404", async () => {
    await createTeam(ada, "elsewhere", "Somewhere else");
    expect(
      code(await keyed("elsewhere", `/api/v2/ext/teams/${formatId("team", randomUUIDv7())}/users/${ada.uid}`, { method: "DELETE", key: ada.key })),
    ).toEqual([409, "idempotency_key_reused"]);
  });
});

describe("another request with the same key", () => {
  test("is 409, whether body, path or method differ", async () => {
    const key = newKey();
    await createTeam(ada, key, "Mine");
    const before = await teamsOf(ada);
    expect(code(await createTeam(ada, key, "Yours"))).toEqual([409, "idempotency_key_reused"]);
    expect(
      code(
        await keyed(key, `/api/v2/teams/users/${ada.uid}`, {
          method: "POST",
          key: ada.key,
          body: '{ "name": "Mine" }',
          headers: { "content-type": "application/json" },
        }),
      ),
    ).toEqual([409, "idempotency_key_reused"]);
    expect(code(await keyed(key, `/api/v2/users/${ada.uid}`, { method: "PATCH", key: ada.key, body: { name: "Mine" } }))).toEqual([
      409,
      "idempotency_key_reused",
    ]);
    expect(code(await keyed(key, `/api/v2/users/${ada.uid}/regenerate/apikey`, { method: "POST", key: ada.key }))).toEqual([409, "idempotency_key_reused"]);
    expect(await teamsOf(ada)).toBe(before);
  });

  test("of another user is that user's own", async () => {
    const key = newKey();
    const bob = await world.person("bob");
    expect(await createTeam(ada, key, "Ours")).toMatchObject({ status: 201 });
    const theirs = await createTeam(bob, key, "Ours");
    expect([theirs.status, theirs.headers["idempotent-replayed"]]).toEqual([201, undefined]);
    expect(await teamsOf(bob)).toBe(1);
  });

  test("sent with another credential of the same user is the same request", async () => {
    const key = newKey();
    const first = await createTeam(ada, key, "Mine twice");
    const scoped = await makeKey(world, ada, { scopes: ["teams:write"] });
    expect(await createTeam({ ...ada, key: scoped.key }, key, "Mine twice")).toMatchObject({ status: 201, text: first.text });
  });

  test("is free again after 24 hours, and not a minute before", async () => {
    const key = newKey();
    const age = (time: string) =>
      world.db
        .updateTable("idempotency")
        .set({ created_at: sql`now() - ${sql.lit(time)}::interval` })
        .where("uid", "=", ada.uuid)
        .execute();
    await createTeam(ada, key, "Yesterday");
    await age("23 hours 59 minutes");
    expect(code(await createTeam(ada, key, "Today"))).toEqual([409, "idempotency_key_reused"]);
    await age("24 hours 1 second");
    const today = await createTeam(ada, key, "Today");
    expect([today.status, today.headers["idempotent-replayed"]]).toEqual([201, undefined]);
    expect(await createTeam(ada, key, "Today")).toMatchObject({ status: 201, text: today.text, headers: { "idempotent-replayed": "true" } });
  });
});

describe("refusals", () => {
  test("are not kept: the same key succeeds once the reason is gone", async () => {
    const key = newKey();
    await createTeam(ada, newKey(), "Taken");
    expect(code(await createTeam(ada, key, "Taken"))).toEqual([409, "name_taken"]);
    expect(code(await createTeam(ada, key, 5))).toEqual([400, "validation_failed"]);
    await world.db.deleteFrom("teams").where("owner_uid", "=", ada.uuid).where("name", "=", "Taken").execute();
    expect(await createTeam(ada, key, "Taken")).toMatchObject({ status: 201 });
  });

  test("that keep what they wrote are not kept either", async () => {
    const key = newKey();
    const eve = await world.person("eve");
    const send = (old_password: string) =>
      keyed(key, `/api/v2/users/${eve.uid}/password`, { method: "PATCH", key: eve.key, body: { old_password, new_password: "another good phrase" } });
    expect(code(await send("wrong"))).toEqual([403, "wrong_password"]);
    expect(await send(eve.password)).toMatchObject({ status: 200 });
  });

  test("a role that was taken away is asked for before the first answer is given", async () => {
    const { member, team, server } = await castIn(world);
    const send = () => keyed("rename", `/api/v2/name/servers/${server.id}/users/${member.uid}`, { method: "PATCH", key: member.key, body: { name: "web-2" } });
    expect(await send()).toMatchObject({ status: 200 });
    expect(await send()).toMatchObject({ status: 200, headers: { "idempotent-replayed": "true" } });
    await world.db.updateTable("team_members").set({ role: "viewer" }).where("uid", "=", member.uuid).execute();
    expect(code(await send())).toEqual([403, "role_insufficient"]);
    await world.db.deleteFrom("team_members").where("uid", "=", member.uuid).execute();
    expect(code(await send())).toEqual([404, "not_found"]);
    await join(world, team, member, "member");
    await world.db.updateTable("users").set({ status: "suspended" }).where("uid", "=", member.uuid).execute();
    expect(code(await send())).toEqual([403, "account_suspended"]);
  });

  test.each([[""], [" "], ["a b"], ["ä"], ["x".repeat(256)], [["one", "two"]]])(
    "a malformed key %j is 400 on a change, and nobody's business on a read",
    async (key) => {
      const before = await digestOf(world.db);
      expect(
        code(
          await ask(world.url, `/api/v2/users/${ada.uid}`, { method: "PATCH", key: ada.key, body: { first_name: "Eve" }, headers: { "idempotency-key": key } }),
        ),
      ).toEqual([400, "invalid_header"]);
      expect(await ask(world.url, `/api/v2/users/${ada.uid}`, { key: ada.key, headers: { "idempotency-key": key } })).toMatchObject({ status: 200 });
      expect(await digestOf(world.db)).toEqual(before);
    },
  );

  test("255 visible characters are a key", async () => {
    expect(await createTeam(ada, "~".repeat(255), "Long")).toMatchObject({ status: 201 });
  });
});

test("the first still running is 409 with the time to come back, and 40 at once are one", async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, () => createTeam(ada, "fire", "Under fire")));
  const kinds = Object.groupBy(answers, ({ status }) => String(status));
  expect(Object.keys(kinds).filter((status) => status !== "201" && status !== "409")).toEqual([]);
  for (const { headers } of kinds[409] ?? []) expect(headers).toMatchObject({ "x-error-code": "idempotency_in_progress", "retry-after": "1" });
  expect(new Set(kinds[201]?.map(({ text }) => text)).size).toBe(1);
  expect(kinds[201]?.filter(({ headers }) => headers["idempotent-replayed"] === undefined)).toHaveLength(1);
});

test("neither the key, the body nor a secret is stored", async () => {
  const eve = await world.person("eve");
  await keyed("canary-key", `/api/v2/users/${eve.uid}/password`, {
    method: "PATCH",
    key: eve.key,
    body: { old_password: eve.password, new_password: "canary phrase of mine" },
  });
  const { json } = await keyed("canary-too", `/api/v2/users/${eve.uid}/regenerate/apikey`, { method: "POST", key: eve.key });
  const { rows } = await sql<{
    stored: string;
  }>`select string_agg(i::text || encode(request_hash, 'escape') || encode(key_hash, 'escape'), ' ') as stored from idempotency i where uid = ${eve.uuid}`.execute(
    world.db,
  );
  expect(rows[0]?.stored).toContain("Password changed.");
  for (const canary of ["canary", eve.password, eve.key, (json as { data: { api_key: string } }).data.api_key]) expect(rows[0]?.stored).not.toContain(canary);
});
