import type { Client, SteadError } from "@stead/sdk/client.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { everythingStored, secretsIn } from "@stead/testkit/dump.ts";
import { medianTimes } from "@stead/testkit/median.ts";
import { type SmtpServer, startSmtp } from "@stead/testkit/smtp.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { smtpMail } from "../../outside/mail.ts";

const database = testDatabase();
let smtp: SmtpServer;
let world: World;
let ada: Person;
const secrets = new Map<string, string>();
const plant = (name: string, secret: string): string => {
  secrets.set(`${name} ${secrets.size}`, secret);
  return secret;
};

beforeAll(async () => {
  smtp = await startSmtp();
  world = await startWorld({ database_url: database.url, mail: smtpMail({ url: smtp.url, from: "stead@stead.test" }) });
  ada = await world.person("ada");
  plant("a password", ada.password);
  plant("a primary key", ada.key);
});
afterAll(async () => {
  await world.stop();
  await smtp.stop();
});

/** What a browser and its page keep of a sign-in. */
async function signIn({ email, password }: { email: string; password: string }, on = world) {
  const { body, headers } = await on.client().call("auth.login", { email, password });
  const set_cookie = headers.get("set-cookie") as string;
  const { token, expires_at } = (body as { data: { token: string; expires_at: string } }).data;
  const cookie = set_cookie.split(";")[0] as string;
  plant("a session token", token);
  plant("a refresh cookie", cookie.split("=")[1] as string);
  return { token, expires_at, set_cookie, with_cookie: { headers: { cookie } }, client: on.client(token) };
}

const refusal = (attempt: Promise<unknown>): Promise<SteadError> =>
  attempt.then(
    () => Promise.reject(new Error("it was not refused")),
    (error: unknown) => error as SteadError,
  );
const credentials = ({ email, password }: Person) => ({ email, password });
const latest = async (client: Client) => (await client.users.activity()).data[0];

/** Another process on the same database, configured otherwise. */
async function beside(env: Readonly<Record<string, string>>, act: (other: World) => Promise<void>): Promise<void> {
  const other = await startWorld({ database_url: database.url, env });
  try {
    await act(other);
  } finally {
    await other.stop();
  }
}
const limited = { STEAD_RATE_LIMITS: "password=5/900,auth=100000/60,flood=100000/1" };

describe("sign-in", () => {
  test("gives a token for 15 minutes and a cookie for its renewal only, and leaves both traces", async () => {
    const before = (await ada.client.users.login_history()).total;
    const session = await signIn({ ...ada, email: ada.email.toUpperCase() });
    expect(session.token).toMatch(/^steads_[0-9A-Za-z]{46}$/);
    expect(Date.parse(session.expires_at) - Date.now()).toBeGreaterThan(14.5 * 60_000);
    expect(Date.parse(session.expires_at) - Date.now()).toBeLessThan(15.5 * 60_000);
    expect(session.set_cookie).toMatch(
      /^__Secure-stead_refresh=[0-9A-Za-z]{43}; Path=\/api\/v2\/ext\/auth; Max-Age=2592000; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect((await session.client.users.get()).uid).toBe(ada.uid);
    const { data, total } = await ada.client.users.login_history();
    expect([total, data[0]]).toEqual([before + 1, { id: expect.stringMatching(/^lgn_/), ip: "127.0.0.1", country: "ZZ", created_at: expect.any(String) }]);
    expect(await latest(ada.client)).toMatchObject({ action: "user.login", detail: "Signed in from 127.0.0.1." });
  });

  test("the cookie's path begins with the path of the base URL", () =>
    beside({ STEAD_BASE_URL: "https://stead.test/panel" }, async (below) => {
      expect((await signIn(ada, below)).set_cookie).toContain("; Path=/panel/api/v2/ext/auth;");
    }));

  test("a cookie is no credential for anything else", async () => {
    const { with_cookie } = await signIn(ada);
    expect(await refusal(world.client().users.get({ uid: ada.uid }, with_cookie))).toMatchObject({ status: 401, code: "unauthenticated" });
  });

  test("a wrong password is 401, is remembered, and is no sign-in", async () => {
    const before = (await ada.client.users.login_history()).total;
    expect(await refusal(world.client().auth.login({ email: ada.email, password: plant("a wrong password", "a wrong phrase") }))).toMatchObject({
      status: 401,
      code: "unauthenticated",
    });
    expect(await latest(ada.client)).toMatchObject({ action: "user.login_fail", detail: "Somebody at 127.0.0.1 tried to sign in with a wrong password." });
    expect((await ada.client.users.login_history()).total).toBe(before);
  });

  test("an unknown account gets the answer of a wrong password, byte for byte and no sooner", async () => {
    const answer = async (email: string) => {
      const body = JSON.stringify({ email, password: "some phrase" });
      const response = await fetch(`${world.url}/api/v2/ext/auth/login`, { method: "POST", headers: { "content-type": "application/json" }, body });
      const headers = [...response.headers].filter(([name]) => !["date", "x-request-id", "ratelimit"].includes(name));
      return { status: response.status, headers, body: await response.text() };
    };
    expect(await answer("nobody@example.com")).toEqual(await answer(ada.email));
    const [known, unknown] = (await medianTimes(9, [() => answer(ada.email), () => answer("nobody@example.com")])) as [number, number];
    expect(unknown / known).toBeGreaterThan(0.6);
    expect(unknown / known).toBeLessThan(1.7);
  });

  test.each(["the account's address", "an address without an account"])(
    "of thirty guesses at once at %s five are heard, and then not even the right one",
    (which) =>
      beside(limited, async (strict) => {
        const person = await strict.person("victim");
        const email = which === "the account's address" ? person.email : "nobody-at-all@example.com";
        const guesses = await Promise.all(Array.from({ length: 30 }, (_, n) => refusal(strict.client().auth.login({ email, password: `guess number ${n}` }))));
        expect(guesses.filter(({ status }) => status === 401)).toHaveLength(5);
        expect(guesses.filter(({ status, message }) => status === 429 && message === "Too many requests")).toHaveLength(25);
        expect(await refusal(strict.client().auth.login({ email, password: person.password }))).toMatchObject({ status: 429, code: "rate_limited" });
        await signIn(await strict.person("bystander"), strict);
        const change = person.client.users.change_password({ old_password: person.password, new_password: "a phrase to change to" });
        if (email === person.email) expect(await refusal(change)).toMatchObject({ status: 429 });
        else expect(await change).toEqual({ message: "Password changed." });
      }),
  );

  test("right passwords use nothing up", () =>
    beside(limited, async (strict) => {
      for (let n = 0; n < 8; n++) await signIn(ada, strict);
    }));

  test("a password that changes while it is checked opens nothing", async () => {
    const eve = await world.person("eve");
    let attempt: Promise<SteadError> | undefined;
    await world.db.transaction().execute(async (tx) => {
      await tx.updateTable("users").set({ password_hash: "changed" }).where("uid", "=", eve.uuid).execute();
      attempt = refusal(world.client().auth.login(credentials(eve)));
      const waits = sql<{ n: number }>`select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      await expect.poll(async () => (await waits.execute(world.db)).rows[0]?.n, { timeout: 10_000 }).toBe(1);
    });
    expect(await attempt).toMatchObject({ status: 401 });
    expect(await world.db.selectFrom("sessions").select("session_id").where("uid", "=", eve.uuid).execute()).toEqual([]);
  });

  test("hashing holds no database connection: with two of them, reads are answered while twenty sign in", () =>
    beside({ STEAD_DATABASE_CONNECTIONS: "2" }, async (narrow) => {
      const people = await Promise.all(Array.from({ length: 20 }, (_, n) => narrow.person(`p${n}`)));
      let busy = true;
      const logins = Promise.all(people.map((person) => narrow.client().auth.login(credentials(person)))).finally(() => {
        busy = false;
      });
      const reader = narrow.client(ada.key);
      let reads = 0;
      for (; busy; reads++) await reader.users.get({ uid: ada.uid });
      expect(await logins).toHaveLength(20);
      expect(reads).toBeGreaterThan(20);
    }));
});

describe("session", () => {
  test("the cookie renews the token as long as the session lives", async () => {
    const { with_cookie } = await signIn(ada);
    const renewed = await world.client().auth.refresh({}, with_cookie);
    expect(renewed).toEqual({ token: expect.stringMatching(/^steads_/), expires_at: expect.any(String), uid: ada.uid });
    expect((await world.client(plant("a renewed token", renewed.token)).users.get()).uid).toBe(ada.uid);
    expect(await refusal(world.client().auth.refresh())).toMatchObject({ status: 401, code: "unauthenticated" });
    await sql`update sessions set expires_at = now() where uid = ${ada.uuid}`.execute(world.db);
    expect(await refusal(world.client().auth.refresh({}, with_cookie))).toMatchObject({ status: 401 });
  });

  test("an expired token is dead, its session is not", async () => {
    const { client, with_cookie } = await signIn(ada);
    await sql`update credentials set expires_at = now() where kind = 'session' and uid = ${ada.uuid}`.execute(world.db);
    expect(await refusal(client.users.get({ uid: ada.uid }))).toMatchObject({ status: 401, code: "unauthenticated" });
    expect((await world.client().auth.refresh({}, with_cookie)).uid).toBe(ada.uid);
  });

  test("signing out kills every token of the session, takes the cookie away and keeps other sessions", async () => {
    const [one, other] = [await signIn(ada), await signIn(ada)];
    const { token } = await world.client().auth.refresh({}, one.with_cookie);
    const { body, headers } = await world.client().call("auth.logout", {}, one.with_cookie);
    expect([body, headers.get("set-cookie")]).toEqual([
      { message: "Signed out." },
      "__Secure-stead_refresh=; Path=/api/v2/ext/auth; Max-Age=0; HttpOnly; Secure; SameSite=Strict",
    ]);
    for (const client of [one.client, world.client(token)]) expect(await refusal(client.users.get({ uid: ada.uid }))).toMatchObject({ status: 401 });
    expect(await refusal(world.client().auth.refresh({}, one.with_cookie))).toMatchObject({ status: 401 });
    expect((await other.client.users.get()).uid).toBe(ada.uid);
    expect(await latest(ada.client)).toMatchObject({ action: "user.logout" });
    expect(await world.client().auth.logout({}, one.with_cookie)).toEqual({ message: "Signed out." });
    expect((await latest(ada.client))?.action).toBe("user.logout");
  });
});

describe("lost password", () => {
  const resetToken = async (to: string, nth = 0) => {
    const mails = () => smtp.messages.filter((mail) => mail.to[0] === to && mail.subject === "Set a new password");
    await expect.poll(() => mails().length, { timeout: 10_000 }).toBeGreaterThan(nth);
    return plant("a reset token", /https:\/\/stead\.test\/reset#([0-9A-Za-z]{43})$/m.exec(mails()[nth]?.text ?? "")?.[1] as string);
  };

  test("the mailed token sets a password once, proves the address, and ends what was open", async () => {
    const grace = await world.person("grace", { verified: false });
    const session = await signIn(grace);
    const { device_code, user_code } = await world.client().auth.device();
    await grace.client.auth.device_approve({ user_code });
    await world.client().auth.forgot({ email: grace.email });
    const token = await resetToken(grace.email);
    await world.client().auth.forgot({ email: grace.email });
    const second = await resetToken(grace.email, 1);
    const new_password = plant("a new password", "a phrase set by mail");
    expect(await refusal(world.client().auth.reset({ token, new_password: "password123" }))).toMatchObject({
      status: 400,
      message: expect.stringContaining("`new_password`"),
    });
    expect(await refusal(world.client().auth.reset({ token, new_password: grace.email }))).toMatchObject({ status: 400 });
    expect(await world.client().auth.reset({ token, new_password })).toEqual({ message: "Password changed." });
    for (const used of [token, second])
      expect(await refusal(world.client().auth.reset({ token: used, new_password: "a third phrase" }))).toMatchObject({ status: 404 });
    expect(await refusal(session.client.users.get({ uid: grace.uid }))).toMatchObject({ status: 401 });
    expect(await refusal(world.client().auth.refresh({}, session.with_cookie))).toMatchObject({ status: 401 });
    expect(await refusal(world.client().auth.device_token({ device_code }))).toMatchObject({ status: 404 });
    expect(await grace.client.users.get()).toMatchObject({ uid: grace.uid, verified: true });
    expect(await latest(grace.client)).toMatchObject({ action: "user.password_change" });
    expect(await refusal(world.client().auth.login(credentials(grace)))).toMatchObject({ status: 401 });
    await signIn({ email: grace.email, password: new_password });
  });

  test("a token that is too old sets nothing", async () => {
    await world.client().auth.forgot({ email: ada.email });
    const token = await resetToken(ada.email);
    await sql`update one_time_tokens set expires_at = now()`.execute(world.db);
    expect(await refusal(world.client().auth.reset({ token, new_password: "a phrase that comes too late" }))).toMatchObject({ status: 404, code: "not_found" });
  });

  test.each(["auth.forgot", "auth.resend_verification"])("%s does the same work for an unknown address, and sends it nothing", async (name) => {
    const queued = async () =>
      (await sql<{ n: number }>`select count(*)::int as n from pgboss.job where name like 'auth.%'`.execute(world.db)).rows[0]?.n as number;
    const ask = async (email: string) => {
      const before = await queued();
      return [(await world.client().call(name, { email })).body, (await queued()) - before];
    };
    expect(await ask("nobody@example.com")).toEqual(await ask(ada.email));
    await expect
      .poll(
        async () =>
          (await sql<{ n: number }>`select count(*)::int as n from pgboss.job where name like 'auth.%' and state < 'completed'`.execute(world.db)).rows[0]?.n,
        { timeout: 10_000 },
      )
      .toBe(0);
    expect(smtp.messages.filter(({ to }) => to.includes("nobody@example.com"))).toEqual([]);
  });
});

describe("device", () => {
  test("signs in once a person has approved its code, once", async () => {
    const { device_code, user_code, ...rest } = await world.client().auth.device({ client_name: "Ada's laptop" });
    plant("a device code", device_code);
    expect(user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(rest).toEqual({ verification_uri: "https://stead.test/device", expires_in: 900, interval: 5 });
    expect(await refusal(world.client().auth.device_token({ device_code }))).toMatchObject({ status: 403, code: "authorization_pending" });
    expect(await refusal(ada.client.auth.device_approve({ user_code: "BBBB-BBBB" }))).toMatchObject({ status: 404 });
    expect(await ada.client.auth.device_approve({ user_code })).toEqual({ message: "Device approved." });
    expect(await latest(ada.client)).toMatchObject({ action: "user.device_approve", detail: "Approved a sign-in of Ada's laptop." });
    const eve = await world.person("eve");
    expect(await refusal(eve.client.auth.device_approve({ user_code }))).toMatchObject({ status: 404 });
    const polls = await Promise.allSettled([1, 2, 3, 4].map(() => world.client().auth.device_token({ device_code })));
    const tokens = polls.flatMap((poll) => (poll.status === "fulfilled" ? [poll.value] : []));
    expect(tokens).toEqual([{ token: expect.stringMatching(/^steads_/), expires_at: expect.any(String), uid: ada.uid }]);
    expect((await world.client(plant("a device's token", tokens[0]?.token as string)).users.get()).uid).toBe(ada.uid);
    expect(await latest(ada.client)).toMatchObject({ action: "user.login" });
  });

  test("a code that is too old is neither approved nor exchanged", async () => {
    const [fresh, approved] = [await world.client().auth.device(), await world.client().auth.device()];
    await ada.client.auth.device_approve({ user_code: approved.user_code });
    await sql`update device_logins set expires_at = now()`.execute(world.db);
    expect(await refusal(ada.client.auth.device_approve({ user_code: fresh.user_code }))).toMatchObject({ status: 404 });
    expect(await refusal(world.client().auth.device_token({ device_code: approved.device_code }))).toMatchObject({ status: 404 });
  });
});

const leaks = async () => secretsIn((await everythingStored(world.db)) + JSON.stringify(world.logged), secrets);
// After each test too, while what it left has not been used up by another.
afterEach(async () => expect(await leaks()).toEqual([]));

test("after all this, no table and no log line holds a secret", async () => {
  expect((await everythingStored(world.db)).includes(ada.email)).toBe(true);
  expect(secrets.size).toBeGreaterThan(30);
  expect(await leaks()).toEqual([]);
});
