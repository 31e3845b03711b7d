/** Rate limits as callers meet them (decisions 2.13): whose they are, what they cost, and what is said about them. */
import { makeKey } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { type Ask, ask, type Told } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterEach, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World | undefined;
afterEach(() => world?.stop());

async function limited(limits: string, env: Record<string, string> = {}): Promise<{ world: World; ada: Person }> {
  world = await startWorld({ database_url: database.url, env: { STEAD_RATE_LIMITS: limits, ...env } });
  return { world, ada: await world.person("ada") };
}

const profile = ({ uid, key }: Person, options: Ask = {}) => ask((world as World).url, `/api/v2/users/${uid}`, { key, ...options });
const rate = ({ status, headers }: Told) => [status, headers["ratelimit-policy"], headers.ratelimit];
const tooMany = (retry: string) => ({
  status: 429,
  text: '{"message":"Too many requests"}',
  headers: { "retry-after": retry, "x-error-code": "rate_limited", "content-type": "application/json; charset=utf-8" },
});

describe("what is said", () => {
  test("the policy and how the bucket stands, on every answer after the credential", async () => {
    const { ada } = await limited("read=1200/6000,write=300/6000");
    expect(rate(await profile(ada))).toEqual([200, '"read";q=1200;w=6000', '"read";r=1199;t=5']);
    expect(rate(await profile(ada, { method: "PATCH", body: {} }))).toEqual([200, '"write";q=300;w=6000', '"write";r=299;t=20']);
    expect(rate(await profile(ada, { method: "PATCH", body: "{" }))).toEqual([400, '"write";q=300;w=6000', '"write";r=298;t=40']);
    expect(rate(await ask((world as World).url, "/api/v2/users/usr_x", { key: ada.key }))).toEqual([403, '"read";q=1200;w=6000', '"read";r=1198;t=10']);
    for (const answer of [await profile(ada, { key: "bad" }), await profile(ada, { method: "PUT" }), await profile(ada, { method: "OPTIONS" })])
      expect(rate(answer).slice(1)).toEqual([undefined, undefined]);
  });

  test("when it is over: exactly this, with whole seconds to wait", async () => {
    const { ada } = await limited("read=2/600");
    await profile(ada);
    expect(rate(await profile(ada))).toEqual([200, '"read";q=2;w=600', '"read";r=0;t=600']);
    const over = await profile(ada);
    expect(over).toMatchObject(tooMany("300"));
    expect(rate(over)).toEqual([429, '"read";q=2;w=600', '"read";r=0;t=600']);
    expect(await profile(ada, { headers: { accept: "application/problem+json" } })).toMatchObject({
      status: 429,
      json: { message: "Too many requests", code: "rate_limited", status: 429 },
    });
  });

  test("a refused request costs nothing more: the wait does not grow", async () => {
    const { ada } = await limited("read=1/100");
    await profile(ada);
    for (let i = 0; i < 5; i++) expect(Number((await profile(ada)).headers["retry-after"])).toBeLessThanOrEqual(100);
  });
});

describe("whose it is", () => {
  test("a user's, over all their keys, and nobody else's", async () => {
    const { world: here, ada } = await limited("read=2/600");
    const second = await makeKey(here, ada, { scopes: ["account:read"] });
    const bob = await here.person("bob");
    const statuses = [];
    for (const person of [ada, { ...ada, key: second.key }, ada, { ...ada, key: second.key }, bob]) statuses.push((await profile(person)).status);
    expect(statuses).toEqual([200, 200, 429, 429, 200]);
  });

  test("reads and writes are counted apart", async () => {
    const { ada } = await limited("read=1/600,write=1/600");
    expect([(await profile(ada)).status, (await profile(ada)).status]).toEqual([200, 429]);
    expect([(await profile(ada, { method: "PATCH", body: {} })).status, (await profile(ada, { method: "PATCH", body: {} })).status]).toEqual([200, 429]);
  });

  test("sensitive operations are counted one by one", async () => {
    const { world: here, ada } = await limited("sensitive=2/600");
    const dry = { "x-dry-run": "true" };
    const regenerate = () => ask(here.url, `/api/v2/users/${ada.uid}/regenerate/apikey`, { method: "POST", key: ada.key, headers: dry });
    const remove = () => profile(ada, { method: "DELETE", headers: dry });
    expect(rate(await regenerate())).toEqual([200, '"sensitive";q=2;w=600', '"sensitive";r=1;t=300']);
    expect([(await regenerate()).status, (await regenerate()).status]).toEqual([200, 429]);
    expect([(await remove()).status, (await remove()).status, (await remove()).status]).toEqual([200, 200, 429]);
    expect(rate(await profile(ada, { method: "PATCH", body: {} }))[1]).toBe('"write";q=300;w=60');
  });

  test("an address's where nobody is signed in", async () => {
    const { world: here } = await limited("auth=2/600,read=2/600");
    const forgot = (from: string) => ask(here.url, "/api/v2/ext/auth/forgot", { method: "POST", body: { email: "nobody@example.com" }, from });
    expect(rate(await forgot("127.0.0.1"))).toEqual([200, '"auth";q=2;w=600', '"auth";r=1;t=300']);
    expect([(await forgot("127.0.0.1")).status, (await forgot("127.0.0.1")).status, (await forgot("127.0.0.2")).status]).toEqual([200, 429, 200]);
    expect(rate(await ask(here.url, "/api/v2/ext/version"))).toEqual([200, '"read";q=2;w=600', '"read";r=1;t=300']);
  });
});

test("a 304 costs nothing", async () => {
  const { ada } = await limited("read=3/600");
  const { etag } = (await profile(ada)).headers as { etag: string };
  for (let i = 0; i < 5; i++) expect(rate(await profile(ada, { headers: { "if-none-match": etag } }))).toEqual([304, '"read";q=3;w=600', '"read";r=2;t=200']);
  expect(rate(await profile(ada))).toEqual([200, '"read";q=3;w=600', '"read";r=1;t=400']);
});

describe("the flood", () => {
  test("is stopped before anything is asked, by address", async () => {
    const { world: here, ada } = await limited("flood=3/100");
    const send = (from: string, key: string) => profile({ ...ada, key }, { from });
    const statuses = [];
    for (const key of ["bad", "bad", ada.key, ada.key]) statuses.push((await send("127.0.0.3", key)).status);
    expect(statuses).toEqual([401, 401, 200, 429]);
    const over = await send("127.0.0.3", ada.key);
    expect(over).toMatchObject(tooMany("34"));
    expect(over.headers).not.toHaveProperty("ratelimit");
    expect((await send("127.0.0.4", ada.key)).status).toBe(200);
    expect(await ask(here.url, "/api/v2/nothing", { from: "127.0.0.3" })).toMatchObject({ status: 429 });
  });

  test("of a client behind the proxy is that client's, and a /64 is one client", async () => {
    const { ada } = await limited("flood=1/100", { STEAD_INSECURE_HTTP: "", STEAD_TLS: "proxy", STEAD_TRUST_PROXY: "127.0.0.1" });
    const from = async (hops: string) => (await profile(ada, { headers: { "x-forwarded-proto": "https", "x-forwarded-for": hops } })).status;
    expect([await from("192.0.2.1"), await from("192.0.2.1"), await from("192.0.2.2"), await from("192.0.2.1, 192.0.2.3")]).toEqual([200, 429, 200, 200]);
    expect([await from("2001:db8:1:2::1"), await from("2001:db8:1:2:ffff::9"), await from("2001:db8:1:3::1"), await from("2001:db8::1")]).toEqual([
      200, 429, 200, 200,
    ]);
  });
});

describe("wrong passwords", () => {
  const login = (email: string, password: string) => ask((world as World).url, "/api/v2/ext/auth/login", { method: "POST", body: { email, password } });
  const change = (person: Person, old_password: string) =>
    ask((world as World).url, `/api/v2/users/${person.uid}/password`, {
      method: "PATCH",
      key: person.key,
      body: { old_password, new_password: "another good phrase" },
    });
  const codes = (answers: Told[]) => answers.map(({ status }) => status);

  test("five are allowed, for an account that exists and for one that does not alike", async () => {
    const { ada } = await limited("password=5/900");
    const tries = async (email: string) => {
      const answers = [];
      for (const guess of ["a", "b", "c", "d", "e", "f", ada.password]) answers.push(await login(email, guess));
      return answers.map(({ status, text, headers }) => ({ status, text, code: headers["x-error-code"], retry: headers["retry-after"] }));
    };
    const known = await tries(ada.email);
    expect(known.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect(known.at(-1)).toMatchObject({ text: '{"message":"Too many requests"}', code: "rate_limited", retry: expect.stringMatching(/^1[78]\d$/) });
    const near = ({ retry, ...rest }: (typeof known)[number]) => ({ ...rest, retries: retry !== undefined });
    expect((await tries("nobody@example.com")).map(near)).toEqual(known.map(near));
    expect(codes([await login(ada.email.toUpperCase(), ada.password)])).toEqual([429]);
  });

  test("right ones cost nothing", async () => {
    const { ada } = await limited("password=2/900");
    for (let i = 0; i < 5; i++) expect(await login(ada.email, ada.password)).toMatchObject({ status: 200 });
  });

  test("those for a change of password are counted with those for signing in", async () => {
    const { ada } = await limited("password=3/900,sensitive=100/600");
    expect(
      codes([
        await change(ada, "a"),
        await login(ada.email, "b"),
        await change(ada, "c"),
        await change(ada, ada.password),
        await login(ada.email, ada.password),
      ]),
    ).toEqual([403, 401, 403, 429, 429]);
  });

  test("all at once are no more than one by one", async () => {
    const { ada } = await limited("password=5/900");
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => login(ada.email, `guess ${i}`)));
    expect(codes(answers).filter((status) => status === 401)).toHaveLength(5);
  });
});
