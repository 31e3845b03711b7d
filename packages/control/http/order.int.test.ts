/** The fixed order of checks (decisions 2.8): a request that breaks two neighbouring rules is told about the first. */
import { randomUUIDv7 } from "node:crypto";
import { formatId } from "@stead/base/id.ts";
import { type Cast, castIn, join, makeInvitation, makeKey, makeTeam, type Thing } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { digestOf } from "@stead/testkit/digest.ts";
import { ask } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let cast: Cast;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  cast = await castIn(world);
});
afterAll(() => world.stop());

const noTeam = () => formatId("team", randomUUIDv7());
const noUser = () => formatId("usr", randomUUIDv7());

describe("before anybody is known", () => {
  test("1 HTTPS comes before 2 the flood limit", async () => {
    const flooded = await startWorld({
      database_url: database.url,
      env: { STEAD_INSECURE_HTTP: "", STEAD_TLS: "proxy", STEAD_TRUST_PROXY: "127.0.0.1", STEAD_RATE_LIMITS: "flood=1/100" },
    });
    const secure = { "x-forwarded-proto": "https" };
    await ask(flooded.url, "/api/v2/ext/version", { headers: secure });
    expect(await ask(flooded.url, "/api/v2/ext/version", { headers: secure })).toMatchObject({ status: 429 });
    expect(await ask(flooded.url, "/api/v2/ext/version")).toMatchObject({ status: 403, headers: { "x-error-code": "https_required" } });
    await flooded.stop();
  });

  test("2 the flood limit comes before 3 path and method", async () => {
    const flooded = await startWorld({ database_url: database.url, env: { STEAD_RATE_LIMITS: "flood=1/100" } });
    await ask(flooded.url, "/api/v2/ext/version");
    for (const [method, path] of [
      ["GET", "/api/v2/nothing"],
      ["GET", "/api/v2//plans"],
      ["PUT", "/api/v2/plans"],
      ["OPTIONS", "/api/v2/plans"],
    ] as const) {
      expect(await ask(flooded.url, path, { method }), `${method} ${path}`).toMatchObject({ status: 429 });
    }
    await flooded.stop();
  });

  test("3 path and method come before 4 the credential", async () => {
    expect(await ask(world.url, "/api/v2/nothing", { key: "bad" })).toMatchObject({ status: 404 });
    expect(await ask(world.url, "/api/v2/plans", { method: "DELETE", key: "bad" })).toMatchObject({ status: 405 });
  });

  test.each(["{", "x".repeat(300_000)])("3 path and method come before 9 the body", async (body) => {
    for (const headers of [{}, { "content-type": "application/json" }, { "content-type": "text/plain" }, { "content-type": "no/type; at=all;;" }]) {
      expect(await ask(world.url, "/api/v2/nothing", { method: "POST", body, headers })).toMatchObject({ status: 404 });
      expect(await ask(world.url, "/api/v2/plans", { method: "POST", body, headers })).toMatchObject({ status: 405 });
    }
  });
});

describe("who asks", () => {
  let limited: World;
  let ada: Person;
  beforeAll(async () => {
    limited = await startWorld({ database_url: database.url, env: { STEAD_RATE_LIMITS: "read=1/600,write=1/600" } });
    ada = await limited.person("ada");
    await ada.client.users.get({ uid: ada.uid });
    await ada.client.users.update({ uid: ada.uid });
  });
  afterAll(() => limited.stop());

  test("4 the credential comes before 5 its rate limit, and costs nobody anything", async () => {
    const revoked = await makeKey(limited, ada, { scopes: ["account:read"] });
    await limited.db.deleteFrom("credentials").where("key_id", "=", revoked.uuid).execute();
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await ask(limited.url, `/api/v2/users/${ada.uid}`, { key: revoked.key });
      expect([status, headers.ratelimit]).toEqual([401, undefined]);
    }
  });

  test("5 the rate limit comes before 6 the uid, 7 the objects and 9 the body", async () => {
    for (const [method, path] of [
      ["GET", `/api/v2/users/${cast.owner.uid}`],
      ["GET", `/api/v2/ext/teams/${noTeam()}/users/${ada.uid}`],
      ["PATCH", `/api/v2/users/${ada.uid}`],
    ] as const) {
      expect(await ask(limited.url, path, { method, key: ada.key, ...(method === "PATCH" ? { body: "{" } : {}) })).toMatchObject({
        status: 429,
        text: '{"message":"Too many requests"}',
      });
    }
  });

  test("6 the uid comes before the address, the address before the account's state, that before the scope", async () => {
    const suspended = await world.person("suspended", { status: "suspended", verified: false });
    const elsewhere = await makeKey(world, suspended, { cidrs: ["192.0.2.0/24"] });
    const scoped = await makeKey(world, suspended);
    const refusal = async (key: string, uid: string) => (await ask(world.url, `/api/v2/users/${uid}/pending`, { key })).headers["x-error-code"];
    expect(await refusal(elsewhere.key, cast.owner.uid)).toBe("uid_mismatch");
    expect(await refusal(elsewhere.key, suspended.uid)).toBe("ip_not_allowed");
    expect(await refusal(scoped.key, suspended.uid)).toBe("account_suspended");
    const unverified = await world.person("unverified", { verified: false });
    const other = await makeKey(world, unverified);
    expect((await ask(world.url, `/api/v2/teams/users/${unverified.uid}`, { method: "POST", key: other.key })).headers["x-error-code"]).toBe(
      "email_unverified",
    );
  });

  test.each(["suspended", "unverified", "scoped", "foreign"] as const)(
    "6 an account that may not (%s) comes before 7 an object that is not there",
    async (which) => {
      const person = await world.person(which, { status: which === "suspended" ? "suspended" : "active", verified: which !== "unverified" });
      const key = which === "scoped" ? (await makeKey(world, person, { scopes: ["account:read"] })).key : person.key;
      const code = { suspended: "account_suspended", unverified: "email_unverified", scoped: "scope_missing", foreign: "uid_mismatch" }[which];
      const uid = which === "foreign" ? cast.owner.uid : person.uid;
      expect(await ask(world.url, `/api/v2/ext/teams/${noTeam()}/users/${uid}`, { method: "DELETE", key })).toMatchObject({
        status: 403,
        headers: { "x-error-code": code },
      });
    },
  );
});

describe("what is asked for", () => {
  const inTeam = (person: Person, tail: string, method: string, body?: unknown) =>
    ask(world.url, `/api/v2/ext/teams/${cast.team.id}/${tail}/users/${person.uid}`, { method, key: person.key, ...(body === undefined ? {} : { body }) });

  test("7 an object that is not there comes before 8 the role", async () => {
    expect(await inTeam(cast.viewer, `servers/${formatId("srv", randomUUIDv7())}`, "DELETE")).toMatchObject({
      status: 404,
      text: '{"message":"Server not found."}',
    });
    expect(await inTeam(cast.viewer, `servers/${cast.server.id}`, "DELETE")).toMatchObject({ status: 403, headers: { "x-error-code": "owner_only" } });
    expect(await inTeam(cast.viewer, `members/${noUser()}`, "DELETE")).toMatchObject({ status: 404, text: '{"message":"Member not found."}' });
    // Who is invited is the owner's to know.
    expect(await inTeam(cast.viewer, `members/${cast.invitee.uid}`, "DELETE")).toMatchObject({ status: 404, text: '{"message":"Member not found."}' });
  });

  test("7 an object that is not there comes before 9 the body", async () => {
    expect(await inTeam(cast.owner, `members/${noUser()}`, "PATCH", { role: 5 })).toMatchObject({ status: 404, text: '{"message":"Member not found."}' });
    expect(await inTeam(cast.owner, `members/${cast.member.uid}`, "PATCH", { role: 5 })).toMatchObject({ status: 400 });
  });

  test("8 the role comes before 9 the body", async () => {
    expect(await inTeam(cast.member, `members/${cast.viewer.uid}`, "PATCH", { role: 5 })).toMatchObject({
      status: 403,
      headers: { "x-error-code": "owner_only" },
    });
    expect(await inTeam(cast.member, `members/${cast.viewer.uid}`, "PATCH", "{")).toMatchObject({ status: 403, headers: { "x-error-code": "owner_only" } });
  });
});

describe("what is sent", () => {
  let boss: Person;
  let team: Thing;
  const addMember = (member_uid: unknown, key?: string) =>
    ask(world.url, `/api/v2/teams/${team.id}/adduser/users/${boss.uid}`, {
      method: "POST",
      key: boss.key,
      body: { member_uid },
      ...(key ? { headers: { "idempotency-key": key } } : {}),
    });

  beforeAll(async () => {
    const limits = JSON.stringify({ servers: 1, websites: 1, team_members: 2, backups_per_website: 1 });
    await world.db
      .insertInto("plans")
      .values({ plan_id: "small", name: "Small", description: "", price: 0, currency: "EUR", interval: "none", limits, features: [], is_default: false })
      .execute();
    boss = await world.person("boss", { plan_id: "small" });
    team = await makeTeam(world, boss);
    await join(world, team, await world.person("first"), "member");
  });

  test("9 the body comes before 10 the idempotency record", async () => {
    expect(await addMember((await world.person("second")).uid, "taken")).toMatchObject({ status: 200 });
    expect(await addMember(5, "taken")).toMatchObject({ status: 400, headers: { "x-error-code": "validation_failed" } });
    expect(await addMember((await world.person("third")).uid, "taken")).toMatchObject({ status: 409, headers: { "x-error-code": "idempotency_key_reused" } });
  });

  test("10 the idempotency record comes before 11 what the body refers to", async () => {
    expect(await addMember(noUser(), "taken")).toMatchObject({ status: 409, headers: { "x-error-code": "idempotency_key_reused" } });
  });

  test("11 what the body refers to comes before 12 the plan's limit", async () => {
    expect(await addMember(noUser())).toMatchObject({ status: 404, text: '{"message":"User not found."}' });
    expect(await addMember((await world.person("fourth")).uid)).toMatchObject({ status: 403, headers: { "x-error-code": "plan_limit" } });
  });

  test("12 the plan's limit comes before 13 a conflict", async () => {
    const [waiting] = await world.db.selectFrom("pending").select("uid").where("tid", "=", team.uuid).execute();
    const invited = formatId("usr", waiting?.uid as string);
    expect(await addMember(invited)).toMatchObject({ status: 403, headers: { "x-error-code": "plan_limit" } });
    await world.db.updateTable("users").set({ plan_id: "self-hosted" }).where("uid", "=", boss.uuid).execute();
    expect(await addMember(invited)).toMatchObject({ status: 409, headers: { "x-error-code": "invite_pending" } });
  });

  test("13 a conflict comes before 14 the work, of which nothing is left", async () => {
    const to = await world.person("waiting");
    await makeInvitation(world, { team, by: boss, to });
    const before = await digestOf(world.db);
    expect(await addMember(to.uid, "conflicting")).toMatchObject({ status: 409 });
    expect(await digestOf(world.db)).toEqual(before);
  });
});
