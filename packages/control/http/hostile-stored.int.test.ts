/**
 * Hostile values that were taken, followed through every later operation: each is stored wherever text can be stored,
 * read back by everybody who can see it, and used by what comes after. It stays the same text and does nothing.
 */
import { type Answer, readable } from "@stead/testkit/answers.ts";
import { addressOf, mounted } from "@stead/testkit/calls.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { everythingStored, secretsIn } from "@stead/testkit/dump.ts";
import { classNames, hostile, isClean } from "@stead/testkit/hostile.ts";
import { openJudge } from "@stead/testkit/judge.ts";
import { inLanes } from "@stead/testkit/parallel.ts";
import { ask } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Letter } from "../deps.ts";
import { processLog } from "../log.ts";

const database = testDatabase();
const { judge } = openJudge();
const operations = new Map(mounted.map(({ name, op }) => [name, op]));
const letters: Letter[] = [];
const canary = "canary-7f3a";
/** Passwords, keys and tokens that passed through: none may be found anywhere afterwards. */
const secrets = new Set([canary]);
let world: World;
let sent = 0;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, mail: { send: async (letter) => void letters.push(letter) } });
});
afterAll(async () => {
  await world.stop();
  process.stdout.write(`hostile values that were stored: ${sent} requests\n`);
});

interface Using {
  readonly as?: Person | string;
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read by key; the judge has checked their shape.
type Body = any;

/** Calls an operation, holds the answer against the document, and gives it back. */
async function call(name: string, { as, params = {}, body, query = "", headers = {} }: Using = {}): Promise<{ answer: Answer; body: Body }> {
  const op = operations.get(name);
  if (!op) throw new Error(`${name} is not mounted`);
  sent++;
  const key = typeof as === "object" ? as.key : as;
  const uid = typeof as === "object" ? as.uid : (params.uid ?? "");
  const answer = readable(
    await ask(world.url, addressOf(op, uid, params) + query, { method: op.method, headers, ...(body ? { body } : {}), ...(key ? { key } : {}) }),
  );
  expect(judge(name, answer), `${name} ${JSON.stringify(body)}`).toEqual([]);
  return { answer, body: JSON.parse(answer.text) };
}

/** The same, where only success will do. */
async function done(name: string, using: Using): Promise<Body> {
  const { answer, body } = await call(name, using);
  expect(answer.status, `${name} ${JSON.stringify(using.body)}: ${answer.text}`).toBeLessThan(300);
  return body.data ?? body;
}

const texts = [...new Set(["common_injection", ...classNames].flatMap(hostile).filter((value) => typeof value === "string"))].filter(
  (text) => text.length < 200_000,
);
const normal = (text: string): string => text.trim().normalize("NFC");
const fits = (text: string, least: number, most: number): boolean => isClean(text) && [...normal(text)].length >= least && [...normal(text)].length <= most;

interface Household {
  readonly owner: Person;
  readonly member: Person;
  readonly tid: string;
  readonly sid: string;
}

/** Two people in a team that shares a server, made through the interface as anybody would. */
async function household(): Promise<Household> {
  const owner = await world.person("owner");
  const member = await world.person("member");
  const { sid } = await world.server(owner);
  const { tid } = await done("teams.create", { as: owner, body: { name: "Household" } });
  await done("teams.add_member", { as: owner, params: { tid }, body: { member_uid: member.uid } });
  const [{ id }] = await done("users.pending", { as: member });
  await done("pending.accept", { as: member, params: { pending_id: id } });
  return { owner, member, tid, sid };
}

/** Profile, team, key and device all bear the text; then everything that shows or uses one of them is called. */
async function live({ owner, member, tid, sid }: Household, text: string): Promise<void> {
  const shown = normal(text);
  const params = { tid };
  for (const as of [owner, member])
    expect(await done("users.update", { as, body: { first_name: text, last_name: text } })).toMatchObject({ first_name: shown, last_name: shown });
  expect(await done("teams.rename", { as: owner, params, body: { name: text } })).toEqual({ tid, name: shown });
  const key = await done("keys.create", { as: owner, body: { name: text, scopes: ["account:read", "teams:write"], sids: [sid] } });
  expect(key.name).toBe(shown);
  const device = await done("auth.device", { body: { client_name: text } });
  await done("auth.device_approve", { as: owner, body: { user_code: device.user_code } });
  const session = await done("auth.device_token", {
    body: { device_code: device.device_code },
    headers: { "user-agent": Buffer.from(text.slice(0, 200)).toString("latin1") },
  });
  for (const secret of [key.api_key, device.device_code, session.token]) secrets.add(secret);

  await done("teams.add_server", { as: owner, params, body: { sid } });
  await done("teams.change_role", { as: owner, params: { tid, member_uid: member.uid }, body: { role: "viewer" } });
  await done("teams.change_role", { as: owner, params: { tid, member_uid: member.uid }, body: { role: "member" } });
  await read({ owner, member, tid, sid }, shown, session.token);
  await done("teams.remove_server", { as: owner, params: { tid, sid } });
  await done("keys.revoke", { as: owner, params: { key_id: key.id } });

  const { data: log } = (await call("users.activity", { as: owner, query: "?limit=10" })).body;
  const details = log.map(({ detail }: { detail: string }) => detail).join("\n");
  for (const said of [`to the team ${shown}.`, `the API key ${shown}, which`, `a sign-in of ${shown}.`, `from the team ${shown}.`])
    expect(details).toContain(said);
}

/** Every read there is, by the owner with each kind of credential and by the member. */
async function read({ owner, member, tid }: Household, shown: string, session: string): Promise<void> {
  const name = { first_name: shown, last_name: shown };
  for (const as of [owner, member]) {
    expect(await done("users.get", { as })).toMatchObject(name);
    const members = [expect.objectContaining({ uid: owner.uid, ...name }), expect.objectContaining({ uid: member.uid, ...name })];
    expect(await done("teams.get", { as, params: { tid } })).toMatchObject({ name: shown, members });
    expect(await done("teams.list", { as })).toEqual([expect.objectContaining({ tid, name: shown, members })]);
    for (const other of ["users.pending", "users.login_history", "users.activity", "pending.outgoing"]) await done(other, { as });
  }
  expect(await done("users.me", { as: session })).toMatchObject(name);
  expect(await done("keys.list", { as: owner })).toContainEqual(expect.objectContaining({ kind: "scoped", name: shown }));
  for (const open of ["billing.plans", "meta.catalog", "meta.version"]) await done(open, { as: owner });
}

test("names stay the same inert text in everything that shows or uses them", { timeout: 120_000 }, async () => {
  const taken = texts.filter((text) => fits(text, 1, 64));
  expect(taken.length).toBeGreaterThan(200);
  const homes = await Promise.all(Array.from({ length: 4 }, household));
  // A household for each lane: a name that one of them has is not in another's way.
  await inLanes(homes, homes.length, async (home) => {
    for (const [index, text] of taken.entries()) if (index % homes.length === homes.indexOf(home)) await live(home, text);
    await done("teams.leave", { as: home.member, params: { tid: home.tid } });
    await done("teams.delete", { as: home.owner, params: { tid: home.tid } });
  });
});

test("a text that is refused leaves no trace", async () => {
  const { owner, tid } = await household();
  const before = await call("users.activity", { as: owner });
  for (const text of texts.filter((each) => !isClean(each) || [...normal(each)].length > 100)) {
    for (const [name, using] of Object.entries({
      "users.update": { body: { last_name: text } },
      "teams.rename": { params: { tid }, body: { name: text } },
      "teams.create": { body: { name: text } },
      "keys.create": { body: { name: text, scopes: ["account:read"] } },
      "auth.device": { body: { client_name: text } },
    })) {
      expect((await call(name, { as: owner, ...using })).answer.status, `${name} ${JSON.stringify(text).slice(0, 60)}`).toBe(400);
    }
  }
  expect((await call("users.activity", { as: owner })).body.total).toBe(before.body.total);
  expect(await done("users.get", { as: owner })).toMatchObject({ first_name: "owner", last_name: "" });
});

test("an invitation carries the name of its team into the message, and no header of its own", { timeout: 60_000 }, async () => {
  const owner = await world.person("host");
  const guest = await world.person("guest");
  const names = hostile("common_injection").filter((value) => typeof value === "string" && fits(value, 1, 64)) as string[];
  for (const name of names) {
    const { tid } = await done("teams.create", { as: owner, body: { name } });
    await done("teams.add_member", { as: owner, params: { tid }, body: { member_uid: guest.uid } });
    expect(await done("users.pending", { as: guest })).toContainEqual(expect.objectContaining({ type: "team_invite", detail: tid }));
  }
  const wanted = names.map((name) => `You are invited to the team ${normal(name)}`).sort();
  await expect
    .poll(
      () =>
        letters
          .filter(({ to }) => to === guest.email)
          .map(({ subject }) => subject)
          .sort(),
      { timeout: 30_000 },
    )
    .toEqual(wanted);
  const waiting = await done("pending.outgoing", { as: owner });
  expect(waiting).toHaveLength(names.length);
  for (const [index, { id }] of waiting.entries())
    await done(["pending.accept", "pending.decline"][index % 2] as string, { as: guest, params: { pending_id: id } });
  for (const { to, subject, message_id } of letters) for (const header of [to, subject, message_id]) expect(header).not.toMatch(/[\r\n]/);
});

test("an address that looks like a command is an address", { timeout: 60_000 }, async () => {
  const { owner, tid } = await household();
  const password = "a phrase that nobody guesses";
  secrets.add(password);
  let taken = 0;
  for (const address of hostile("email") as string[]) {
    const { answer, body } = await call("auth.signup", { body: { email: address, password } });
    const others = await Promise.all(["auth.forgot", "auth.resend_verification"].map((name) => call(name, { body: { email: address } })));
    const invited = await call("teams.invite", { as: owner, params: { tid }, body: { email: address } });
    for (const other of [...others, invited]) expect(other.answer.status === 400).toBe(answer.status === 400);
    if (answer.status === 400) continue;
    taken++;
    const { uid, token } = await done("auth.login", { body: { email: address.toUpperCase(), password } });
    secrets.add(token);
    expect(uid).toBe(body.data.uid);
    expect(await done("users.me", { as: token })).toMatchObject({ uid, email: normal(address) });
  }
  expect(taken).toBeGreaterThanOrEqual(4);
});

test("a password that looks like SQL or a hash opens the account, in every spelling of its letters, and nothing else does", { timeout: 60_000 }, async () => {
  const strings = [...hostile("password"), ...hostile("common_injection")].filter((value) => typeof value === "string") as string[];
  // The canary makes each findable: the bare texts also are names of things here.
  const words = strings.map((text) => `${text}#${canary}`).filter((text) => isClean(text) && [...text].length <= 128);
  expect(words.length).toBeGreaterThan(30);
  await inLanes(words.slice(0, 14).entries(), 4, async ([index, password]) => {
    const email = `secret-${index}@example.com`;
    const { uid } = await done("auth.signup", { body: { email, password } });
    for (const form of ["NFC", "NFD"] as const) secrets.add((await done("auth.login", { body: { email, password: password.normalize(form) } })).token);
    expect((await call("auth.login", { body: { email, password: `${password} ` } })).answer.status).toBe(401);
    const { token } = await done("auth.login", { body: { email, password } });
    const next = `${canary}${password}`.slice(0, 128);
    await done("users.change_password", { as: token, params: { uid }, body: { old_password: password, new_password: next } });
    expect((await call("auth.login", { body: { email, password } })).answer.status).toBe(401);
    secrets.add((await done("auth.login", { body: { email, password: next } })).token).add(token);
  });
});

test("who signs in is told by the connection, not by headers", async () => {
  const ada = await world.person("ada");
  const spoofs = ["X-Forwarded-For", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP", "Forwarded"];
  for (const header of spoofs) {
    const { token } = await done("auth.login", {
      body: { email: ada.email, password: ada.password },
      headers: { [header]: header === "Forwarded" ? "for=203.0.113.9" : "203.0.113.9", "user-agent": "<script>alert(1)</script>\t%0d%0aX: y" },
    });
    secrets.add(token);
  }
  const { data } = (await call("users.login_history", { as: ada })).body;
  expect(data.map(({ ip }: { ip: string }) => ip)).toEqual(spoofs.map(() => "127.0.0.1"));
  const kept = await world.db.selectFrom("sessions").select("user_agent").where("uid", "=", ada.uuid).execute();
  expect(new Set(kept.map(({ user_agent }) => user_agent))).toEqual(new Set(["<script>alert(1)</script>\t%0d%0aX: y"]));
});

test("the log has one line for each entry, no accident and no secret", () => {
  expect(world.logged.filter(({ level }) => level !== "info")).toEqual([]);
  const lines: string[] = [];
  const log = processLog({ write: (line) => void lines.push(line) });
  for (const { level: _, message, ...fields } of world.logged) log.info(String(message), fields);
  log.flush();
  const written = lines.join("");
  expect(written.split("\n")).toHaveLength(world.logged.length + 1);
  expect([...secrets].filter((secret) => written.includes(secret))).toEqual([]);
  expect(written).not.toMatch(/steads?_[0-9A-Za-z]{20}/);
});

test("no table and no job holds a secret in clear", async () => {
  expect(secrets.size).toBeGreaterThan(500);
  expect(secretsIn(await everythingStored(world.db), new Map([...secrets].map((secret) => [secret, secret])))).toEqual([]);
});
