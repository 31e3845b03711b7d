/**
 * 20,000 requests made up from api/openapi.json, by all kinds of callers, over every mounted operation. No answer is a
 * 5xx, and each is one that the document declares for its operation: status, body, headers and code.
 * The seed is fixed; STEAD_FUZZ_SEED and STEAD_FUZZ_COUNT try others. The same seed gives the same requests,
 * though not the same order of arrival: they are sent side by side, as in life.
 */
import { randomUUIDv7 } from "node:crypto";
import { grants } from "@stead/contract/operation.ts";
import { type Answer, readable } from "@stead/testkit/answers.ts";
import { mounted } from "@stead/testkit/calls.ts";
import { join, makeKey, makeTeam, share } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { type Generated, Pick, requests } from "@stead/testkit/generate.ts";
import { type Declared, openJudge } from "@stead/testkit/judge.ts";
import { inLanes } from "@stead/testkit/parallel.ts";
import { ask } from "@stead/testkit/wire.ts";
import { type Person, password, startWorld, type World } from "@stead/testkit/world.ts";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashOf, newCredential, newSecret } from "../identity/credential.ts";
import { newToken } from "../identity/one-time.ts";
import { cookieName } from "../identity/sessions.ts";

const seed = Number(process.env.STEAD_FUZZ_SEED ?? 20_261_115);
const count = Number(process.env.STEAD_FUZZ_COUNT ?? 20_000);

const database = testDatabase();
const { judge, operations } = openJudge();
let world: World;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
});
afterAll(() => world.stop());

interface Caller {
  readonly uid: string;
  readonly key: string | null;
  /** What stands in for this caller where a success would end the account or its key. */
  readonly like: { readonly status?: "suspended"; readonly verified?: false } | null;
}

/** What exists, by kind: of one caller, or of anybody. Only the newest are kept. */
class Pools {
  readonly #values = new Map<string, string[]>();

  add(kind: string, value: string, owner = ""): void {
    for (const name of new Set([`${kind} ${owner}`, `${kind} `])) {
      const values = this.#values.get(name) ?? [];
      this.#values.set(name, [...values, value].slice(-50));
    }
  }

  find({ kind, whose, nth }: Pick, owner: string): string {
    const own = whose === "own" ? this.#values.get(`${kind} ${owner}`) : undefined;
    const values = own ?? this.#values.get(`${kind} `) ?? [];
    return values.length === 0 ? "nothing" : (values[nth % values.length] as string);
  }
}

const inADay = () => new Date(Date.now() + 86_400_000);
const weights = {
  "auth.login": 12,
  "auth.signup": 12,
  "auth.reset": 12,
  "users.change_password": 12,
  "users.delete": 30,
  "teams.delete": 40,
  "teams.leave": 60,
  "teams.remove_member": 60,
};
const kinds = {
  uid: "uid",
  member_uid: "person",
  tid: "tid",
  sid: "sid",
  sids: "sid",
  key_id: "key_id",
  pending_id: "pending_id",
  email: "email",
  password: "password",
  old_password: "password",
  token: "token",
  invite_token: "invite",
  device_code: "device_code",
  user_code: "user_code",
  before: "entry",
  plan_id: "plan",
};
const owners = Array.from({ length: 6 }, (_, index) => `owner-${index}`);
const actorNames = [
  ...owners,
  ...owners,
  "member",
  "member",
  "viewer",
  "stranger",
  "scoped",
  "scoped",
  "session",
  "confined",
  "suspended",
  "unverified",
  "nobody",
  "revoked",
  "broken",
];

async function populate(pools: Pools): Promise<Map<string, Caller>> {
  const callers = new Map<string, Caller>();
  const cast = (name: string, person: Person, key: string | null = person.key, like: Caller["like"] = {}) =>
    void callers.set(name, { uid: person.uid, key, like: key === null ? null : like });
  const people = await Promise.all(["member", "viewer", "stranger"].map((name) => world.person(name)));
  const [member, viewer, stranger] = people as [Person, Person, Person];
  for (const [index, person] of people.entries()) cast(["member", "viewer", "stranger"][index] as string, person);
  cast("suspended", await world.person("suspended", { status: "suspended" }), undefined, { status: "suspended" });
  cast("unverified", await world.person("unverified", { verified: false }), undefined, { verified: false });
  cast("nobody", stranger, null);
  cast("broken", stranger, "stead_x", null);
  cast("revoked", stranger, newCredential("stead_"), null);

  for (const name of owners) {
    const owner = await world.person(name);
    people.push(owner);
    cast(name, owner);
    for (let each = 0; each < 3; each++) {
      const team = await makeTeam(world, owner);
      await join(world, team, member, "member");
      await join(world, team, viewer, "viewer");
      const { uuid, sid } = await world.server(owner);
      if (each === 0) await share(world, team, uuid);
      pools.add("sid", sid, owner.uid);
      for (const { uid } of [owner, member, viewer]) pools.add("tid", team.id, uid);
    }
  }
  const owner = people.at(-1) as Person;
  cast("scoped", owner, (await makeKey(world, owner, { scopes: grants.filter((_, index) => index % 2 === 0) })).key);
  cast("confined", owner, (await makeKey(world, owner, { scopes: [...grants], cidrs: ["203.0.113.0/24"] })).key);
  cast("session", owner, await session(pools, owner));
  for (let each = 0; each < 20; each++) await session(pools, stranger);
  for (const { uid, email } of people) {
    pools.add("uid", uid, uid);
    pools.add("person", uid);
    pools.add("email", email, uid);
  }
  pools.add("password", password);
  pools.add("plan", "self-hosted");
  const forgetful = await world.person("forgetful", { verified: false });
  for (let each = 0; each < 25; each++) {
    pools.add("token", await newToken(world.db, "reset", { uid: forgetful.uuid }, inADay()));
    pools.add("token", await newToken(world.db, "verify", { uid: forgetful.uuid }, inADay()));
    pools.add("invite", await newToken(world.db, "invite", { email: `guest-${each}@example.com` }, inADay()));
  }
  return callers;
}

async function session(pools: Pools, { uuid }: Person): Promise<string> {
  const [session_id, refresh, token] = [randomUUIDv7(), newSecret(), newCredential("steads_")];
  await world.db
    .insertInto("sessions")
    .values({ session_id, uid: uuid, refresh_hash: hashOf(refresh), ip: "192.0.2.1", user_agent: "", expires_at: inADay() })
    .execute();
  await world.db
    .insertInto("credentials")
    .values({ key_id: randomUUIDv7(), uid: uuid, kind: "session", hash: hashOf(token), last4: token.slice(-4), session_id, expires_at: inADay() })
    .execute();
  pools.add("cookie", `${cookieName}=${refresh}`);
  return token;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read by key; the judge has checked their shape.
type Body = any;

/** Learns from an answer what exists now. */
function learn(pools: Pools, { name }: Declared, uid: string, answer: Answer): void {
  const etag = answer.headers.etag;
  if (etag) pools.add("etag", etag, uid);
  if (answer.status >= 300) return;
  const { data }: Body = JSON.parse(answer.text);
  if (!data) return;
  if (name === "teams.create") pools.add("tid", data.tid, uid);
  if (name === "keys.create") pools.add("key_id", data.id, uid);
  if (name === "auth.device") for (const field of ["device_code", "user_code"]) pools.add(field, data[field]);
  if (name === "users.pending" || name === "pending.outgoing") for (const { id } of data) pools.add("pending_id", id, uid);
  if (name === "users.activity" || name === "users.login_history") for (const { id } of data.slice(0, 3)) pools.add("entry", id, uid);
  const [cookie] = answer.headers["set-cookie"] ?? [];
  if (cookie?.includes(`${cookieName}=`)) pools.add("cookie", cookie.split(";")[0] as string);
}

/** A success would end the caller, so somebody else takes the blow. */
const fatal = new Set(["users.delete", "users.regenerate_api_key", "users.change_password"]);

interface Shot {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
  readonly key: string | null;
}

function aim({ operation, params, query, headers, body }: Generated, caller: Caller, pools: Pools): Shot {
  const found = (value: unknown): unknown => {
    if (value instanceof Pick) return value.kind === "uid" && value.whose === "own" ? caller.uid : pools.find(value, caller.uid);
    if (Array.isArray(value)) return value.map(found);
    return typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, found(part)])) : value;
  };
  const spelled = (value: unknown) => encodeURIComponent(String(found(value)).toWellFormed());
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => spelled(params[name]));
  const search = query.map(([name, value]) => `${spelled(name)}=${spelled(value)}`).join("&");
  const sent = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(found(body));
  const typed = sent === undefined ? {} : { "content-type": "application/json" };
  return {
    method: operation.method,
    path: `/api/v2${path}${search && `?${search}`}`,
    headers: { ...typed, ...(found(headers) as Record<string, string>) },
    body: sent,
    key: caller.key,
  };
}

test(`${count} generated requests get only answers that the document declares`, { timeout: Math.max(60_000, 15 * count) }, async () => {
  const pools = new Pools();
  const callers = await populate(pools);
  const declared = mounted.map(({ name }) => operations.get(name) as Declared);
  const generated = fc.sample(requests({ operations: declared, weights, actors: actorNames, kinds }), { numRuns: count, seed });
  const wrong: string[] = [];
  const statuses = new Map<string, number>();
  const succeeded = new Set<string>();
  const started = performance.now();

  await inLanes(generated.entries(), 16, async ([index, request]) => {
    const { name } = request.operation;
    let caller = callers.get(request.actor) as Caller;
    if (caller.like && fatal.has(name)) {
      const { uid, key } = await world.person("expendable", caller.like);
      caller = { uid, key, like: null };
    }
    const { method, path, headers, body, key } = aim(request, caller, pools);
    const answer = readable(await ask(world.url, path, { method, headers, body, ...(key ? { key } : {}) }));
    const complaints = judge(name, answer);
    const id = headers["x-request-id"];
    if (id && /^[\w-]{1,64}$/.test(id) && answer.headers["x-request-id"] !== id) complaints.push("the request id is another");
    if (complaints.length > 0)
      wrong.push(
        `request ${index} of seed ${seed}, ${name} as ${request.actor}: ${method} ${path} ${JSON.stringify(headers)} ${body?.slice(0, 300)} → ${complaints.join("; ")}`,
      );
    else learn(pools, request.operation, caller.uid, answer);
    const outcome = String(answer.headers["x-error-code"] ?? answer.status);
    statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
    if (answer.status < 300 && headers["x-dry-run"] !== "true") succeeded.add(name);
  });

  const told = [...statuses].sort(([, a], [, b]) => b - a).map(([outcome, times]) => `${outcome} ${times}`);
  process.stdout.write(
    `generated requests: ${count} with seed ${seed} to ${declared.length} operations in ${Math.round((performance.now() - started) / 1000)} s: ${told.join(", ")}\n`,
  );
  expect(wrong.slice(0, 20)).toEqual([]);
  expect(world.logged.filter(({ level }) => level !== "info")).toEqual([]);
  // Requests that all fail early would prove little.
  if (count >= 20_000) expect(declared.map(({ name }) => name).filter((name) => !succeeded.has(name))).toEqual([]);
});
