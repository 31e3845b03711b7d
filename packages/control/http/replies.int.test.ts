/** How an answer looks, whatever it says: type, length, names, how long it may be kept, and who may read it. */
import { randomUUIDv7 } from "node:crypto";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { castIn } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { sampleServers } from "@stead/testkit/sample-servers.ts";
import { type Ask, ask } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let ada: Person;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, extra: { areas: sampleServers } });
  ada = await world.person("ada");
  const entry = () => ({ id: randomUUIDv7(), uid: ada.uuid, actor_uid: ada.uuid, action: "user.update", detail: "Changed something." });
  await world.db
    .insertInto("activity")
    .values(Array.from({ length: 20 }, entry))
    .execute();
});
afterAll(() => world.stop());

const profile = (options: Ask = {}) => ask(world.url, `/api/v2/users/${ada.uid}`, { key: ada.key, ...options });
const long = (accept?: string, method = "GET") =>
  ask(world.url, `/api/v2/users/${ada.uid}/activity`, { method, key: ada.key, ...(accept === undefined ? {} : { headers: { "accept-encoding": accept } }) });

describe("compression", () => {
  test.each([
    ["br", "br"],
    ["gzip", "gzip"],
    ["gzip, deflate, br", "br"],
    ["GZIP", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0.0,gzip;q=0.5", "gzip"],
    ["gzip;q=0.000", undefined],
    ["br; q=0 , gzip; q=0", undefined],
    ["identity", undefined],
    ["deflate", undefined],
    ["", undefined],
    ["xbr, brx", undefined],
  ])("Accept-Encoding: %s gives %s", async (accept, coding) => {
    const plain = await long();
    const { headers, bytes } = await long(accept);
    expect([headers["content-encoding"], headers.vary]).toEqual([coding, "accept-encoding"]);
    expect((coding === "br" ? brotliDecompressSync(bytes) : coding === "gzip" ? gunzipSync(bytes) : bytes).toString()).toBe(plain.text);
    expect([headers.etag, Number(headers["content-length"])]).toEqual([plain.headers.etag, bytes.length]);
    expect((await long(accept, "HEAD")).headers).toMatchObject({ "content-length": String(bytes.length), ...(coding ? { "content-encoding": coding } : {}) });
  });

  test("a short answer is sent as it is", async () => {
    const { headers, text } = await profile({ headers: { "accept-encoding": "br" } });
    expect(text.length).toBeLessThan(1024);
    expect(headers).not.toHaveProperty("content-encoding");
  });
});

describe("names and types", () => {
  test("every answer is JSON in UTF-8 and not to be guessed at", async () => {
    for (const [path, options] of [
      ["/plans", { key: ada.key }],
      ["/plans", {}],
      ["/nothing", {}],
      ["/plans", { method: "PUT" }],
      [`/users/${ada.uid}`, { key: ada.key, method: "PATCH", body: "{" }],
    ] as const) {
      expect((await ask(world.url, `/api/v2${path}`, options)).headers).toMatchObject({
        "content-type": "application/json; charset=utf-8",
        "x-content-type-options": "nosniff",
        "x-request-id": expect.stringMatching(/^req_[0-9a-z]{26}$/),
      });
    }
  });

  test.each(["a", "deploy-42_x", "Z".repeat(64)])("the caller's own request id %s is kept", async (id) => {
    expect((await profile({ headers: { "x-request-id": id } })).headers["x-request-id"]).toBe(id);
    expect(world.logged.filter(({ request_id }) => request_id === id)).toHaveLength(1);
  });

  test.each([["Z".repeat(65)], ["a b"], ["a\tb"], [""], ["ä"], ["a,b"], [["a", "b"]]])("an unfit request id %j is replaced", async (id) => {
    expect((await profile({ headers: { "x-request-id": id } })).headers["x-request-id"]).toMatch(/^req_[0-9a-z]{26}$/);
  });

  test("Accept changes nothing but the form of errors", async () => {
    for (const accept of ["text/html", "application/xml;q=1", "*/*;q=0", "application/problem+json"])
      expect(await profile({ headers: { accept } })).toMatchObject({ status: 200, headers: { "content-type": "application/json; charset=utf-8" } });
    expect(
      await profile({ method: "PATCH", body: { phone: 5, first_name: null }, headers: { accept: "application/problem+json", "x-request-id": "mine" } }),
    ).toMatchObject({
      status: 400,
      headers: { "content-type": "application/problem+json; charset=utf-8", "x-error-code": "validation_failed" },
      json: {
        type: "/docs/errors#validation_failed",
        title: "A field of the body breaks its rule.",
        status: 400,
        detail: expect.stringContaining("`phone`"),
        instance: "mine",
        message: expect.stringContaining("`first_name`"),
        code: "validation_failed",
        errors: [
          { field: "first_name", code: "type", message: expect.any(String) },
          { field: "phone", code: "type", message: expect.any(String) },
        ],
      },
    });
    for (const path of ["/api/v2/plans", "/api/v2/nothing", `/api/v2/ext/teams/x/users/${ada.uid}`]) {
      const { json, status } = await ask(world.url, path, { headers: { accept: "text/html, application/problem+json;q=0.9" } });
      expect(Object.keys(json as object)).toEqual(["type", "title", "status", "detail", "instance", "message", "code", "errors"]);
      expect(json).toMatchObject({ status, errors: [] });
    }
  });
});

describe("keeping", () => {
  test("a read may be kept by the caller if they ask again, a change and a refusal never", async () => {
    expect((await profile()).headers).toMatchObject({ "cache-control": "private, no-cache", etag: expect.stringMatching(/^W\/"[\w-]{20,}"$/) });
    for (const options of [
      { method: "PATCH", body: {} },
      { method: "PATCH", body: "{" },
      { key: "bad" },
      { method: "PUT" },
      { method: "PATCH", body: {}, headers: { "x-dry-run": "true" } },
    ]) {
      const { headers } = await profile(options);
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers).not.toHaveProperty("etag");
    }
  });

  test("what carries a secret is never kept, whatever its method", async () => {
    const { sid } = await world.server(ada);
    const { status, headers } = await ask(world.url, `/api/v2/ext/servers/${sid}/install/users/${ada.uid}`, { key: ada.key });
    expect([status, headers["cache-control"], headers.etag]).toEqual([200, "no-store", undefined]);
    const eve = await world.person("eve");
    expect((await ask(world.url, `/api/v2/users/${eve.uid}/regenerate/apikey`, { method: "POST", key: eve.key })).headers["cache-control"]).toBe("no-store");
  });

  test.each([(tag: string) => tag, (tag: string) => tag.slice(2), (tag: string) => `"x", ${tag} , W/"y"`, () => "*"])(
    "If-None-Match that fits is 304, without body (%#)",
    async (header) => {
      const { etag } = (await profile()).headers as { etag: string };
      for (const method of ["GET", "HEAD"]) {
        const answer = await profile({ method, headers: { "if-none-match": header(etag) } });
        expect(answer).toMatchObject({ status: 304, text: "", headers: { etag, "cache-control": "private, no-cache" } });
      }
    },
  );

  test("If-None-Match that does not fit gives the whole answer, and on a change it is not looked at", async () => {
    for (const tag of ['W/"x"', "", '"', "x"]) expect(await profile({ headers: { "if-none-match": tag } })).toMatchObject({ status: 200 });
    const { etag } = (await profile()).headers as { etag: string };
    expect(await profile({ method: "PATCH", body: {}, headers: { "if-none-match": etag } })).toMatchObject({ status: 200 });
    await profile({ method: "PATCH", body: { last_name: "Lovelace" } });
    expect(await profile({ headers: { "if-none-match": etag } })).toMatchObject({ status: 200 });
  });

  test("the tag does not depend on the key", async () => {
    const { token } = await world.client().auth.login({ email: ada.email, password: ada.password });
    expect((await profile({ key: token })).headers.etag).toBe((await profile()).headers.etag);
  });
});

describe("If-Match", () => {
  const rename = (path: string, key: string, tag: string, name: string) =>
    ask(world.url, path, { method: "PATCH", key, body: { name }, headers: { "if-match": tag } });

  test("a change to what was read meanwhile is 412 and does nothing", async () => {
    const { etag } = (await profile()).headers as { etag: string };
    expect(await profile({ method: "PATCH", body: { phone: "+4915112345678" }, headers: { "if-match": etag } })).toMatchObject({ status: 200 });
    expect(await profile({ method: "PATCH", body: { phone: "" }, headers: { "if-match": etag } })).toMatchObject({
      status: 412,
      headers: { "x-error-code": "precondition_failed" },
    });
    expect((await profile()).json).toMatchObject({ data: { phone: "+4915112345678" } });
    expect(await profile({ method: "PATCH", body: {}, headers: { "if-match": "*" } })).toMatchObject({ status: 200 });
    expect(await profile({ method: "PATCH", body: {}, headers: { "if-match": "nonsense" } })).toMatchObject({ status: 412 });
  });

  test("a server's tag is the one of its own view, also for a member of the team", async () => {
    const { member, owner, server } = await castIn(world);
    const on = (person: Person, head = "") => `/api/v2${head}/servers/${server.id}/users/${person.uid}`;
    const tagFor = async (person: Person) => (await ask(world.url, on(person), { key: person.key })).headers.etag as string;
    const tag = await tagFor(member);
    expect(tag).toBe(await tagFor(owner));
    expect(await rename(on(member, "/name"), member.key, tag, "mine")).toMatchObject({ status: 200 });
    expect(await rename(on(owner, "/name"), owner.key, tag, "no, mine")).toMatchObject({ status: 412 });
  });

  test("of two at once with the same tag, one wins", async () => {
    const { sid } = await world.server(ada);
    const path = `/api/v2/name/servers/${sid}/users/${ada.uid}`;
    const { etag } = (await ask(world.url, `/api/v2/servers/${sid}/users/${ada.uid}`, { key: ada.key })).headers as { etag: string };
    const statuses = await Promise.all(["a", "b", "c", "d"].map(async (name) => (await rename(path, ada.key, etag, name)).status));
    expect(statuses.sort((a, b) => a - b)).toEqual([200, 412, 412, 412]);
  });
});

describe("other origins", () => {
  const origin = "https://app.example.com";
  const preflight = { origin, "access-control-request-method": "PATCH", "access-control-request-headers": "authorization" };

  test("get nothing unless they are configured", async () => {
    const { headers } = await profile({ headers: { origin } });
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect(await profile({ method: "OPTIONS", headers: preflight })).toMatchObject({
      status: 204,
      headers: expect.not.objectContaining({ "access-control-allow-origin": expect.anything() }),
    });
  });

  test("that are configured may ask, never with cookies; others may not", async () => {
    const open = await startWorld({ database_url: database.url, env: { STEAD_CORS_ORIGINS: `https://other.example.com,${origin}` } });
    const send = (path: string, from: string | undefined, options: Ask = {}) =>
      ask(open.url, `/api/v2${path}`, { ...options, headers: { ...preflight, ...options.headers, ...(from ? { origin: from } : {}) } });
    for (const [path, options] of [
      ["/plans", { method: "OPTIONS" }],
      ["/plans", { key: ada.key }],
      ["/plans", {}],
      ["/nothing", {}],
      [`/users/${ada.uid}/activity`, { key: ada.key, headers: { "accept-encoding": "br" } }],
    ] as const) {
      const { headers } = await send(path, origin, options);
      expect(headers, path).toMatchObject({
        "access-control-allow-origin": origin,
        "access-control-allow-headers": "Authorization, Content-Type, Idempotency-Key, If-None-Match, Prefer, X-Dry-Run, X-Request-Id",
        "access-control-allow-methods": expect.stringContaining("PATCH"),
        "access-control-expose-headers":
          "Deprecation, ETag, Link, Operation-Location, Operation-Status, RateLimit, RateLimit-Policy, Retry-After, Sunset, X-Error-Code, X-Request-Id",
        "access-control-max-age": "600",
        vary: expect.stringMatching(/\borigin\b/),
      });
      expect(headers).not.toHaveProperty("access-control-allow-credentials");
    }
    for (const from of ["https://evil.example.com", "https://app.example.com.evil.com", "http://app.example.com", "null", `${origin}/`]) {
      const { headers } = await send(`/users/${ada.uid}/activity`, from, { key: ada.key, headers: { "accept-encoding": "br" } });
      expect(headers).not.toHaveProperty("access-control-allow-origin");
      expect(headers.vary).toMatch(/origin/);
    }
    await open.stop();
  });
});
