/**
 * Hostile values at every string of every mounted operation: in bodies, paths, queries and headers. Whatever comes,
 * the answer is one that the document declares, a refusal is exactly `{message}`, and nothing breaks.
 * What is stored of it is followed further in hostile-stored.int.test.ts.
 */
import { isIP } from "node:net";
import type { Operation } from "@stead/contract/operation.ts";
import { paramsOf } from "@stead/contract/operation.ts";
import { type Answer, readable } from "@stead/testkit/answers.ts";
import { addressOf, callOf, mounted } from "@stead/testkit/calls.ts";
import { type Cast, castIn, makeInvitation, makeKey, makeTeam } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { hostile, hostileIds, isClean } from "@stead/testkit/hostile.ts";
import { judgeMessage, openJudge } from "@stead/testkit/judge.ts";
import { inLanes } from "@stead/testkit/parallel.ts";
import { type Ask, ask } from "@stead/testkit/wire.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mostBody } from "./body.ts";

const lanes = 8;
const database = testDatabase();
const { judge } = openJudge();
const common = hostile("common_injection");
const commonTexts = common.filter((value) => typeof value === "string");
let world: World;
let sent = 0;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
});
afterAll(async () => {
  await world.stop();
  process.stdout.write(`hostile inputs: ${sent} requests to ${mounted.length} operations\n`);
});

type Rules = {
  type?: string;
  items?: Rules;
  enum?: string[];
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  pattern?: string;
  format?: string;
  trim?: boolean;
};

/** Null where the connection was closed on a body that is far too long. */
async function send(path: string, request: Ask): Promise<Answer | null> {
  sent++;
  try {
    return readable(await ask(world.url, path, request));
  } catch (error) {
    if (typeof request.body === "string" && request.body.length > mostBody) return null;
    throw error;
  }
}

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 60) ?? "undefined";

/** Grammars beyond patterns, as far as the values of the data file need them: no other value is a time or an address. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  cidr: (text) => isIP(text.replace(/\/32$/, "")) !== 0,
  "mail-address": (text) => text.indexOf("@") <= 64,
};

/** By the rules of the contract, said a second time: would this value do here? */
function acceptable(rules: Rules, value: unknown): boolean {
  if (rules.type === "array")
    return Array.isArray(value) && value.length >= (rules.minItems ?? 0) && value.every((item) => acceptable(rules.items as Rules, item));
  if (typeof value !== "string" || !isClean(value)) return false;
  const text = rules.trim ? value.trim().normalize("NFC") : value;
  const { length } = [...text];
  if (rules.enum) return rules.enum.includes(text);
  if (rules.format && !formats[rules.format]?.(text)) return false;
  return (
    length >= (rules.minLength ?? 0) &&
    length <= (rules.maxLength ?? Number.POSITIVE_INFINITY) &&
    (rules.pattern === undefined || new RegExp(rules.pattern, "u").test(text))
  );
}

/** The classes of the data file that belong to a field, besides the common one. */
const classesOf: Readonly<Record<string, readonly string[]>> = {
  password: ["password"],
  old_password: ["password"],
  new_password: ["password"],
  email: ["email"],
  first_name: ["unix_username"],
  last_name: ["unix_username"],
  client_name: ["unix_username"],
  name: ["unix_username", "db_name", "domain"],
  phone: ["server_ip"],
  cidrs: ["server_ip"],
  expires_at: ["timezone"],
};

/** Times that a calendar, a clock or our own form of a time does not have. */
const noTimes = [
  "9999-12-31T23:59:59-23:59",
  "2090-12-31T23:59:60Z",
  "2090-02-30T00:00:00Z",
  "2000-01-01T00:00:00Z",
  "+010000-01-01T00:00:00Z",
  "infinity",
  "now",
];

const references = new Set(["member_uid", "sid", "sids"]);

function valuesFor(field: string, cast: Cast): unknown[] {
  const ids = references.has(field) ? hostileIds({ own: cast.owner.uid, foreign: cast.stranger.uid, other_kind: cast.team.id }) : [];
  return [...common, ...(classesOf[field] ?? []).flatMap(hostile), ...(field === "expires_at" ? noTimes : []), ...ids];
}

/** Every place of a body that can be filled: each field, and in a list also one entry of it. */
const placesOf = (op: Operation): { field: string; rules: Rules; entry: boolean }[] =>
  Object.entries((op.body?.properties ?? {}) as Record<string, Rules>).flatMap(([field, rules]) =>
    rules.type === "array"
      ? [
          { field, rules, entry: false },
          { field, rules: rules.items as Rules, entry: true },
        ]
      : [{ field, rules, entry: false }],
  );

test.each(mounted.filter(({ op }) => op.body))("$name: a hostile value in the body is refused or is just text", async ({ name, op }) => {
  const cast = await castIn(world);
  const wrong: string[] = [];
  for (const { field, rules, entry } of placesOf(op)) {
    const call = await callOf(name)(cast, cast.owner);
    await inLanes(valuesFor(field, cast), lanes, async (value) => {
      const body = JSON.stringify({ ...call.body, [field]: entry ? [value] : value });
      const answer = await send(addressOf(op, cast.owner.uid, call.params), {
        method: op.method,
        headers: { ...call.headers, "content-type": "application/json" },
        body,
        key: cast.owner.key,
      });
      if (!answer) return;
      const complaints = judge(name, answer);
      if ((answer.status === 400) === acceptable(rules, value)) complaints.push(`${answer.status} ${answer.text}`);
      wrong.push(...complaints.map((complaint) => `${field} ${shown(value)}: ${complaint}`));
    });
  }
  expect(wrong).toEqual([]);
});

/** Percent-encoded UTF-8; a lone surrogate as the three bytes that it would have. */
const encoded = (text: string): string => (text.isWellFormed() ? encodeURIComponent(text) : text.replace(/[\ud800-\udfff]/g, "%ED%A0%80"));

/** As it is, where HTTP lets it through, and encoded. */
const spellings = (text: string): string[] => (/^[!-~]+$/.test(text) && !/[?#]/.test(text) && text !== encoded(text) ? [text, encoded(text)] : [encoded(text)]);

test.each(mounted.filter(({ op }) => paramsOf(op.path).length > 0))("$name: a hostile id in the path names nothing", async ({ name, op }) => {
  const cast = await castIn(world);
  const wrong: string[] = [];
  const team = await makeTeam(world, cast.stranger);
  const foreign: Record<string, string> = {
    uid: cast.stranger.uid,
    member_uid: cast.stranger.uid,
    tid: team.id,
    sid: (await world.server(cast.stranger)).sid,
    key_id: (await makeKey(world, cast.stranger)).id,
    pending_id: (await makeInvitation(world, { team, by: cast.stranger, to: cast.former })).id,
  };
  const call = await callOf(name)(cast, cast.owner);
  for (const param of paramsOf(op.path)) {
    const own = param === "uid" ? cast.owner.uid : (call.params?.[param] as string);
    const ids = hostileIds({ own, foreign: foreign[param] as string, other_kind: param === "tid" ? cast.server.id : cast.team.id });
    await inLanes([...new Set([...ids, ...commonTexts])].flatMap(spellings), lanes, async (spelling) => {
      const path = addressOf(op, cast.owner.uid, call.params).replace(own, () => spelling);
      const answer = (await send(path, {
        method: op.method,
        ...(call.headers ? { headers: call.headers } : {}),
        body: call.body,
        key: cast.owner.key,
      })) as Answer;
      const complaints = [405, 414, 431].includes(answer.status) ? judgeMessage(answer) : judge(name, answer);
      if (![403, 404, 405, 414, 431].includes(answer.status)) complaints.push(`${answer.status} ${answer.text}`);
      wrong.push(...complaints.map((complaint) => `${param} ${spelling.slice(0, 60)}: ${complaint}`));
    });
  }
  expect(wrong).toEqual([]);
});

const queryValues = () =>
  [
    ...common,
    ...hostile("numbers.page"),
    ...hostile("numbers.limit"),
    ...hostileIds({ own: "act_01jcpv1w2n9w5eph2j1v0a7q3r", foreign: "lgn_01jcpv1w2n9w5eph2j1v0a7q3r", other_kind: "usr_01jcpv1w2n9w5eph2j1v0a7q3r" }),
  ]
    .map(String)
    .filter((text) => text.length < 7000);

const goodNumber = (text: string, most: number): boolean => /^[1-9][0-9]*$/.test(text) && Number(text) <= most;
const queryRules: Readonly<Record<string, (text: string) => boolean>> = {
  page: (text) => goodNumber(text, 1_000_000),
  limit: (text) => goodNumber(text, 100),
  before: (text) => /^[a-z]{2,5}_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text),
};

test.each(mounted.filter(({ op }) => op.effect === "read"))("$name: a hostile query is refused by name, or ignored", async ({ name, op }) => {
  const cast = await castIn(world);
  const wrong: string[] = [];
  const call = await callOf(name)(cast, cast.owner);
  const path = addressOf(op, cast.owner.uid, call.params);
  const look = async (query: string, good: boolean) => {
    const answer = (await send(`${path}?${query}`, { key: cast.owner.key })) as Answer;
    const complaints = judge(name, answer);
    if (answer.status !== (good ? 200 : 400)) complaints.push(`${answer.status} ${answer.text.slice(0, 200)}`);
    wrong.push(...complaints.map((complaint) => `${query.slice(0, 60)}: ${complaint}`));
  };
  await inLanes(queryValues(), lanes, async (value) => {
    await look(`x=${encoded(value)}`, true);
    await look(`${encoded(value)}=1`, true);
    for (const [param, good] of Object.entries(op.query ? queryRules : {})) await look(`${param}=${encoded(value)}`, good(value.toWellFormed()));
  });
  // Names that every object has by inheritance are unknown parameters too.
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) await look(`${name}=%00`, true);
  for (const query of ["page=1&page=1", "limit=5&limit=5", "page[]=1", "page=", "page=+1", "page=1e1", "limit=%20", "before="])
    await look(query, !op.query || query.startsWith("page["));
  expect(wrong).toEqual([]);
});

const headerNames = [
  "Idempotency-Key",
  "X-Request-Id",
  "Prefer",
  "X-Dry-Run",
  "If-Match",
  "If-None-Match",
  "User-Agent",
  "Accept",
  "Accept-Encoding",
  "Accept-Language",
  "Cookie",
  "Content-Type",
  "Content-Encoding",
  "X-Forwarded-For",
  "X-Forwarded-Proto",
  "X-Forwarded-Host",
  "Forwarded",
  "X-Real-IP",
  "CF-Connecting-IP",
  "Origin",
  "Referer",
  "Range",
  "Sec-Purpose",
  "X-HTTP-Method-Override",
  "Host",
  "Authorization",
];
/** Text as UTF-8 bytes in a header; control characters cannot be sent this way and have their own test. */
const headerValues = [
  ...new Set([
    ...(commonTexts as string[]),
    ...hostileIds({ own: "a", foreign: "b", other_kind: "c" }),
    "application/problem+json",
    "gzip",
    "br;q=0, gzip;q=x",
    "*",
    'W/""',
    "handling=strict, handling=lenient, wait=-1",
    "true, true",
    "a=b; __Secure-stead_refresh=; __proto__=x",
  ]),
]
  .filter((text) => !/\p{Cc}/u.test(text) && text.length < 8000 && text.isWellFormed())
  .map((text) => Buffer.from(text).toString("latin1"));
/** One of each kind gets every value; the others a few of every header, so that all values are used somewhere. */
const everywhere = new Set(["meta.version", "users.activity", "users.update", "teams.rename"]);

/** A password is hashed in each, which is slow on purpose. */
const hashing = new Set(["auth.signup", "auth.login", "auth.reset", "users.change_password"]);

test.each(mounted)("$name: hostile headers never break an answer", async ({ name, op }) => {
  const cast = await castIn(world);
  const wrong: string[] = [];
  const call = await callOf(name)(cast, cast.owner);
  for (const header of headerNames) {
    const nth = everywhere.has(name) ? 1 : hashing.has(name) ? headerValues.length : 16;
    const values = headerValues.filter((_, index) => index % nth === header.length % nth);
    await inLanes(values, lanes, async (value) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${cast.owner.key}`, ...call.headers, [header.toLowerCase()]: value };
      const answer = (await send(addressOf(op, cast.owner.uid, call.params), {
        method: op.method,
        headers,
        ...(call.body ? { body: JSON.stringify(call.body) } : {}),
      })) as Answer;
      const complaints = judge(name, answer);
      if (header === "Authorization" && op.scope !== "open" && answer.status !== 401) complaints.push(`${answer.status} without a credential`);
      if (header === "X-Request-Id" && answer.headers["x-request-id"] === value && !/^[\w-]{1,64}$/.test(value)) complaints.push("the request id is echoed");
      wrong.push(...complaints.map((complaint) => `${header} ${shown(value)}: ${complaint}`));
    });
  }
  expect(wrong).toEqual([]);
});

test("no accident was logged, and no line holds a line break or a secret", () => {
  expect(world.logged.filter(({ level }) => level !== "info")).toEqual([]);
  const told = world.logged.flatMap((line) => Object.values(line)).filter((value) => typeof value === "string");
  expect(told.filter((text) => /\p{Cc}/u.test(text))).toEqual([]);
  expect(told.filter((text) => /steads?_|staple tractor|different phrase/.test(text))).toEqual([]);
});
