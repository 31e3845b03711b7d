/** When a call is repeated, how long it waits, and what it says of itself: decisions 2.1.11. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient, SteadError, SteadUnreachable } from "./client.ts";

interface Sent {
  readonly at_ms: number;
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

type Scripted = { status: number; body?: unknown; headers?: Record<string, string> } | Error | "hang";

const uid = "usr_01jcpv1w2n9w5eph2j1v0a7q3r";
const ok = { status: 200, body: { data: { uid } } };
const done = { status: 200, body: { message: "Done." } };

/** A service that answers by the script, and then goes on with its last line. */
function scripted(...script: Scripted[]) {
  const sent: Sent[] = [];
  const started = Date.now();
  const fetch = (async (url: string, init: { method: string; headers: Record<string, string>; body?: string; signal: AbortSignal }) => {
    sent.push({
      at_ms: Date.now() - started,
      url,
      method: init.method,
      headers: init.headers,
      body: init.body === undefined ? undefined : JSON.parse(init.body),
    });
    const next = script.length > 1 ? (script.shift() as Scripted) : (script[0] as Scripted);
    init.signal.throwIfAborted();
    if (next === "hang") return new Promise((_, reject) => init.signal.addEventListener("abort", () => reject(init.signal.reason as Error)));
    if (next instanceof Error) throw next;
    const page = typeof next.body === "string";
    const body = page ? (next.body as string) : JSON.stringify(next.body ?? { message: "No." });
    return new Response(body, { status: next.status, headers: { "content-type": page ? "text/html" : "application/json; charset=utf-8", ...next.headers } });
  }) as unknown as typeof globalThis.fetch;
  return { sent, client: createClient({ base_url: "https://stead.test/panel/", api_key: "stead_key", uid, fetch }) };
}

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 1 });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Lets all the waiting pass at once, and tells how the call ended. */
async function outcome<T>(call: Promise<T>): Promise<T | Error> {
  const ended = call.catch((error: unknown) => error as Error);
  let open = true;
  void ended.finally(() => {
    open = false;
  });
  while (open) await vi.advanceTimersByTimeAsync(50);
  return ended;
}

const broken = new TypeError("fetch failed");

describe("is repeated", () => {
  test.each<[string, Scripted]>([
    ["a network error", broken],
    ["500", { status: 500 }],
    ["502 with a page of the proxy's", { status: 502, body: "<html>Bad gateway</html>" }],
    ["503", { status: 503 }],
    ["504", { status: 504 }],
    ["429", { status: 429 }],
  ])("%s, for a read and for a change with a key", async (_, failure) => {
    for (const name of ["users.get", "teams.create"]) {
      const { sent, client } = scripted(failure, failure, ok);
      expect(await outcome(client.call(name, { name: "x" }))).toMatchObject({ status: 200 });
      expect(sent).toHaveLength(3);
    }
  });

  test("409 that says when to come back", async () => {
    const { sent, client } = scripted({ status: 409, headers: { "retry-after": "1", "x-error-code": "idempotency_in_progress" } }, ok);
    await outcome(client.teams.create({ name: "x" }));
    expect(sent).toHaveLength(2);
  });

  test("two times unless asked otherwise, and then it is told what the last answer was", async () => {
    const { sent, client } = scripted({ status: 500, headers: { "x-error-code": "internal", "x-request-id": "req_1" } });
    const error = await outcome(client.users.get());
    expect(error).toBeInstanceOf(SteadError);
    expect(error).toMatchObject({ name: "SteadError", status: 500, code: "internal", message: "No.", request_id: "req_1" });
    expect(sent).toHaveLength(3);
    await outcome(client.users.get({}, { retries: 5 }));
    expect(sent).toHaveLength(3 + 6);
    await outcome(client.users.get({}, { retries: 0 }));
    expect(sent).toHaveLength(3 + 6 + 1);
  });

  test("a change that is a GET by its method, with one key", async () => {
    const { sent, client } = scripted(broken, done);
    await outcome(client.servers.reboot({ sid: "srv_x" }));
    expect(sent.map(({ method }) => method)).toEqual(["GET", "GET"]);
    expect(new Set(sent.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  });
});

describe("is not repeated", () => {
  test.each([400, 401, 403, 404, 405, 409, 412, 414, 431, 501])("%s", async (status) => {
    for (const body of [{ message: "No." }, "<html>", ""]) {
      const { sent, client } = scripted({ status, body });
      expect(await outcome(client.users.get())).toMatchObject({ status, code: "unknown" });
      expect(sent).toHaveLength(1);
    }
  });

  test.each<[string, Record<string, string>]>([
    ["users.regenerate_api_key", {}],
    ["keys.create", { name: "x" }],
    ["wordpress.magic_link", { wid: "web_x", sid: "srv_x" }],
    ["auth.login", { email: "a@b.c", password: "x" }],
  ])("%s: what gives a secret is asked for once, whatever goes wrong", async (name, args) => {
    for (const failure of [broken, { status: 500 }, { status: 429, headers: { "retry-after": "1" } }]) {
      const { sent, client } = scripted(failure, ok);
      expect(await outcome(client.call(name, args, { retries: 5 }))).toBeInstanceOf(Error);
      expect(sent).toHaveLength(1);
    }
  });

  test("a change without a key of its own, unless it is certain that nothing has happened", async () => {
    for (const failure of [broken, { status: 500 }]) {
      const { sent, client } = scripted(failure, done);
      expect(await outcome(client.auth.verify({ token: "x" }))).toBeInstanceOf(Error);
      expect(sent).toHaveLength(1);
    }
    const { sent, client } = scripted({ status: 429, headers: { "retry-after": "1" } }, done);
    expect(await outcome(client.auth.verify({ token: "x" }))).toEqual({ message: "Done." });
    expect(sent).toHaveLength(2);
  });
});

describe("waits", () => {
  const gaps = (sent: Sent[]) => sent.slice(1).map(({ at_ms }, i) => Math.round((at_ms - (sent[i] as Sent).at_ms) / 50) * 50);

  test("as long as it is told", async () => {
    const { sent, client } = scripted({ status: 429, headers: { "retry-after": "7" } }, { status: 409, headers: { "retry-after": "1" } }, ok);
    await outcome(client.teams.create({ name: "x" }));
    expect(gaps(sent)).toEqual([7000, 1000]);
  });

  test("else twice as long each time, up to 8 s, with jitter", async () => {
    const { sent, client } = scripted({ status: 500 });
    await outcome(client.users.get({}, { retries: 6 }));
    expect(gaps(sent)).toEqual([250, 500, 1000, 2000, 4000, 4000]);
  });

  test("not at all where the wait would outlast the call: the answer that came is told", async () => {
    const { sent, client } = scripted({ status: 429, headers: { "retry-after": "900", "x-error-code": "rate_limited" } });
    const started = Date.now();
    expect(await outcome(client.users.get())).toMatchObject({ status: 429, code: "rate_limited" });
    expect(sent).toHaveLength(1);
    expect(Date.now() - started).toBeLessThan(1000);
  });
});

describe("is stopped", () => {
  test("by the caller, while it waits for an answer and while it waits to ask again", async () => {
    for (const failure of ["hang" as const, { status: 429, headers: { "retry-after": "30" } }]) {
      const { sent, client } = scripted(failure);
      const stop = new AbortController();
      const call = outcome(client.users.get({}, { signal: stop.signal }));
      await vi.advanceTimersByTimeAsync(100);
      const at = Date.now();
      stop.abort(new Error("enough"));
      expect(await call).toBeInstanceOf(SteadUnreachable);
      expect(Date.now() - at).toBeLessThan(500);
      expect(sent.length).toBeLessThanOrEqual(2);
    }
  });

  test("at once when the caller had stopped before", async () => {
    const { client } = scripted(ok);
    expect(await outcome(client.users.get({}, { signal: AbortSignal.abort() }))).toBeInstanceOf(SteadUnreachable);
  });
});

describe("what is sent", () => {
  test("the idempotency key is one for all tries of a call, new for each call, and the caller's own where they have one", async () => {
    const { sent, client } = scripted(broken, ok, ok);
    await outcome(client.teams.create({ name: "a" }));
    await outcome(client.teams.create({ name: "a" }));
    await outcome(client.teams.create({ name: "a" }, { idempotency_key: "mine" }));
    const [first, again, second, own] = sent.map(({ headers }) => headers["idempotency-key"]);
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(again).toBe(first);
    expect(second).not.toBe(first);
    expect(own).toBe("mine");
  });

  test("a read has no such key, and a change asks for strictness", async () => {
    const { sent, client } = scripted(ok);
    await outcome(client.users.get());
    await outcome(client.users.update({ first_name: "Ada" }));
    expect(sent[0]?.headers).not.toHaveProperty("idempotency-key");
    expect(sent[0]).toMatchObject({
      url: `https://stead.test/panel/api/v2/users/${uid}`,
      method: "GET",
      headers: { authorization: "Bearer stead_key", accept: "application/json" },
      body: undefined,
    });
    expect(sent[1]).toMatchObject({ method: "PATCH", headers: { prefer: "handling=strict", "content-type": "application/json" }, body: { first_name: "Ada" } });
  });

  test("a dry run says so", async () => {
    const { sent, client } = scripted(done);
    await outcome(client.users.delete({}, { dry_run: true }));
    expect(sent[0]?.headers["x-dry-run"]).toBe("true");
  });
});
