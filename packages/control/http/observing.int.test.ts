/** What an operator sees: one line a request with nothing secret in it, metrics and health for those inside. */
import { randomUUIDv7 } from "node:crypto";
import { logFields } from "@stead/base/log.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { freePorts } from "@stead/testkit/process.ts";
import { ask } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processLog } from "../log.ts";

const database = testDatabase();
let world: World;
let ada: Person;
let inside: string;

beforeAll(async () => {
  const { internal } = await freePorts();
  inside = `http://127.0.0.1:${internal}`;
  world = await startWorld({ database_url: database.url, env: { STEAD_INTERNAL_BIND: `127.0.0.1:${internal}` } });
  ada = await world.person("ada");
});
afterAll(() => world.stop());

const lines = (request_id: string) => world.logged.filter((line) => line.request_id === request_id);

describe("the log", () => {
  test.each([
    ["users.get", "GET", "", 200, undefined, true],
    ["users.update", "PATCH", "", 400, "invalid_body", true],
    ["users.regenerate_api_key", "POST", "/regenerate/apikey", 401, "unauthenticated", false],
    ["none", "PUT", "", 405, "method_not_allowed", false],
    ["none", "GET", "/nothing", 404, "not_found", false],
  ] as const)("has one line for %s with %s: who, what, how it ended, how long", async (operation, method, tail, status, code, known) => {
    const id = randomUUIDv7();
    await ask(world.url, `/api/v2/users/${ada.uid}${tail}?secret=canary`, {
      method,
      ...(known ? { key: ada.key } : {}),
      headers: { "x-request-id": id, "user-agent": "canary" },
      ...(method === "PATCH" ? { body: "{" } : {}),
    });
    await expect
      .poll(() => lines(id))
      .toEqual([
        {
          level: "info",
          message: "request",
          operation,
          method,
          status,
          ...(code ? { code } : {}),
          duration_ms: expect.any(Number),
          ...(known ? { uid: ada.uuid } : {}),
          request_id: id,
          ip: "127.0.0.1",
        },
      ]);
  });

  test("names an accident by the request it happened to, and tells the caller nothing of it", async () => {
    const broken = await startWorld({
      database_url: database.url,
      extra: { areas: { servers: { reboot: () => Promise.reject(new Error("canary in the engine room")) } } },
    });
    const eve = await broken.person("eve");
    const { sid } = await broken.server(eve);
    const answer = await ask(broken.url, `/api/v2/reboot/servers/${sid}/users/${eve.uid}`, { key: eve.key, headers: { "x-request-id": "accident" } });
    expect(answer).toMatchObject({
      status: 500,
      text: '{"message":"Internal server error."}',
      headers: { "x-error-code": "internal", "cache-control": "no-store" },
    });
    expect(broken.logged.filter(({ request_id }) => request_id === "accident")).toMatchObject([
      { level: "error", message: "a request failed", error: expect.stringContaining("canary in the engine room"), stack: expect.any(String) },
      { level: "info", message: "request", status: 500, code: "internal" },
    ]);
    await broken.stop();
  });

  test("holds no password, key, token or cookie, and no field that is not on the list", async () => {
    const eve = await world.person("eve");
    const secrets = [eve.password, eve.key, "canary password", "canary query", "another good phrase"];
    const { body, headers } = await world.client().call("auth.login", { email: eve.email, password: eve.password });
    secrets.push((body as { data: { token: string } }).data.token, headers.getSetCookie()[0]?.split(/[=;]/)[1] as string);
    await world
      .client()
      .auth.login({ email: eve.email, password: "canary password" })
      .catch(() => {});
    await world
      .client()
      .auth.verify({ token: "canary password" })
      .catch(() => {});
    secrets.push((await eve.client.keys.create({ name: "deploy", scopes: ["sites:read"] })).api_key);
    await eve.client.users.change_password({ old_password: eve.password, new_password: "another good phrase" });
    secrets.push((await eve.client.users.regenerate_api_key()).api_key);
    await ask(world.url, `/api/v2/users/${eve.uid}?token=canary%20query`, { key: eve.key, headers: { cookie: "a=canary query", referer: "canary query" } });
    await expect.poll(() => world.logged.at(-1)?.operation).toBe("users.get");
    expect(secrets.filter((secret) => !secret || JSON.stringify(world.logged).includes(secret))).toEqual([]);
    const allowed: readonly string[] = ["level", "message", ...logFields];
    expect(world.logged.flatMap((line) => Object.keys(line)).filter((field) => !allowed.includes(field))).toEqual([]);
  });

  test("writes only the listed fields, whoever asks", () => {
    const written: string[] = [];
    const log = processLog({ write: (text: string) => void written.push(text) });
    log.warn("careful", { status: 1, password: "canary", headers: "canary" } as never);
    log.flush();
    expect(written.map((text) => JSON.parse(text) as object)).toEqual([{ level: "warn", time: expect.any(String), message: "careful", status: 1 }]);
  });
});

describe("for those inside", () => {
  test("health, readiness and metrics need no key and no TLS", async () => {
    expect(await ask(inside, "/healthz")).toMatchObject({ status: 200, text: "ok\n" });
    expect(await ask(inside, "/readyz")).toMatchObject({ status: 200, text: "ready\n" });
    await ask(world.url, "/api/v2/plans");
    const { status, text, headers } = await ask(inside, "/metrics");
    expect([status, headers["content-type"]]).toEqual([200, expect.stringContaining("text/plain")]);
    expect(text).toMatch(/^stead_requests_total\{operation="billing\.plans",status="401"\} [1-9]/m);
    expect(text).toMatch(/^stead_request_duration_seconds_bucket\{le="0\.05",operation="billing\.plans"\}/m);
    expect(text).toMatch(/^stead_database_connections \d/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
    expect(text).not.toContain(ada.uuid);
  });

  test("nothing else is there, and no method that changes", async () => {
    for (const path of ["/", "/api/v2/plans", "/metrics/x", "/healthz/"]) expect(await ask(inside, path)).toMatchObject({ status: 404 });
    for (const method of ["POST", "DELETE", "TRACE"]) expect(await ask(inside, "/healthz", { method })).toMatchObject({ status: 405 });
    expect(await ask(inside, "/healthz", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  });

  test("not ready without a database, but alive", async () => {
    const { internal } = await freePorts();
    const cut = await startWorld({ database_url: database.url, env: { STEAD_INTERNAL_BIND: `127.0.0.1:${internal}` } });
    await cut.running.deps.jobs.stop();
    await cut.db.destroy();
    expect(await ask(`http://127.0.0.1:${internal}`, "/readyz")).toMatchObject({ status: 503, text: "not ready\n" });
    expect(await ask(`http://127.0.0.1:${internal}`, "/healthz")).toMatchObject({ status: 200 });
    await cut.stop();
  });
});

describe("a boot that stops", () => {
  test.each([
    [
      "a handler that no operation describes",
      { areas: { users: { frobnicate: () => ({}) } } },
      "the handler users.frobnicate has no operation in the contract",
    ],
    ["an area that the contract does not know", { areas: { frobs: { list: () => ({}) } } }, "the handler frobs.list has no operation in the contract"],
    ["an operation whose handler is missing", { areas: { servers: { reboot: undefined } } }, "the operation servers.reboot has no handler"],
    [
      "a comparison with an operation that is not mounted",
      { areas: { servers: { rename: () => ({}) } } },
      "servers.rename compares with servers.get, which is not mounted",
    ],
    ["a grammar that nobody knows", { areas: { servers: { create: () => ({}) } } }, /unknown format/],
  ])("%s", async (_, extra, message) => {
    await expect(startWorld({ database_url: database.url, extra })).rejects.toThrow(message);
  });

  test("a route that has no operation, and so no policy", async () => {
    const { createEdge } = await import("./server.ts");
    const app = createEdge(world.running.deps, { areas: {}, formats: {}, observe: () => {}, onPlain: () => {} });
    expect(() => app.get("/backdoor", () => "welcome")).toThrow("the route /backdoor has no operation, and so no policy");
  });
});
