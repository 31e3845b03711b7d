/** What counts as a credential (decisions 2.7, K1 to K8), and what is said to those who have none. */
import { makeKey } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { sampleServers } from "@stead/testkit/sample-servers.ts";
import { type Ask, ask, type Told } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let ada: Person;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, extra: { areas: sampleServers } });
  ada = await world.person("ada");
});
afterAll(() => world.stop());

const profile = (options: Ask = {}, query = "") => ask(world.url, `/api/v2/users/${ada.uid}${query}`, options);
const authorised = (...values: string[]) => profile({ headers: { authorization: values } });
const code = ({ status, headers }: Told) => [status, headers["x-error-code"]];
const refused = (challenge: string) => ({
  status: 401,
  text: '{"message":"No valid API key was supplied."}',
  headers: { "www-authenticate": challenge, "x-error-code": "unauthenticated" },
});
const missing = 'Bearer realm="api"';
const invalid = 'Bearer realm="api", error="invalid_token"';

describe("Authorization", () => {
  test.each(["Bearer", "bearer", "BEARER", "bEaReR"])("the scheme may be written %s", async (scheme) => {
    expect(await authorised(`${scheme} ${ada.key}`)).toMatchObject({ status: 200 });
    expect(await authorised(`${scheme}   ${ada.key}`)).toMatchObject({ status: 200 });
  });

  test("none at all is told so", async () => {
    expect(await profile()).toMatchObject(refused(missing));
  });

  test("two are none, even two of the same", async () => {
    expect(await authorised(`Bearer ${ada.key}`, `Bearer ${ada.key}`)).toMatchObject(refused(invalid));
    expect(await authorised(`Bearer ${ada.key}`, "Basic eDp5")).toMatchObject(refused(invalid));
  });

  test("anything but one whole key is invalid", async () => {
    const { key } = ada;
    const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
    const values = [
      key,
      "Bearer",
      "Bearer ",
      `Bearer${key}`,
      `Bearer ${key},`,
      `Bearer ${key} x`,
      `Bearer "${key}"`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key}0`,
      `Bearer ${key.toUpperCase()}`,
      `Bearer ${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`,
      `Token ${key}`,
      basic(`${key}:`),
      basic(`x:${key}`),
      basic(`${ada.email}:${ada.password}`),
      `Digest username="${key}"`,
      "",
      " ",
    ];
    for (const value of values) expect(await authorised(value), value).toMatchObject(refused(invalid));
  });

  test("a key anywhere else is no key", async () => {
    const { key } = ada;
    for (const name of ["api_key", "access_token", "key", "token", "authorization"]) {
      expect(await profile({}, `?${name}=${key}`)).toMatchObject(refused(missing));
      expect(await profile({ headers: { cookie: `${name}=${key}; session=${key}` } })).toMatchObject(refused(missing));
    }
    for (const name of ["x-api-key", "x-auth-token", "proxy-authorization", "x-authorization"])
      expect(await profile({ headers: { [name]: `Bearer ${key}` } })).toMatchObject(refused(missing));
    expect(await profile({ method: "PATCH", body: { api_key: key, access_token: key } })).toMatchObject(refused(missing));
  });
});

describe("kinds", () => {
  test("a session token works until it expires, and its refresh cookie nowhere else", async () => {
    const { body, headers } = await world.client().call("auth.login", { email: ada.email, password: ada.password });
    const { token } = (body as { data: { token: string } }).data;
    const [cookie = ""] = headers.getSetCookie();
    expect(cookie).toMatch(/^__Secure-stead_refresh=\w+; Path=\/api\/v2\/ext\/auth; Max-Age=\d+; HttpOnly; Secure; SameSite=Strict$/);
    expect(await profile({ key: token })).toMatchObject({ status: 200 });
    expect(await profile({ headers: { cookie } })).toMatchObject(refused(missing));
    expect(await profile({ key: cookie.split(/[=;]/)[1] as string })).toMatchObject(refused(invalid));
    await world.db
      .updateTable("credentials")
      .set({ expires_at: new Date(Date.now() - 1) })
      .where("kind", "=", "session")
      .where("uid", "=", ada.uuid)
      .execute();
    expect(await profile({ key: token })).toMatchObject(refused(invalid));
  });

  test("a scoped key does what its scopes say, and never what needs the whole account", async () => {
    const { key } = await makeKey(world, ada, { scopes: ["account:read"] });
    expect(await profile({ key })).toMatchObject({ status: 200 });
    expect(await ask(world.url, "/api/v2/plans", { key })).toMatchObject({ status: 200 });
    expect(await profile({ key, method: "PATCH", body: "{" })).toMatchObject({
      status: 403,
      headers: { "x-error-code": "scope_missing" },
      json: { message: "This API key lacks the scope `account:write`." },
    });
    const all = await makeKey(world, ada, { scopes: ["account:read", "account:write", "teams:write"] });
    for (const [method, path] of [
      ["DELETE", ""],
      ["POST", "/regenerate/apikey"],
    ] as const)
      expect(code(await ask(world.url, `/api/v2/users/${ada.uid}${path}`, { method, key: all.key }))).toEqual([403, "scope_missing"]);
    expect(code(await ask(world.url, `/api/v2/ext/apikeys/users/${ada.uid}`, { key: all.key }))).toEqual([403, "scope_missing"]);
  });

  test("a key for some servers reaches those, and learns of no other", async () => {
    const [mine, other] = [await world.server(ada), await world.server(ada)];
    const { key } = await makeKey(world, ada, { scopes: ["servers:read"], sids: [mine.uuid] });
    const get = (sid: string) => ask(world.url, `/api/v2/servers/${sid}/users/${ada.uid}`, { key });
    expect(await get(mine.sid)).toMatchObject({ status: 200 });
    expect(code(await get(other.sid))).toEqual([403, "scope_missing"]);
    expect(code(await get("srv_01jcpv1w2n9w5eph2j1v0a7q3r"))).toEqual([403, "scope_missing"]);
  });

  test("a key for some addresses works from those", async () => {
    const { key } = await makeKey(world, ada, { scopes: ["account:read"], cidrs: ["127.0.0.8/30", "2001:db8::/32"] });
    expect(await profile({ key, from: "127.0.0.9" })).toMatchObject({ status: 200 });
    expect(code(await profile({ key, from: "127.0.0.1" }))).toEqual([403, "ip_not_allowed"]);
  });

  test("a key that has expired is no key", async () => {
    const { key } = await makeKey(world, ada, { scopes: ["account:read"], expires_at: new Date(Date.now() - 1) });
    expect(await profile({ key })).toMatchObject(refused(invalid));
  });
});

describe("the account's state", () => {
  const on = (person: Person, path: string, options: Ask = {}) =>
    ask(world.url, `/api/v2${path.replace("{uid}", person.uid)}`, { key: person.key, ...options });

  test("who is not verified reads, and looks after the account; nothing else", async () => {
    const eve = await world.person("eve", { verified: false });
    for (const path of ["/users/{uid}", "/users/{uid}/activity", "/teams/users/{uid}", "/plans"])
      expect(await on(eve, path), path).toMatchObject({ status: 200 });
    expect(await on(eve, "/users/{uid}", { method: "PATCH", body: {} })).toMatchObject({ status: 200 });
    expect(await on(eve, "/users/{uid}/regenerate/apikey", { method: "POST", headers: { "x-dry-run": "true" } })).toMatchObject({ status: 200 });
    expect(code(await on(eve, "/teams/users/{uid}", { method: "POST", body: { name: "Mine" } }))).toEqual([403, "email_unverified"]);
  });

  test("who is suspended sees the profile; nothing else", async () => {
    const eve = await world.person("eve", { status: "suspended" });
    for (const path of ["/users/{uid}", "/ext/me"]) expect(await on(eve, path), path).toMatchObject({ status: 200 });
    for (const path of ["/users/{uid}/activity", "/teams/users/{uid}", "/plans", "/ext/apikeys/users/{uid}"])
      expect(code(await on(eve, path)), path).toEqual([403, "account_suspended"]);
    expect(code(await on(eve, "/users/{uid}", { method: "PATCH", body: {} }))).toEqual([403, "account_suspended"]);
  });

  test("an administrator acts for nobody else", async () => {
    const root = await world.person("root", { role: "admin" });
    expect(code(await profile({ key: root.key }))).toEqual([403, "uid_mismatch"]);
  });
});
