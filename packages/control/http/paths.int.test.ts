/** Which path and which method lead where (decisions 2.1.2); all of it is settled before anybody says who they are. */
import { METHODS } from "node:http";
import { addressOf, mounted } from "@stead/testkit/calls.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { sampleServers } from "@stead/testkit/sample-servers.ts";
import { ask, speak } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let ada: Person;
let reboot: string;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, extra: { areas: sampleServers } });
  ada = await world.person("ada");
  reboot = `/api/v2/reboot/servers/${(await world.server(ada)).sid}/users/${ada.uid}`;
});
afterAll(() => world.stop());

const activity = async () => (await world.db.selectFrom("activity").select("id").where("uid", "=", ada.uuid).execute()).length;

describe("a path that leads nowhere", () => {
  test.each([
    "/",
    "/api",
    "/api/v2",
    "/api/v2/",
    "/api/v1/plans",
    "/api/v2/nothing",
    "/api/v2/Plans",
    "/API/v2/plans",
    "/api/v2/plans/x",
    "/api/v2/plans//",
    "/api/v2//plans",
    "//api/v2/plans",
    "/api//v2/plans",
    "/api/v2/./plans",
    "/api/v2/x/../plans",
    "/api/v2/plans/.",
    "/api/v2/plans/..",
    "/api/v2/users/./activity",
    "/api/v2/users/../activity",
    "/api/v2/users//activity",
    "/api/v2/users/..",
    "/api/v2/ext/teams/../users/x",
    "/api/v2/%2e/plans",
    "/api/v2/x/%2e%2e/plans",
    "/api/v2/plans/%2e",
    "/api%2fv2%2fplans",
    "/api/v2%2Fplans",
    "/api/v2/plans%00",
    "/api/v2/plans;x=1",
    "/api/v2/plans%3fx",
    "/api/v2/plans%20",
    "/api/v2/%",
    "/api/v2/%zz",
    "/api/v2/users/%",
    "/api/v2/users/%c3%28",
    "/api/v2/users/%ff",
    "/api/v2/users/a%E0%A4%A",
    "/healthz",
    "/metrics",
    "*",
  ])("%s is 404 before anybody is asked who they are", async (path) => {
    for (const method of ["GET", "POST", "OPTIONS", "HEAD"]) {
      const { status, text, headers } = await ask(world.url, path, { method });
      expect([status, text], method).toEqual([404, method === "HEAD" ? "" : '{"message":"Not found."}']);
      expect(headers).toMatchObject({
        "x-error-code": "not_found",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "x-request-id": expect.stringMatching(/^req_/),
      });
      expect(headers).not.toHaveProperty("www-authenticate");
    }
  });

  test("every 404 is logged, and counts against the flood limit", async () => {
    const limited = await startWorld({ database_url: database.url, env: { STEAD_RATE_LIMITS: "flood=3/100" } });
    const statuses = [];
    for (const path of ["/api/v2/nothing", "/api/v2/%zz", "/api/v2//", "/api/v2/%zz"]) statuses.push((await ask(limited.url, path)).status);
    expect(statuses).toEqual([404, 404, 404, 429]);
    expect(limited.logged.filter(({ message }) => message === "request").map(({ status, operation }) => [status, operation])).toEqual(
      [404, 404, 404, 429].map((status) => [status, "none"]),
    );
    await limited.stop();
  });
});

describe("a path that leads somewhere", () => {
  test("one trailing slash, an encoded letter and a query change nothing", async () => {
    const { text, status } = await ask(world.url, `/api/v2/users/${ada.uid}`, { key: ada.key });
    expect(status).toBe(200);
    for (const path of [`/api/v2/users/${ada.uid}/`, `/api/v2/%75sers/${ada.uid}`, `/api/v2/users/${ada.uid}?a=1&b[]=2&page=0`, `/api/v2/users/${ada.uid}/?`])
      expect(await ask(world.url, path, { key: ada.key }), path).toMatchObject({ status: 200, text });
  });

  test("an id that is malformed is an id that nobody has", async () => {
    for (const tid of ["x", "%2e%2e", "%00", "a%2fb", ada.uid, "team_", "TEAM_01JCPV1W2N9W5EPH2J1V0A7Q3R"])
      expect(await ask(world.url, `/api/v2/ext/teams/${tid}/users/${ada.uid}`, { key: ada.key }), tid).toMatchObject({
        status: 404,
        text: '{"message":"Team not found."}',
      });
    for (const uid of ["x", "%2e%2e", "%00", "me"])
      expect(await ask(world.url, `/api/v2/users/${uid}`, { key: ada.key }), uid).toMatchObject({ status: 403, headers: { "x-error-code": "uid_mismatch" } });
  });
});

describe("methods", () => {
  // CONNECT asks for a tunnel: Node hangs up on it before anybody sees a path.
  const methods = METHODS.filter((method) => method !== "CONNECT");
  const paths = Object.entries(Object.groupBy(mounted, ({ op }) => op.path));

  const declaredBy = (operations: readonly (typeof mounted)[number][]) =>
    new Set(operations.flatMap(({ op: { method, effect } }) => (method === "GET" && effect === "read" ? ["GET", "HEAD"] : [method])));

  test.each(paths)("%s answers what it declares, and 405 to everything else", async (_, operations = []) => {
    const path = addressOf((operations[0] as (typeof mounted)[number]).op, ada.uid);
    const allowed = new Set([...declaredBy(operations), "OPTIONS"]);
    // DELETE on `outgoing` could mean a confirmation of that name, and asks for a key like any other.
    const alsoHere = declaredBy(mounted.filter(({ op }) => new RegExp(`^${addressOf(op, "@").replace(/(%7B\w+%7D|%40)/g, "[^/]+")}$`).test(path)));
    for (const method of methods.filter((each) => !alsoHere.has(each))) {
      const { status, headers, text } = await ask(world.url, path, { method });
      expect([status, new Set(headers.allow?.split(", "))], method).toEqual([method === "OPTIONS" ? 204 : 405, allowed]);
      expect(text).toBe(method === "OPTIONS" || method === "HEAD" ? "" : `{"message":"${method} is not allowed here. Allowed: ${headers.allow}."}`);
      expect(headers["cache-control"]).toBe("no-store");
    }
  });

  test("TRACE does not give back what was sent", async () => {
    expect(await ask(world.url, "/api/v2/plans", { method: "TRACE", key: ada.key, headers: { cookie: "canary=1" } })).toMatchObject({
      status: 405,
      text: expect.not.stringContaining("canary"),
    });
  });

  test("a method that does not exist is not HTTP", async () => {
    expect(await speak(world.url, "FROB /api/v2/plans HTTP/1.1\r\nhost: x\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 400 Bad Request\r\n(.*\r\n)*\r\n\{"message":"The request is not valid HTTP\."\}$/,
    );
  });

  test.each(mounted.filter(({ op }) => op.effect === "read" && op.scope !== "team"))("HEAD on $name has the headers of GET and no body", async ({ op }) => {
    const path = addressOf(op, ada.uid);
    const get = await ask(world.url, path, { key: ada.key });
    const head = await ask(world.url, path, { method: "HEAD", key: ada.key });
    const alike = ({ headers: { date, "x-request-id": id, ratelimit, ...headers } }: typeof get) => headers;
    expect([get.status, head.status, head.text]).toEqual([200, 200, ""]);
    expect(alike(head)).toEqual(alike(get));
    expect(head.headers["content-length"]).toBe(String(get.bytes.length));
  });

  test("override headers are not looked at", async () => {
    for (const name of ["x-http-method-override", "x-method-override", "x-http-method"]) {
      expect(await ask(world.url, `/api/v2/users/${ada.uid}`, { key: ada.key, headers: { [name]: "DELETE" } })).toMatchObject({ status: 200 });
      expect(await ask(world.url, `/api/v2/users/${ada.uid}?_method=DELETE`, { method: "POST", key: ada.key, headers: { [name]: "DELETE" } })).toMatchObject({
        status: 405,
      });
    }
    expect((await ask(world.url, `/api/v2/users/${ada.uid}`, { key: ada.key })).status).toBe(200);
  });
});

describe("a GET that changes something", () => {
  test("is done by GET, and the answer is not kept", async () => {
    const before = await activity();
    expect(await ask(world.url, reboot, { key: ada.key })).toMatchObject({
      status: 200,
      json: { message: "Reboot scheduled." },
      headers: { "cache-control": "no-store" },
    });
    expect((await ask(world.url, reboot, { key: ada.key })).headers).not.toHaveProperty("etag");
    expect(await activity()).toBe(before + 2);
  });

  test("is not done by HEAD, which is 405 there", async () => {
    const before = await activity();
    for (const key of [ada.key, undefined])
      expect(await ask(world.url, reboot, { method: "HEAD", ...(key ? { key } : {}) })).toMatchObject({ status: 405, headers: { allow: "GET, OPTIONS" } });
    expect(await activity()).toBe(before);
  });

  test.each([
    { "sec-purpose": "prefetch" },
    { "sec-purpose": "prefetch;prerender" },
    { "sec-purpose": "prefetch;anonymous-client-ip" },
    { purpose: "prefetch" },
    { purpose: "Prefetch" },
  ])("is not done for a browser that only looks ahead: %o", async (headers) => {
    const before = await activity();
    expect(await ask(world.url, reboot, { key: ada.key, headers })).toMatchObject({ status: 403, headers: { "x-error-code": "prefetch_refused" } });
    expect(await activity()).toBe(before);
    expect(await ask(world.url, `/api/v2/users/${ada.uid}`, { key: ada.key, headers })).toMatchObject({ status: 200 });
  });

  test("is not done for a cookie", async () => {
    const { body, headers } = await world.client().call("auth.login", { email: ada.email, password: ada.password });
    const cookie = `${headers.getSetCookie()[0]?.split(";")[0]}; token=${(body as { data: { token: string } }).data.token}`;
    const before = await activity();
    expect(await ask(world.url, reboot, { headers: { cookie } })).toMatchObject({ status: 401 });
    expect(await activity()).toBe(before);
  });

  test("is done once for one idempotency key", async () => {
    const before = await activity();
    const send = () => ask(world.url, reboot, { key: ada.key, headers: { "idempotency-key": "reboot-1" } });
    const first = await send();
    expect(await send()).toMatchObject({ status: 200, text: first.text, headers: { "idempotent-replayed": "true" } });
    expect(await activity()).toBe(before + 1);
  });
});
