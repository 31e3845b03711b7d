/** What a caller may not know of and what does not exist are told apart by nothing: not by the body, not by a header. */
import { randomUUIDv7 } from "node:crypto";
import { formatId } from "@stead/base/id.ts";
import { paramsOf } from "@stead/contract/operation.ts";
import { addressOf, type Call, callOf, mounted } from "@stead/testkit/calls.ts";
import { type Cast, castIn, makeTeam } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { ask, type Told } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { prefixOf } from "./access.ts";

const database = testDatabase();
let world: World;
let cast: Cast;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  cast = await castIn(world);
});
afterAll(() => world.stop());

const credentialed = mounted.filter(({ op }) => op.scope !== "open");
const withObjects = credentialed.flatMap(({ name, op }) => paramsOf(op.path).flatMap((param) => (param === "uid" ? [] : [{ name, op, param }])));

const told = ({ status, headers: { date, "x-request-id": id, ...headers }, text }: Told) => {
  expect([date, id]).toEqual([expect.any(String), expect.any(String)]);
  return { status, headers, text };
};

const missing = (param: string) => formatId(prefixOf(param), randomUUIDv7());
const malformed = ["x", "%00", "..%2f..", "usr_01jcpv1w2n9w5eph2j1v0a7q3r", `${"9".repeat(200)}`];

/** Every request as the first of a new user: even what is left of the rate limit is the same. */
async function askAsNew({ op }: (typeof mounted)[number], call: Call, path: (uid: string) => string): Promise<ReturnType<typeof told>> {
  const { key, uid } = await world.person("somebody");
  return told(await ask(world.url, path(uid), { method: op.method, key, ...(call.body ? { body: call.body } : {}) }));
}

test.each(withObjects)("$name: a stranger's $param and one that does not exist get the same 404", async (each) => {
  const { op, name, param } = each;
  const call = await callOf(name)(cast, cast.owner);
  const foreign = await askAsNew(each, call, (uid) => addressOf(op, uid, call.params));
  expect(foreign).toMatchObject({ status: 404, headers: { "x-error-code": "not_found" } });
  expect(await askAsNew(each, call, (uid) => addressOf(op, uid, { ...call.params, [param]: missing(param) }))).toEqual(foreign);
  for (const text of malformed)
    expect(await askAsNew(each, call, (uid) => addressOf(op, uid, { ...call.params, [param]: "@" }).replace("%40", text)), text).toEqual(foreign);
});

/** One link further: the caller's own team, with somebody else's thing in it. */
const below = withObjects.filter(({ op, param }) => op.path.includes("{tid}") && param !== "tid");

test.each(below)("$name: on one's own team, a foreign $param and one that does not exist get the same 404", async ({ op, name, param }) => {
  const call = await callOf(name)(cast, cast.owner);
  const send = async (value: (owner: Person) => Promise<string> | string) => {
    const owner = await world.person("proud");
    const params = { ...call.params, tid: (await makeTeam(world, owner)).id, [param]: await value(owner) };
    return told(await ask(world.url, addressOf(op, owner.uid, params), { method: op.method, key: owner.key, ...(call.body ? { body: call.body } : {}) }));
  };
  const foreign = await send(() => call.params?.[param] as string);
  expect(foreign.status).toBe(404);
  expect(await send(() => missing(param))).toEqual(foreign);
  for (const text of malformed.filter((value) => !value.includes("%"))) expect(await send(() => text), text).toEqual(foreign);
  if (param === "sid") expect(await send(async (owner) => (await world.server(owner)).sid)).toEqual(foreign);
});

test.each(credentialed.filter(({ op }) => op.path.includes("{uid}")))("$name: another user's uid and one that nobody has get the same 403", async (each) => {
  const call = await callOf(each.name)(cast, cast.owner);
  const path = (uid: string) => () => addressOf(each.op, uid, call.params);
  const foreign = await askAsNew(each, call, path(cast.owner.uid));
  expect(foreign).toMatchObject({ status: 403, headers: { "x-error-code": "uid_mismatch" } });
  for (const uid of [formatId("usr", randomUUIDv7()), cast.deleted.uid, cast.owner.uid.toUpperCase(), "me", cast.owner.uuid])
    expect(await askAsNew(each, call, path(uid)), uid).toEqual(foreign);
});

test.each(credentialed)("$name: keys that are unknown, revoked or of a deleted user get the same 401", async ({ op, name }) => {
  const call = await callOf(name)(cast, cast.owner);
  const send = async (key: string) =>
    told(await ask(world.url, addressOf(op, cast.owner.uid, call.params), { method: op.method, key, ...(call.body ? { body: call.body } : {}) }));
  const unknown = await send(`stead_${"0".repeat(46)}`);
  expect(unknown).toMatchObject({ status: 401, headers: { "www-authenticate": 'Bearer realm="api", error="invalid_token"' } });
  for (const key of [cast.revoked_key, cast.deleted.key, "eyJ.x.y"]) expect(await send(key)).toEqual(unknown);
});
