/** What a body may be (decisions 2.1.3). What is hostile about bodies is tried in hostile-*.int.test.ts; these are the promises. */
import { testDatabase } from "@stead/testkit/database.ts";
import { type Ask, ask, type Told } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let ada: Person;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  ada = await world.person("ada");
});
afterAll(() => world.stop());

const json = { "content-type": "application/json" };
const update = (body: unknown, headers: Ask["headers"] = {}) => ask(world.url, `/api/v2/users/${ada.uid}`, { method: "PATCH", key: ada.key, body, headers });
const createTeam = (options: Ask) => ask(world.url, `/api/v2/teams/users/${ada.uid}`, { method: "POST", key: ada.key, ...options });
const refusal = ({ status, headers, json: { message } }: Omit<Told, "json"> & { json: { message: string } }) => [status, headers["x-error-code"], message];
const refused = async (answer: Promise<Told>) => refusal((await answer) as never);

describe("types", () => {
  test.each(["application/json", "application/json; charset=utf-8", 'APPLICATION/JSON;Charset="UTF-8"', "application/json;"])("%s is taken", async (type) => {
    expect(await update('{"first_name":"Ada"}', { "content-type": type })).toMatchObject({ status: 200 });
  });

  test.each(["text/plain", "application/json; charset=latin1", "application/problem+json", "application/x-www-form-urlencoded", "json", "*/*"])(
    "%s is 400, not 415",
    async (type) => {
      expect(await refused(update('{"first_name":"Eve"}', { "content-type": type }))).toEqual([
        400,
        "invalid_body",
        "Send the body as `Content-Type: application/json`.",
      ]);
    },
  );

  test("a body without a type is 400", async () => {
    expect(await refused(update('{"first_name":"Eve"}'))).toEqual([400, "invalid_body", "Send the body as `Content-Type: application/json`."]);
  });

  test.each(["gzip", "br", "deflate", "gzip, br"])("Content-Encoding: %s is 400", async (coding) => {
    expect(await refused(update('{"first_name":"Eve"}', { ...json, "content-encoding": coding }))).toEqual([
      400,
      "invalid_body",
      "Compressed request bodies are not supported.",
    ]);
  });
});

describe("no body", () => {
  test.each([{}, json, { "content-type": "text/plain" }, { ...json, "content-length": "0" }, { ...json, "transfer-encoding": "chunked" }])(
    "is fine where none is needed, with %o",
    async (headers) => {
      expect(
        await ask(world.url, `/api/v2/users/${ada.uid}/regenerate/apikey`, { method: "POST", key: ada.key, headers: { ...headers, "x-dry-run": "true" } }),
      ).toMatchObject({ status: 200 });
      expect(await ask(world.url, `/api/v2/users/${ada.uid}`, { method: "DELETE", key: ada.key, headers: { ...headers, "x-dry-run": "true" } })).toMatchObject({
        status: 200,
      });
      expect(await ask(world.url, `/api/v2/users/${ada.uid}`, { key: ada.key, headers })).toMatchObject({ status: 200 });
    },
  );

  test("is 400 where one is needed, and fine where all of it may be left out", async () => {
    expect(await refused(createTeam({}))).toEqual([400, "invalid_body", "A JSON body is required."]);
    expect(await refused(createTeam({ headers: json }))).toEqual([400, "invalid_body", "A JSON body is required."]);
    expect(await refused(createTeam({ body: {} }))).toEqual([400, "validation_failed", "`name` is required."]);
    expect(await update(undefined)).toMatchObject({ status: 200 });
  });

  test("a body that is not needed must still be JSON, and is otherwise not looked at", async () => {
    const send = (body: string) =>
      ask(world.url, `/api/v2/users/${ada.uid}`, { method: "DELETE", key: ada.key, body, headers: { ...json, "x-dry-run": "true" } });
    expect(await refused(send("{"))).toEqual([400, "invalid_json", "Request body is not valid JSON."]);
    for (const body of ["{}", '{"a":1}', "[]", "null", '"x"']) expect(await send(body), body).toMatchObject({ status: 200 });
  });
});

describe("what is in it", () => {
  test.each(["[]", "null", '"x"', "5", "true", '[{"first_name":"x"}]'])("%s is not an object", async (body) => {
    expect(await refused(update(body, json))).toEqual([400, "invalid_body", "The request body must be a JSON object."]);
  });

  test.each(
    [
      "{",
      "",
      "{'a':1}",
      '{"a":1}x',
      "undefined",
      '{"first_name":"\\ud8"}',
      "\ufeff{",
      '{"__proto__":{"first_name":"x"}}',
      '{"x":{"constructor":{"prototype":{}}}}',
    ].filter(Boolean),
  )("%j is not JSON that is taken", async (body) => {
    expect(await refused(update(body, json))).toEqual([400, "invalid_json", "Request body is not valid JSON."]);
  });

  test("bytes that are not UTF-8 are not JSON", async () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
      const body = Buffer.concat([Buffer.from('{"first_name":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(await refused(update(body, json))).toEqual([400, "invalid_json", "Request body is not valid JSON."]);
    }
  });

  test.each([5, true, null, ["Ada"], { a: 1 }])("no type is bent to fit: %j is not a name", async (first_name) => {
    expect(await refused(update({ first_name }))).toEqual([400, "validation_failed", "`first_name` must be at most 100 characters."]);
  });

  test.each(["a\u0000b", "a\u0007b", "a\nb", "a\rb", "a\tb", "a\u007fb", "\u001b[31m"])("the control character in %j is refused", async (first_name) => {
    expect(await refused(update({ first_name }))).toEqual([400, "validation_failed", "`first_name` must not contain control characters."]);
  });

  test.each(["\\ud800", "\\udc00", "a\\ud83d", "\\udc00\\ud800"])("half a character, %s, is refused", async (text) => {
    expect(await refused(update(`{"first_name":"${text}"}`, json))).toEqual([400, "validation_failed", "`first_name` must be valid Unicode text."]);
  });

  test("names are trimmed and put in one form", async () => {
    expect((await update({ first_name: "  Zoe\u0308 \u3000" })).json).toMatchObject({ data: { first_name: "Zoë" } });
    expect((await update({ first_name: "👩‍👩‍👧 Ω" })).json).toMatchObject({ data: { first_name: "👩‍👩‍👧 Ω" } });
  });

  test("of two fields with one name the last counts", async () => {
    expect((await update('{"first_name":"Eve","first_name":"Ada"}', json)).json).toMatchObject({ data: { first_name: "Ada" } });
  });

  test("too deep is refused in a field that counts", async () => {
    expect(await refused(update(`{"first_name":${"[".repeat(30)}${"]".repeat(30)}}`, json))).toEqual([
      400,
      "validation_failed",
      "The request body is nested too deeply.",
    ]);
  });

  test("at most five problems are told, joined by a space", async () => {
    const [, , message] = await refused(update({ first_name: 1, last_name: 2, phone: 3 }));
    expect(String(message).match(/`\w+`/g)).toEqual(["`first_name`", "`last_name`", "`phone`"]);
    const many = await refused(
      ask(world.url, `/api/v2/ext/apikeys/users/${ada.uid}`, {
        method: "POST",
        key: ada.key,
        body: { name: 1, scopes: Array(9).fill("x"), expires_at: 1, sids: 1, cidrs: 1 },
      }),
    );
    expect(String(many[2]).match(/\. `|^`/g)).toHaveLength(5);
  });
});

describe("fields that nobody knows", () => {
  test("are ignored and named", async () => {
    const answer = await update({ first_name: "Ada", frist_name: "Eve", "a,b": 1, "ü\n": 2, email: "x" });
    expect(answer).toMatchObject({ status: 200, headers: { "x-ignored-fields": "frist_name, a%2Cb, %C3%BC%0A, email" } });
    expect((await update({ first_name: "Ada" })).headers).not.toHaveProperty("x-ignored-fields");
    expect((await update(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}`.repeat(100), 1])))).headers["x-ignored-fields"]).toMatch(
      /^([^,]+, ){19}[^,]+$/,
    );
  });

  test.each(["handling=strict", "wait=5, handling=strict", "respond-async,Handling = Strict"])("are 400 with Prefer: %s", async (prefer) => {
    expect(await refused(update({ first_name: "Eve", frist_name: "Eve" }, { prefer }))).toEqual([
      400,
      "validation_failed",
      "`frist_name` is not a known field.",
    ]);
    expect(await update({ first_name: "Ada" }, { prefer })).toMatchObject({ status: 200 });
  });

  test.each(["handling=lenient", "strict", "xhandling=strict", ""])("are ignored with Prefer: %s", async (prefer) => {
    expect(await update({ frist_name: "Eve" }, { prefer })).toMatchObject({ status: 200 });
  });
});

describe("size", () => {
  const limit = 256 * 1024;
  const sized = (bytes: number) => `{"x":"${"x".repeat(bytes - 8)}"}`;

  test("256 KiB are taken, one byte more is not, whether it is announced or not", async () => {
    expect(await update(sized(limit), json)).toMatchObject({ status: 200 });
    for (const headers of [json, { ...json, "transfer-encoding": "chunked" }]) {
      expect(await update(sized(limit + 1), headers)).toMatchObject({ status: 400, headers: { "x-error-code": "body_too_large", connection: "close" } });
    }
  });

  test("a URL of 8 KiB and a head of 16 KiB are read, more is not", async () => {
    const pad = (bytes: number) => "x".repeat(bytes);
    const path = "/api/v2/ext/version?";
    expect(await ask(world.url, path + pad(8192 - path.length))).toMatchObject({ status: 200 });
    expect(await ask(world.url, path + pad(8193 - path.length))).toMatchObject({ status: 414, json: { message: expect.any(String) } });
    expect(await ask(world.url, path, { headers: { "x-pad": pad(15_000) } })).toMatchObject({ status: 200 });
    expect(await ask(world.url, path, { headers: { "x-pad": pad(17_000) } })).toMatchObject({ status: 431, json: { message: expect.any(String) } });
  });
});
