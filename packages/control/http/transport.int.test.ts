/** HTTPS only (decisions 2.1.1), in both modes: what came in clear is refused the same way whoever asks, and a key that it carried is told of. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { type LocalIdentity, loadOrCreate } from "@stead/testkit/ca.ts";
import { makeKey } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { freePorts } from "@stead/testkit/process.ts";
import { startSmtp } from "@stead/testkit/smtp.ts";
import { type Ask, ask, speak, type Told } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { smtpMail } from "../outside/mail.ts";

const database = testDatabase();
const direct = { STEAD_INSECURE_HTTP: "", STEAD_TLS: "direct" };
const proxied = (trusted: string) => ({ STEAD_INSECURE_HTTP: "", STEAD_TLS: "proxy", STEAD_TRUST_PROXY: trusted });
const refusal = {
  status: 403,
  text: '{"message":"HTTPS is required. Plain HTTP requests are rejected."}',
  headers: {
    connection: "close",
    "x-error-code": "https_required",
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  },
};
const hsts = { "strict-transport-security": "max-age=31536000" };

const bare = ({ status, text, headers: { date, "x-request-id": id, ...headers } }: Told) => ({
  status,
  text,
  headers,
  dated: date !== undefined,
  named: id !== undefined,
});

describe("with the certificate in the process", () => {
  let dir: string;
  let identity: LocalIdentity;
  let world: World;
  let ada: Person;
  let plain: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "stead-tls-"));
    identity = await loadOrCreate(dir);
    const { api } = await freePorts();
    plain = `http://127.0.0.1:${api}`;
    const env = { ...direct, STEAD_TLS_CERT: join(dir, "localhost.pem"), STEAD_TLS_KEY: join(dir, "localhost-key.pem"), STEAD_HTTP_BIND: `127.0.0.1:${api}` };
    world = await startWorld({ database_url: database.url, env });
    ada = await world.person("ada");
  });
  afterAll(async () => {
    await world.stop();
    await rm(dir, { recursive: true });
  });

  test("a client that trusts the authority is served, with HSTS on every answer", async () => {
    expect(await ask(world.url, `/api/v2/users/${ada.uid}`, { key: ada.key, ca: identity.ca })).toMatchObject({ status: 200, headers: hsts });
    for (const path of ["/api/v2/nothing", "/api/v2/plans", "/api/v2/%zz", `/${"x".repeat(9000)}`])
      expect((await ask(world.url, path, { ca: identity.ca })).headers, path).toMatchObject(hsts);
    await expect(ask(world.url, "/api/v2/ext/version")).rejects.toThrow(/certificate/);
  });

  test.each([
    ["TLSv1.3", true],
    ["TLSv1.2", true],
    ["TLSv1.1", false],
  ] as const)("%s is spoken: %s", async (version, spoken) => {
    const { hostname, port } = new URL(world.url);
    const socket = connectTls({
      host: hostname,
      port: Number(port),
      ca: identity.ca,
      minVersion: version,
      maxVersion: version,
      ciphers: "DEFAULT:@SECLEVEL=0",
    });
    const outcome = await new Promise((resolve) => socket.once("secureConnect", () => resolve(socket.getProtocol())).once("error", () => resolve(null)));
    socket.destroy();
    expect(outcome).toBe(spoken ? version : null);
  });

  test("plain HTTP on the TLS port gets nothing", async () => {
    expect(await speak(world.url, "GET /api/v2/ext/version HTTP/1.1\r\nhost: x\r\n\r\n")).not.toContain("200");
  });

  test("the plain port refuses the API, and tells it to nobody apart", async () => {
    const requests: [string, Ask][] = [
      ["/api/v2/plans", { key: ada.key }],
      ["/api/v2/plans", {}],
      ["/api/v2/nothing", { method: "POST", body: "{" }],
      ["/api/v2//plans?x=1", { method: "DELETE" }],
      ["/api", {}],
      ["/api?x", { method: "OPTIONS" }],
      ["//api/v2/plans", { key: ada.key }],
    ];
    const answers = await Promise.all(requests.map(async ([path, options]) => bare(await ask(plain, path, options))));
    expect(answers[0]).toMatchObject(refusal);
    expect(answers[0]?.headers).not.toHaveProperty("location");
    expect(answers[0]?.headers).not.toHaveProperty("strict-transport-security");
    for (const [index, answer] of answers.entries()) expect(answer, requests[index]?.[0]).toEqual(answers[0]);
  });

  test.each([
    ["/", "https://stead.test/"],
    ["/docs/x?y=1", "https://stead.test/docs/x?y=1"],
    ["//evil.example/x", "https://stead.test/evil.example/x"],
    ["/\\evil.example", "https://stead.test/evil.example"],
    ["http://evil.example/x", "https://stead.test/http://evil.example/x"],
    ["/apiary", "https://stead.test/apiary"],
  ])("the plain port sends %s to HTTPS on our own name", async (path, location) => {
    const { status, headers } = await ask(plain, path);
    expect([status, headers.location]).toEqual([308, location]);
    expect(new URL(headers.location as string).host).toBe("stead.test");
  });
});

describe("behind a proxy", () => {
  let world: World;
  let ada: Person;
  beforeAll(async () => {
    world = await startWorld({ database_url: database.url, env: proxied("127.0.0.1,10.0.0.0/8") });
    ada = await world.person("ada");
  });
  afterAll(() => world.stop());

  test.each([
    [{ "x-forwarded-proto": "https" }],
    [{ "x-forwarded-proto": "HTTPS" }],
    [{ "x-forwarded-proto": "http, https" }],
    [{ "x-forwarded-proto": ["http", "https"] }],
    [{ forwarded: "for=192.0.2.60;proto=https;by=203.0.113.43" }],
    [{ forwarded: 'for=192.0.2.60; proto="https"' }],
    [{ forwarded: "proto=http, For=192.0.2.60; Proto=HTTPS" }],
    [{ forwarded: ["proto=http", "proto=https"] }],
  ])("%o from the proxy is HTTPS", async (headers) => {
    expect(await ask(world.url, "/api/v2/plans", { key: ada.key, headers })).toMatchObject({ status: 200, headers: hsts });
  });

  test.each([
    [{}],
    [{ "x-forwarded-proto": "http" }],
    [{ "x-forwarded-proto": "https, http" }],
    [{ "x-forwarded-proto": ["https", "http"] }],
    [{ "x-forwarded-proto": "https,,http" }],
    [{ "x-forwarded-proto": "httpsx" }],
    [{ "x-forwarded-proto": "http", forwarded: "proto=https" }],
    [{ forwarded: "proto=https, for=192.0.2.60" }],
    [{ forwarded: "for=192.0.2.60;xproto=https" }],
    [{ forwarded: "proto=http;for=proto=https" }],
    [{ "x-forwarded-ssl": "on", "front-end-https": "on", "x-forwarded-scheme": "https" }],
  ])("%o is not", async (headers) => {
    const answer = await ask(world.url, "/api/v2/plans", { key: ada.key, headers });
    expect(answer).toMatchObject(refusal);
    expect(bare(await ask(world.url, "/api/v2/nothing", { method: "PUT", headers }))).toEqual(bare(answer));
  });

  test("nothing that an untrusted peer says counts", async () => {
    const other = await startWorld({ database_url: database.url, env: proxied("10.0.0.0/8,::1") });
    for (const headers of [{ "x-forwarded-proto": "https" }, { forwarded: "proto=https" }, { "x-forwarded-proto": "https", "x-forwarded-for": "10.0.0.1" }]) {
      expect(await ask(other.url, "/api/v2/plans", { key: ada.key, headers })).toMatchObject(refusal);
    }
    await other.stop();
  });

  test("the client's address is the right-most one that is not a proxy", async () => {
    const { key } = await makeKey(world, ada, { scopes: ["account:read"], cidrs: ["192.0.2.0/24"] });
    const from = async (hops: string | string[]) =>
      (await ask(world.url, "/api/v2/plans", { key, headers: { "x-forwarded-proto": "https", "x-forwarded-for": hops } })).status;
    expect(await from("192.0.2.7")).toBe(200);
    expect(await from("198.51.100.1, 192.0.2.7, 10.1.2.3")).toBe(200);
    expect(await from(["198.51.100.1", "192.0.2.7"])).toBe(200);
    expect(await from("::ffff:192.0.2.7")).toBe(200);
    expect(await from("192.0.2.7, 198.51.100.1")).toBe(403);
    expect(await from("192.0.2.7, garbage")).toBe(403);
    expect(await from("")).toBe(403);
    // A zone index is no part of an address that others could know.
    expect(await from("fe80::1%eth0")).toBe(403);
  });
});

describe("a key that was sent in clear", () => {
  test("is noted and told of once, and goes on working", async () => {
    const smtp = await startSmtp();
    const mail = smtpMail({ url: smtp.url, from: "stead@stead.test" });
    const world = await startWorld({ database_url: database.url, env: proxied("127.0.0.1"), mail });
    const eve = await world.person("eve");
    for (let i = 0; i < 3; i++) expect(await ask(world.url, "/api/v2/plans", { key: eve.key })).toMatchObject(refusal);
    const letter = await smtp.waitFor(({ to }) => to.includes(eve.email));
    expect(letter.text).toContain(eve.key.slice(-4));
    expect(letter.raw).not.toContain(eve.key);
    const exposed = await world.db.selectFrom("credentials").select(["key_id", "exposed_at"]).where("uid", "=", eve.uuid).executeTakeFirstOrThrow();
    expect(exposed.exposed_at).toBeInstanceOf(Date);
    expect(await ask(world.url, `/api/v2/users/${eve.uid}/activity`, { key: eve.key, headers: { "x-forwarded-proto": "https" } })).toMatchObject({
      status: 200,
      json: { total: 1, data: [{ action: "user.api_key_exposed" }] },
    });
    expect(world.logged.filter(({ key_id }) => key_id === exposed.key_id)).toMatchObject([{ uid: eve.uuid }]);
    expect(smtp.messages.filter(({ to }) => to.includes(eve.email))).toHaveLength(1);
    await world.stop();
    mail.close();
    await smtp.stop();
  });

  test("is revoked where that is configured", async () => {
    const world = await startWorld({ database_url: database.url, env: { ...proxied("127.0.0.1"), STEAD_REVOKE_EXPOSED_KEYS: "true" } });
    const eve = await world.person("eve");
    await ask(world.url, "/api/v2/plans", { key: eve.key });
    await expect.poll(async () => (await ask(world.url, "/api/v2/plans", { key: eve.key, headers: { "x-forwarded-proto": "https" } })).status).toBe(401);
    await world.stop();
  });

  test("that nobody has leaves no trace", async () => {
    const world = await startWorld({ database_url: database.url, env: proxied("127.0.0.1") });
    for (const key of ["nonsense", `stead_${"0".repeat(46)}`]) expect(await ask(world.url, "/api/v2/plans", { key })).toMatchObject(refusal);
    expect(world.logged.filter(({ level }) => level !== "info")).toEqual([]);
    await world.stop();
  });
});
