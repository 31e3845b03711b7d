/**
 * The `transport` rows of hostile-inputs.json, and what only bytes on a socket can say: line breaks and NULs inside
 * headers, bodies with two lengths, requests inside requests. One request gets one answer, and it is one of ours.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { everyOperation } from "@stead/contract/index.ts";
import { type Answer, answersIn, readable } from "@stead/testkit/answers.ts";
import { addressOf, mounted } from "@stead/testkit/calls.ts";
import { type Cast, castIn } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { digestOf } from "@stead/testkit/digest.ts";
import { judgeMessage, openJudge } from "@stead/testkit/judge.ts";
import { type Ask, ask, speak } from "@stead/testkit/wire.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
const { judge } = openJudge();
let world: World;
let cast: Cast;
let profile: string;
let sent = 0;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  await world.running.deps.jobs.stop();
  cast = await castIn(world);
  profile = `/api/v2/users/${cast.owner.uid}`;
});
afterAll(async () => {
  await world.stop();
  process.stdout.write(`hostile transport: ${sent} requests\n`);
});

async function send(path: string, request: Ask = {}): Promise<Answer> {
  sent++;
  return readable(await ask(world.url, path, request));
}
const sendOwn = (path: string, request: Ask = {}) => send(path, { key: cast.owner.key, ...request });

/** Lines of a request as bytes; the connection ends with it. */
async function say(lines: readonly string[], body = ""): Promise<Answer[]> {
  sent++;
  return answersIn(await speak(world.url, Buffer.from([...lines, "connection: close", "", body].join("\r\n"), "latin1")));
}
const credential = () => `authorization: Bearer ${cast.owner.key}`;

async function expectRefusal(answer: Answer | undefined, status: number): Promise<void> {
  expect(answer && judgeMessage(answer)).toEqual([]);
  expect(answer?.status).toBe(status);
}

describe("methods", () => {
  const tried = ["HEAD", "OPTIONS", "GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "QUERY", "LOCK", "PURGE", "SEARCH"];

  test("an undeclared method reaches no handler, with whatever body, key or override", async () => {
    const paths = Map.groupBy(mounted, ({ op }) => op.path);
    const before = await digestOf(world.db);
    for (const [path, operations] of paths) {
      const methodsOf = (some: readonly (typeof mounted)[number][]) => some.flatMap(({ op }) => (op.method === "GET" ? ["GET", "HEAD"] : [op.method]));
      const declared = new Set(methodsOf(operations));
      // `/ext/pending/outgoing` also is `/ext/pending/{pending_id}`, for the methods that only the second has.
      const elsewhere = methodsOf(mounted.filter(({ op }) => new RegExp(`^${op.path.replace(/\{\w+\}/g, "[^/]+")}$`).test(path)));
      const allow = [...declared, "OPTIONS"].sort();
      const address = addressOf({ ...(operations[0] as (typeof operations)[0]).op, path }, cast.owner.uid, {
        tid: cast.team.id,
        sid: cast.server.id,
        member_uid: cast.member.uid,
        key_id: "ak_x",
        pending_id: "pnd_x",
      });
      for (const method of tried.filter((each) => !elsewhere.includes(each))) {
        for (const request of [
          {},
          { body: "<x/>", headers: { "content-type": "text/xml", "x-http-method-override": "DELETE" } },
          { key: cast.owner.key, body: {} },
        ]) {
          const answer = await send(address, { method, ...request });
          expect(answer.headers.allow?.split(", ").sort(), `${method} ${path}`).toEqual(allow);
          expect(answer.status, `${method} ${path}`).toBe(method === "OPTIONS" ? 204 : 405);
          if (method !== "OPTIONS" && method !== "HEAD") expect(judgeMessage(answer)).toEqual([]);
        }
      }
    }
    expect(await digestOf(world.db)).toEqual(before);
  });

  test("what is in the contract and not mounted is not there", async () => {
    const names = new Set(mounted.map(({ name }) => name));
    const open = new Set(mounted.map(({ op }) => op.path));
    for (const { op } of everyOperation.filter(({ name, op }) => !names.has(name) && !open.has(op.path))) {
      for (const method of [op.method, "HEAD", "OPTIONS", "TRACE"]) {
        const answer = await sendOwn(addressOf(op, cast.owner.uid), { method, headers: { "if-none-match": "*", "sec-purpose": "prefetch" } });
        expect(answer.status, `${method} ${op.path}`).toBe(404);
        if (method !== "HEAD") expect(judgeMessage(answer)).toEqual([]);
      }
    }
  });

  test("an override header is ignored", async () => {
    for (const header of ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]) {
      const answer = await sendOwn(profile, { headers: { [header]: "DELETE" } });
      expect(answer.status).toBe(200);
    }
    expect((await sendOwn(`${profile}?_method=DELETE`)).status).toBe(200);
  });
});

describe("bodies", () => {
  const patch = (request: Ask) => sendOwn(profile, { method: "PATCH", ...request });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "application/jsonp",
    "text/json",
    "application/json, text/plain",
    "",
  ])("JSON as %s is refused", async (type) => {
    await expectRefusal(await patch({ headers: { "content-type": type }, body: '{"first_name":"x"}' }), 400);
  });

  test("of doubled keys the last one counts", async () => {
    expect(
      JSON.parse((await patch({ headers: { "content-type": "application/json" }, body: '{"first_name":"a","first_name":"b"}' })).text).data.first_name,
    ).toBe("b");
  });

  test.each(['{"__proto__":{"first_name":"x"}}', '{"constructor":{"prototype":{"x":1}}}', '{"a":{"__proto__":1}}', '{"\\u005f_proto__":1}'])(
    "%s is refused, and no prototype is touched",
    async (body) => {
      await expectRefusal(await patch({ headers: { "content-type": "application/json" }, body }), 400);
      expect(({} as { x?: unknown; first_name?: unknown }).x).toBeUndefined();
    },
  );

  test.each(['{"constructor":null}', '{"constructor":1}', '{"prototype":{}}', '{"toString":1,"hasOwnProperty":2}', '{"":1}', '{"a b\\n":1}'])(
    "%s is an unknown field and nothing more",
    async (body) => {
      const answer = await patch({ headers: { "content-type": "application/json" }, body });
      expect(answer.status).toBe(200);
      expect(answer.headers["x-ignored-fields"]).toMatch(/^[\w%]*(, [\w%]+)*$/);
      await expectRefusal(await patch({ headers: { "content-type": "application/json", prefer: "handling=strict" }, body }), 400);
    },
  );

  test("10,000 levels are refused in a field that counts and skipped in one that does not", async () => {
    const deep = (open: string, close: string) => open.repeat(10_000) + close.repeat(10_000);
    for (const value of [deep("[", "]"), deep('{"a":', "}").replace("{}", "{}").replace(/:\}/, ":1}")]) {
      await expectRefusal(await patch({ headers: { "content-type": "application/json" }, body: `{"first_name":${value}}` }), 400);
      expect((await patch({ headers: { "content-type": "application/json" }, body: `{"other":${value}}` })).status).toBe(200);
    }
  });

  test.each(["[]", '"x"', "null", "1", "true", "{", "{}{}", "{'a':1}", '{"a":1,}', "nul", " ", "\u0000"])("%j is not a body", async (body) => {
    await expectRefusal(await patch({ headers: { "content-type": "application/json" }, body }), 400);
  });

  test("a body that is not UTF-8 is refused", async () => {
    for (const bytes of [
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from('{"first_name":"ü"}', "utf16le"),
      Buffer.from('{"first_name":"\xed\xa0\x80"}', "latin1"),
    ]) {
      await expectRefusal(await patch({ headers: { "content-type": "application/json" }, body: bytes }), 400);
    }
  });

  test("a compressed body is refused before it is unpacked", async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 2 ** 20));
    for (const coding of ["gzip", "br", "deflate", "identity, gzip"])
      await expectRefusal(await patch({ headers: { "content-type": "application/json", "content-encoding": coding }, body: bomb.subarray(0, 100_000) }), 400);
  });

  test("too long a body is refused by its length, and while it comes", async () => {
    const [declared] = await say([`PATCH ${profile} HTTP/1.1`, "host: x", credential(), "content-type: application/json", "content-length: 99999999999"]);
    await expectRefusal(declared, 400);
    const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`;
    const [streamed] = await say(
      [`PATCH ${profile} HTTP/1.1`, "host: x", credential(), "content-type: application/json", "transfer-encoding: chunked"],
      `${chunk.repeat(5)}0\r\n\r\n`,
    );
    await expectRefusal(streamed, 400);
    expect(streamed?.headers["x-error-code"]).toBe("body_too_large");
  });
});

describe("credentials", () => {
  test("only one Authorization header with one bearer token counts", async () => {
    const { key } = cast.owner;
    const statuses = async (...values: string[]) => (await send(profile, { headers: { authorization: values } })).status;
    expect(await statuses(`bearer ${key}`)).toBe(200);
    expect(await statuses(`BEARER   ${key}`)).toBe(200);
    for (const bad of [
      `Bearer\t${key}`,
      `Bearer ${key} x`,
      `Bearer ${key},`,
      `Basic ${Buffer.from(`${key}:`).toString("base64")}`,
      key,
      `Bearer "${key}"`,
      `Bearer ${key.toUpperCase()}`,
      `Bearer ${key}\u00a0`,
      "Bearer",
      "Bearer null",
    ])
      expect(await statuses(bad), bad).toBe(401);
    expect(await statuses(`Bearer ${key}`, `Bearer ${key}`)).toBe(401);
  });

  test("a key in the query, a cookie, the body or another header is none", async () => {
    const { key } = cast.owner;
    for (const query of [`api_key=${key}`, `access_token=${key}`, `authorization=Bearer%20${key}`]) await expectRefusal(await send(`${profile}?${query}`), 401);
    for (const name of ["Cookie", "X-Api-Key", "X-Auth-Token", "Proxy-Authorization"])
      await expectRefusal(await send(profile, { headers: { [name]: name === "Cookie" ? `token=${key}; Authorization=Bearer ${key}` : `Bearer ${key}` } }), 401);
    await expectRefusal(await send(profile, { method: "PATCH", body: { api_key: key, authorization: `Bearer ${key}` } }), 401);
  });
});

describe("paths", () => {
  test("only the path itself, with one slash more at most, is the path", async () => {
    expect((await sendOwn(`${profile}/`)).status).toBe(200);
    const { uid } = cast.owner;
    const bad = [
      `/api/v2//users/${uid}`,
      `//api/v2/users/${uid}`,
      `/api/v2/./users/${uid}`,
      `/api/v2/x/../users/${uid}`,
      `/api/v2/users%2f${uid}`,
      `/api/v2/Users/${uid}`,
      `/API/v2/users/${uid}`,
      `${profile}//`,
      `/api/v2/users/${uid}/%2e%2e/${uid}/activity`,
      "/",
      "/api",
      "/api/v2",
      "/api/v2/",
      `/api/v3/users/${uid}`,
      "/.env",
      "/api/v2/%",
      "/api/v2/users/%c0%ae",
      `/api\\v2\\users\\${uid}`,
    ];
    for (const path of bad) await expectRefusal(await sendOwn(path), 404);
    for (const path of [`${profile};x=1`, `${profile};x=1/pending`, `${profile}%20`, `${profile}%00`, `/api/v2/users/%2e%2e`, `${profile}%2f..%2f${uid}`])
      await expectRefusal(await sendOwn(path), 403);
  });

  test("too long a path or head is refused in our own words", async () => {
    await expectRefusal(await sendOwn(`${profile}?${"a".repeat(8200)}`), 414);
    await expectRefusal(await sendOwn(profile, { headers: { x: "a".repeat(17_000) } }), 431);
  });

  test("the host of another site changes nothing", async () => {
    for (const host of ["evil.example", "127.0.0.1:1", "stead.test@evil.example", "", "a b"]) {
      const answer = await sendOwn(`${profile}/activity`, { headers: { host } });
      expect(answer.status).toBe(200);
      expect(answer.headers.link).toContain("<https://stead.test/api/v2/users/");
      expect(answer.headers.link).not.toContain("evil");
    }
  });
});

describe("bytes", () => {
  const names = [
    "Authorization",
    "Idempotency-Key",
    "X-Request-Id",
    "Prefer",
    "X-Dry-Run",
    "If-Match",
    "If-None-Match",
    "User-Agent",
    "Accept",
    "Accept-Encoding",
    "Cookie",
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "Content-Type",
    "Content-Length",
    "Host",
    "Origin",
  ];

  test.each(names)("a control character in %s is refused once", async (name) => {
    for (const value of ["a\rb", "a\nb: c", "a\r\n b", "a\u0000b", "\u0000", "a\u0001b", "a\u007fb", "a\r"]) {
      const answers = await say([`GET ${profile} HTTP/1.1`, "host: x", credential(), `${name}: ${value}`]);
      expect(answers, JSON.stringify(value)).toHaveLength(1);
      await expectRefusal(answers[0], 400);
    }
  });

  test("a line break in a value is the end of it, and what follows has no effect here", async () => {
    const [answer, ...more] = await say([`GET ${profile} HTTP/1.1`, "host: x", credential(), "x-request-id: abc\r\nX-Error-Code: injected\r\nSet-Cookie: a=b"]);
    expect(more).toEqual([]);
    expect(answer && judge("users.get", answer)).toEqual([]);
    expect(answer?.headers).toMatchObject({ "x-request-id": "abc" });
    expect(answer?.headers).not.toHaveProperty("set-cookie");
  });

  const head = (...lines: string[]) => ["host: x", credential(), "content-type: application/json", ...lines];
  test.each([
    ["two lengths", () => head("content-length: 2", "content-length: 3"), "{}"],
    ["a length and chunks", () => head("content-length: 2", "transfer-encoding: chunked"), "0\r\n\r\n"],
    ["chunks twice removed", () => head("transfer-encoding: chunked", "transfer-encoding: identity"), "0\r\n\r\n"],
    ["a hidden transfer coding", () => head("transfer-encoding : chunked"), "0\r\n\r\n"],
    ["a negative length", () => head("content-length: -1"), ""],
    ["a length with a sign", () => head("content-length: +2"), "{}"],
    ["a broken chunk", () => head("transfer-encoding: chunked"), "zz\r\n{}\r\n0\r\n\r\n"],
    ["a blank in a name", () => head("x y: z"), ""],
  ] as const)("%s is not HTTP", async (_, lines, body) => {
    const answers = await say([`PATCH ${profile} HTTP/1.1`, ...lines()], `${body}GET ${profile} HTTP/1.1\r\nhost: y\r\n\r\n`);
    expect(answers).toHaveLength(1);
    await expectRefusal(answers[0], 400);
  });

  test("what is no request at all gets {message} and a closed connection", async () => {
    for (const words of [
      "hello\r\n\r\n",
      "GET\r\n\r\n",
      "\u0016\u0003\u0001\u0002\u0000\u0001\u0000",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      `GET ${profile} HTTP/9.9\r\n\r\n`,
      `FOO ${profile} HTTP/1.1\r\n\r\n`,
      `GET /\u00ff HTTP/1.1\r\nhost: x\r\n\r\n`,
    ]) {
      sent++;
      const answers = answersIn(await speak(world.url, Buffer.from(words, "latin1")));
      expect(answers, words).toHaveLength(1);
      await expectRefusal(answers[0], 400);
    }
  });

  test("no Host, a strange Expect, an upgrade and an absolute address are answered in our own form", async () => {
    await expectRefusal((await say([`GET ${profile} HTTP/1.1`, credential()]))[0], 400);
    expect((await say([`GET ${profile} HTTP/1.1`, "host: x", credential(), "expect: the-unexpected"]))[0]?.status).toBe(200);
    expect((await say([`GET ${profile} HTTP/1.1`, "host: x", credential(), "upgrade: h2c"]))[0]?.status).toBe(200);
    expect((await say([`GET ${profile} HTTP/1.0`, credential()]))[0]?.status).toBe(200);
    await expectRefusal((await say([`GET http://evil.example${profile} HTTP/1.1`, "host: x", credential()]))[0], 404);
    await expectRefusal((await say(["OPTIONS * HTTP/1.1", "host: x"]))[0], 404);
  });

  test("whoever hangs up in the middle of a body is no accident of ours", async () => {
    sent++;
    const { hostname, port } = new URL(world.url);
    const socket = connect(Number(port), hostname);
    const listening = world.running.app.server;
    const reached = once(listening, "request");
    socket.write(`PATCH ${profile} HTTP/1.1\r\nhost: x\r\n${credential()}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{}`);
    const [request] = (await reached) as [IncomingMessage];
    await sleep(100);
    socket.destroy();
    await new Promise((resolve) => request.once("close", resolve));
    await sleep(100);
    expect(world.logged.filter(({ level }) => level !== "info")).toEqual([]);
  });
});

test("over plain HTTP nobody gets anything but the refusal, whatever they forward", async () => {
  const proxied = await startWorld({ database_url: database.url, env: { STEAD_INSECURE_HTTP: "", STEAD_TLS: "proxy", STEAD_TRUST_PROXY: "127.0.0.1" } });
  try {
    const forwarded = [
      {},
      { "x-forwarded-proto": "http" },
      { "x-forwarded-proto": "https, http" },
      { "x-forwarded-proto": "" },
      { forwarded: "proto=http" },
      { forwarded: "proto=https, proto=http" },
      { "x-forwarded-ssl": "on" },
      { "front-end-https": "on" },
      { "x-url-scheme": "https" },
    ];
    for (const headers of forwarded as Record<string, string>[]) {
      for (const path of [profile, "/", "/api/v2/nothing", "/api/v2//"]) {
        sent++;
        const answer = readable(await ask(proxied.url, path, { key: cast.owner.key, headers }));
        await expectRefusal(answer, 403);
        expect(answer.headers).toMatchObject({ "x-error-code": "https_required", connection: "close" });
      }
    }
    sent++;
    expect((await ask(proxied.url, profile, { key: cast.owner.key, headers: { "x-forwarded-proto": "https" } })).status).toBe(200);
  } finally {
    await proxied.stop();
  }
});

test("no accident was logged, and no line holds a line break or a key", () => {
  expect(world.logged.filter(({ level }) => level !== "info")).toEqual([]);
  const told = world.logged.flatMap((line) => Object.values(line)).filter((value) => typeof value === "string");
  expect(told.filter((text) => /\p{Cc}/u.test(text) || text.includes("injected") || /steads?_/.test(text))).toEqual([]);
});
