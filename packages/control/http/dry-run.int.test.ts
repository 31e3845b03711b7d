/** `X-Dry-Run` (decisions 2.1.8): every check, no effect. */
import { randomUUIDv7 } from "node:crypto";
import { formatId } from "@stead/base/id.ts";
import { addressOf, callOf, mounted } from "@stead/testkit/calls.ts";
import { castIn, makeInvitation, makeTeam } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { digestOf } from "@stead/testkit/digest.ts";
import { sampleServers } from "@stead/testkit/sample-servers.ts";
import { type Ask, ask } from "@stead/testkit/wire.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, expect, test } from "vitest";

const database = testDatabase();
let world: World;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, extra: { areas: sampleServers } });
  await world.running.deps.jobs.stop();
});
afterAll(() => world.stop());

const would = '{"message":"Dry run: the request would succeed."}';
const dry = (path: string, { headers, ...options }: Ask) => ask(world.url, path, { ...options, headers: { ...headers, "x-dry-run": "true" } });

test.each(mounted.filter(({ op }) => op.effect === "change"))("$name: a dry run says yes and does nothing; then it is done", async ({ name, op }) => {
  const cast = await castIn(world);
  const actor = name === "teams.leave" ? cast.member : cast.owner;
  const { params, body, headers } = await callOf(name)(cast, actor);
  const path = addressOf(op, actor.uid, params);
  const options = { method: op.method, key: actor.key, ...(body ? { body } : {}), headers: { ...headers, "idempotency-key": "one" } };
  const before = await digestOf(world.db);
  const said = await dry(path, options);
  expect(said).toMatchObject({ status: 200, text: would, headers: { "cache-control": "no-store", ratelimit: expect.any(String) } });
  for (const header of ["set-cookie", "location", "idempotent-replayed"]) expect(said.headers).not.toHaveProperty(header);
  expect(await digestOf(world.db)).toEqual(before);
  const done = await ask(world.url, path, options);
  expect([done.status, done.headers["idempotent-replayed"]]).toEqual([op.status, undefined]);
  if (name !== "auth.resend_verification") expect(await digestOf(world.db)).not.toEqual(before);
});

test("a GET that changes something is not done either", async () => {
  const cast = await castIn(world);
  const before = await digestOf(world.db);
  expect(await dry(`/api/v2/reboot/servers/${cast.server.id}/users/${cast.owner.uid}`, { key: cast.owner.key })).toMatchObject({ status: 200, text: would });
  expect(await digestOf(world.db)).toEqual(before);
});

test("what would be refused is refused the same way", async () => {
  const cast = await castIn(world);
  const { owner, member, stranger, team } = cast;
  const taken = await makeTeam(world, owner, "Taken");
  const invited = await world.person("invited");
  await makeInvitation(world, { team, by: owner, to: invited });
  const onTeam = `/api/v2/teams/${team.id}/adduser/users`;
  const cases: [string, Ask, number, string][] = [
    [`/api/v2/teams/users/${owner.uid}`, { method: "POST", body: { name: "Taken" } }, 401, "unauthenticated"],
    [`/api/v2/teams/users/${owner.uid}`, { method: "POST", body: { name: "New" }, key: stranger.key }, 403, "uid_mismatch"],
    [`${onTeam}/${stranger.uid}`, { method: "POST", body: { member_uid: owner.uid }, key: stranger.key }, 404, "not_found"],
    [`${onTeam}/${member.uid}`, { method: "POST", body: { member_uid: stranger.uid }, key: member.key }, 403, "owner_only"],
    [`${onTeam}/${owner.uid}`, { method: "POST", body: { member_uid: 5 }, key: owner.key }, 400, "validation_failed"],
    [`${onTeam}/${owner.uid}`, { method: "POST", body: { member_uid: formatId("usr", randomUUIDv7()) }, key: owner.key }, 404, "not_found"],
    [`${onTeam}/${owner.uid}`, { method: "POST", body: { member_uid: member.uid }, key: owner.key }, 409, "already_member"],
    [`${onTeam}/${owner.uid}`, { method: "POST", body: { member_uid: invited.uid }, key: owner.key }, 409, "invite_pending"],
    [`/api/v2/teams/users/${owner.uid}`, { method: "POST", body: { name: "taken" }, key: owner.key }, 409, "name_taken"],
    [`/api/v2/ext/teams/${taken.id}/leave/users/${owner.uid}`, { method: "POST", key: owner.key }, 403, "role_insufficient"],
    [
      `/api/v2/users/${owner.uid}/password`,
      { method: "PATCH", body: { old_password: "wrong", new_password: "another good phrase" }, key: owner.key },
      403,
      "wrong_password",
    ],
    ["/api/v2/ext/auth/login", { method: "POST", body: { email: owner.email, password: "wrong" } }, 401, "unauthenticated"],
  ];
  const before = await digestOf(world.db);
  for (const [path, options, status, code] of cases) expect(await dry(path, options), code).toMatchObject({ status, headers: { "x-error-code": code } });
  expect(await digestOf(world.db)).toEqual(before);
});

test("a stored answer is not given for a dry run: it asks what would happen now", async () => {
  const { owner } = await castIn(world);
  const send = (headers: Record<string, string>) =>
    ask(world.url, `/api/v2/teams/users/${owner.uid}`, {
      method: "POST",
      key: owner.key,
      body: { name: "Mine" },
      headers: { "idempotency-key": "stored", ...headers },
    });
  expect(await send({})).toMatchObject({ status: 201 });
  expect(await send({ "x-dry-run": "true" })).toMatchObject({ status: 409, headers: { "x-error-code": "name_taken" } });
  expect(await send({ "x-dry-run": "false" })).toMatchObject({ status: 201, headers: { "idempotent-replayed": "true" } });
});

test.each([[""], ["1"], ["TRUE"], ["yes"], ["true, true"], [["true", "true"]]])("X-Dry-Run: %j is 400, and nothing is guessed", async (value) => {
  const { owner } = await castIn(world);
  const before = await digestOf(world.db);
  expect(
    await ask(world.url, `/api/v2/users/${owner.uid}`, { method: "PATCH", key: owner.key, body: { first_name: "Eve" }, headers: { "x-dry-run": value } }),
  ).toMatchObject({ status: 400, headers: { "x-error-code": "invalid_header" } });
  expect(await digestOf(world.db)).toEqual(before);
});

test("a dry run counts against the rate limit", async () => {
  const limited = await startWorld({ database_url: database.url, env: { STEAD_RATE_LIMITS: "write=2/600" } });
  const ada = await limited.person("ada");
  const statuses = [];
  for (let i = 0; i < 3; i++)
    statuses.push((await ask(limited.url, `/api/v2/users/${ada.uid}`, { method: "PATCH", key: ada.key, body: {}, headers: { "x-dry-run": "true" } })).status);
  expect(statuses).toEqual([200, 200, 429]);
  await limited.stop();
});
