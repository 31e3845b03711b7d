import { formatId } from "@stead/base/id.ts";
import { type Grant, grants } from "@stead/contract/operation.ts";
import { type Client, createClient, type SteadError } from "@stead/sdk/client.ts";
import { mounted } from "@stead/testkit/calls.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { everythingStored, secretsIn } from "@stead/testkit/dump.ts";
import { outcomeOf } from "@stead/testkit/outcome.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let ada: Person;
let eve: Person;
const secrets = new Map<string, string>();

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  ada = await world.person("ada");
  eve = await world.person("eve");
});
afterAll(() => world.stop());

type Limits = Parameters<Client["keys"]["create"]>[0];

async function newKey(limits: Partial<Limits> = {}) {
  const key = await ada.client.keys.create({ name: "deploy", scopes: ["account:read"], ...limits });
  secrets.set(key.id, key.api_key);
  return { ...key, client: world.client(key.api_key) };
}
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

describe("a new key", () => {
  test("is shown once, and listed without it", async () => {
    const { uuid, sid } = await world.server(ada);
    const { body, status } = await ada.client.call("keys.create", {
      name: "  Cafe\u0301 ",
      scopes: ["sites:read", "dns:read", "sites:read"],
      expires_at: tomorrow(),
      sids: [sid],
      cidrs: ["192.0.2.7", "2001:DB8::/32"],
    });
    const { data } = body as { data: Record<string, unknown> & { api_key: string } };
    secrets.set("shown", data.api_key);
    const { api_key, ...listed } = data;
    expect([status, listed]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ak_/),
        name: "Caf\u00e9",
        kind: "scoped",
        last4: api_key.slice(-4),
        scopes: ["sites:read", "dns:read"],
        sids: [sid],
        cidrs: ["192.0.2.7/32", "2001:db8::/32"],
        expires_at: expect.stringMatching(/Z$/),
        created_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect(await ada.client.keys.list()).toEqual([
      expect.objectContaining({ kind: "primary", scopes: [], sids: null, cidrs: null, expires_at: null, last4: ada.key.slice(-4) }),
      listed,
    ]);
    expect((await ada.client.users.activity()).data[0]).toMatchObject({
      action: "user.api_key_create",
      detail: `Created the API key Caf\u00e9, which ends in ${api_key.slice(-4)}.`,
    });
    expect(await world.db.selectFrom("credentials").select("sids").where("last4", "=", api_key.slice(-4)).executeTakeFirst()).toEqual({ sids: [uuid] });
  });

  test.each<[string, Partial<Limits>]>([
    ["without a name", { name: "  " }],
    ["with a name of 65 characters", { name: "x".repeat(65) }],
    ["without a scope", { scopes: [] }],
    ["with an unknown scope", { scopes: ["root"] as never }],
    ["that is already over", { expires_at: new Date(Date.now() - 1000).toISOString() }],
    ["that ends at a time that is none", { expires_at: "2027-06-31T00:00:00Z" }],
    ["that ends in a leap second", { expires_at: "2098-06-30T23:59:60Z" }],
    ["with an empty list of servers", { sids: [] }],
    ["with an empty reference", { sids: [""] }],
    ["from nowhere", { cidrs: [] }],
    ["with too many bits", { cidrs: ["192.0.2.0/33"] }],
    ["from an address that is none", { cidrs: ["192.0.2"] }],
    ["with a zone index", { cidrs: ["fe80::1%eth0"] }],
  ])("%s is 400", async (_, limits) => {
    await expect(newKey(limits)).rejects.toMatchObject({ status: 400, code: "validation_failed" });
  });

  test("for a server that is not there, or not theirs to see, is 404", async () => {
    const foreign = await world.server(eve);
    for (const sid of [foreign.sid, "srv_01jcpv1w2n9w5eph2j1v0a7q3r", "nonsense"])
      await expect(newKey({ sids: [sid] })).rejects.toMatchObject({ status: 404, code: "not_found", message: "Server not found." });
  });
});

describe("scopes", () => {
  const withCredential = mounted.filter(({ op }) => op.scope !== "open");

  test.each(grants)("%s: a key with all others is refused where it is needed, a key with only it passes there and nowhere else", async (grant) => {
    const others = await newKey({ scopes: grants.filter((other) => other !== grant) as Grant[] });
    const only = await newKey({ scopes: [grant] });
    for (const operation of withCredential) {
      const { name, op } = operation;
      const refused = {
        others: (await outcomeOf(others.client, operation)) === "scope_missing",
        only: (await outcomeOf(only.client, operation)) === "scope_missing",
      };
      expect([name, refused]).toEqual([name, { others: op.needs === grant || op.needs === "full", only: op.needs !== grant && op.needs !== "any" }]);
    }
  });

  test("nothing but the primary key or a session manages keys, deletes the account, replaces the key or lets a device in", async () => {
    const full = withCredential.filter(({ op }) => op.needs === "full").map(({ name }) => name);
    expect(full).toEqual(["users.delete", "users.regenerate_api_key", "auth.device_approve", "keys.list", "keys.create", "keys.revoke"]);
    const { token } = await world.client().auth.login({ email: ada.email, password: ada.password });
    const session = world.client(token);
    const { id } = await session.keys.create({ name: "by session", scopes: ["dns:read"] });
    expect(await session.keys.revoke({ key_id: id })).toEqual({ message: "API key revoked." });
  });
});

describe("limits", () => {
  test("a key for one server is refused on another, in the path and in the body", async () => {
    const [mine, other] = [await world.server(ada), await world.server(ada)];
    const { tid } = await ada.client.teams.create({ name: "Ops" });
    const { client } = await newKey({ scopes: ["teams:write", "account:read"], sids: [mine.sid] });
    await expect(client.teams.add_server({ tid, sid: other.sid })).rejects.toMatchObject({ status: 403, code: "scope_missing" });
    await client.teams.add_server({ tid, sid: mine.sid });
    await ada.client.teams.add_server({ tid, sid: other.sid });
    await expect(client.teams.remove_server({ tid, sid: other.sid })).rejects.toMatchObject({ status: 403, code: "scope_missing" });
    await client.teams.remove_server({ tid, sid: mine.sid });
    expect((await client.teams.get({ tid })).servers).toEqual([other.sid]);
  });

  test.each([
    ["192.0.2.0/24", ["192.0.2.1", "192.0.2.255"], ["192.0.3.1", "2001:db8::1"]],
    ["192.0.2.77/24", ["192.0.2.1"], ["192.0.3.1"]],
    ["198.51.100.7", ["198.51.100.7", "::ffff:198.51.100.7"], ["198.51.100.8"]],
    ["2001:db8:1::/48", ["2001:db8:1::1", "2001:db8:1:ffff::1"], ["2001:db8:2::1", "192.0.2.1"]],
    ["2001:db8::7", ["2001:db8::7", "2001:0db8:0:0::7"], ["2001:db8::8"]],
  ])("a key for %s works from there only", async (cidr, inside, outside) => {
    const proxied = await startWorld({ database_url: database.url, env: { STEAD_INSECURE_HTTP: "", STEAD_TLS: "proxy", STEAD_TRUST_PROXY: "127.0.0.1" } });
    const { api_key } = await newKey({ cidrs: [cidr] });
    const client = createClient({ base_url: proxied.url, api_key, uid: ada.uid, retries: 0 });
    const from = (address: string) =>
      client.users.get({}, { headers: { "x-forwarded-proto": "https", "x-forwarded-for": address } }).then(
        () => "in",
        (error: unknown) => (error as SteadError).code,
      );
    try {
      expect(await Promise.all(inside.map(from))).toEqual(inside.map(() => "in"));
      expect(await Promise.all(outside.map(from))).toEqual(outside.map(() => "ip_not_allowed"));
    } finally {
      await proxied.stop();
    }
  });

  test("an expired key is like one that never was", async () => {
    const { client, id, api_key } = await newKey({ expires_at: tomorrow() });
    expect((await client.users.get()).uid).toBe(ada.uid);
    await sql`update credentials set expires_at = now() where hash = sha256(${api_key}::bytea)`.execute(world.db);
    await expect(client.users.get({ uid: ada.uid })).rejects.toMatchObject({ status: 401, code: "unauthenticated", message: "No valid API key was supplied." });
    await ada.client.keys.revoke({ key_id: id });
  });
});

describe("revoking", () => {
  test("is felt at once, in every process, and said once", async () => {
    const other = await startWorld({ database_url: database.url });
    const { id, api_key, client } = await newKey({ name: "leaked" });
    const there = other.client(api_key);
    expect((await there.users.get()).uid).toBe(ada.uid);
    await ada.client.keys.revoke({ key_id: id });
    for (const dead of [client, there]) await expect(dead.users.get({ uid: ada.uid })).rejects.toMatchObject({ status: 401 });
    await other.stop();
    expect((await ada.client.users.activity()).data[0]).toMatchObject({
      action: "user.api_key_revoke",
      detail: `Revoked the API key leaked, which ended in ${api_key.slice(-4)}.`,
    });
    await expect(ada.client.keys.revoke({ key_id: id })).rejects.toMatchObject({ status: 404, message: "API key not found." });
  });

  test("another's key, or a session, is 404", async () => {
    const { id } = await newKey();
    await expect(eve.client.keys.revoke({ key_id: id })).rejects.toMatchObject({ status: 404 });
    await world.client().auth.login({ email: ada.email, password: ada.password });
    const session = await world.db
      .selectFrom("credentials")
      .select("key_id")
      .where("uid", "=", ada.uuid)
      .where("kind", "=", "session")
      .executeTakeFirstOrThrow();
    await expect(ada.client.keys.revoke({ key_id: formatId("ak", session.key_id) })).rejects.toMatchObject({ status: 404 });
    expect((await ada.client.keys.list()).map(({ kind }) => kind)).not.toContain("session");
  });

  test("works on the primary key, which a session then replaces", async () => {
    const bob = await world.person("bob");
    const { token } = await world.client().auth.login({ email: bob.email, password: bob.password });
    const [primary] = await bob.client.keys.list();
    await bob.client.keys.revoke({ key_id: primary?.id as string });
    await expect(bob.client.users.get({ uid: bob.uid })).rejects.toMatchObject({ status: 401 });
    const session = world.client(token);
    const { api_key } = await session.users.regenerate_api_key();
    secrets.set("regenerated", api_key);
    expect(await world.client(api_key).keys.list()).toMatchObject([{ kind: "primary", last4: api_key.slice(-4) }]);
  });
});

test("no table and no log line holds a key", async () => {
  const stored = await everythingStored(world.db);
  expect(stored.includes(ada.email)).toBe(true);
  expect(secrets.size).toBeGreaterThan(20);
  expect(secretsIn(stored + JSON.stringify(world.logged), secrets)).toEqual([]);
});
