import type { SteadError } from "@stead/sdk/client.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { everythingStored, secretsIn } from "@stead/testkit/dump.ts";
import { medianTimes } from "@stead/testkit/median.ts";
import { type ReceivedMail, type SmtpServer, startSmtp } from "@stead/testkit/smtp.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { inHours, newToken } from "../../identity/one-time.ts";
import { smtpMail } from "../../outside/mail.ts";

const password = "a phrase of the sign-up suite";
const secrets = new Map([["the password", password]]);
const plant = (name: string, secret: string): string => {
  secrets.set(`${name} ${secrets.size}`, secret);
  return secret;
};
const tokenIn = (mail: ReceivedMail): string => plant(`the token of "${mail.subject}" to ${mail.to[0]}`, /#([0-9A-Za-z]{43})$/m.exec(mail.text)?.[1] as string);
const code = (error: unknown) => (error as SteadError).code;

async function nothingLeaks(world: World): Promise<void> {
  expect(secretsIn((await everythingStored(world.db)) + JSON.stringify(world.logged), secrets)).toEqual([]);
}

describe("without a mail server", () => {
  const database = testDatabase();
  let world: World;

  beforeAll(async () => {
    world = await startWorld({ database_url: database.url });
  });
  afterEach(() => nothingLeaks(world));
  afterAll(() => world.stop());

  test("the first account needs the set-up token, whatever else is sent", async () => {
    await expect(world.client().auth.signup({ email: "root@example.com", password })).rejects.toMatchObject({
      status: 403,
      code: "signup_closed",
      message: expect.stringContaining("set-up token"),
    });
    await expect(world.client().auth.signup({ email: "root@example.com", password, invite_token: "guessed" })).rejects.toMatchObject({
      status: 403,
      code: "signup_closed",
    });
    expect(await world.db.selectFrom("users").select("uid").execute()).toEqual([]);
  });

  test("of ten that send good tokens at once, one becomes the administrator", async () => {
    const tokens = await Promise.all([1, 2].map(() => newToken(world.db, "setup", {}, inHours(new Date(), 1))));
    for (const token of tokens) plant("a set-up token", token);
    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) => world.client().auth.signup({ email: `root${n}@example.com`, password, invite_token: tokens[n % 2] as string })),
    );
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(new Set(tries.flatMap((result) => (result.status === "rejected" ? [code(result.reason)] : [])))).toEqual(new Set(["signup_closed"]));
    expect(await world.db.selectFrom("users").select("role").execute()).toEqual([{ role: "admin" }]);
  });

  test("everybody after that is a verified user on the default plan, named in NFC and trimmed", async () => {
    const { body, status } = await world.client().call("auth.signup", { email: " Ada@Example.com ", password, first_name: "  A\u0308da ", last_name: " " });
    expect([status, body]).toEqual([201, { data: { uid: expect.stringMatching(/^usr_/), email: "Ada@Example.com", verified: true } }]);
    const { token } = await world.client().auth.login({ email: "ada@example.com", password });
    const session = world.client(plant("a session token", token));
    expect(await session.users.get()).toMatchObject({
      email: "Ada@Example.com",
      first_name: "\u00c4da",
      last_name: "",
      role: "user",
      plan: "self-hosted",
      verified: true,
    });
    expect((await session.users.activity()).data.map(({ action }) => action)).toEqual(["user.login", "user.signup"]);
  });

  test("an address that has an account gets the same answer and changes nothing", async () => {
    const before = await world.db.selectFrom("users").selectAll().execute();
    const { body, status } = await world.client().call("auth.signup", { email: "ADA@example.com", password: "another phrase that would be new" });
    expect([status, body]).toEqual([201, { data: { uid: expect.stringMatching(/^usr_/), email: "ADA@example.com", verified: true } }]);
    expect(await world.db.selectFrom("users").selectAll().execute()).toEqual(before);
  });

  test("of ten that sign up with one address at once, one account is made and all hear the same", async () => {
    const tries = await Promise.all(Array.from({ length: 10 }, () => world.client().auth.signup({ email: "twin@example.com", password })));
    expect(new Set(tries.map(({ uid }) => uid)).size).toBe(10);
    expect(await world.db.selectFrom("users").select("uid").where("email", "=", "twin@example.com").execute()).toHaveLength(1);
  });

  test.each([
    ["common", "password123"],
    ["the address itself", "somebody@example.com"],
    ["seven characters", "seven77"],
    ["129 characters", "x".repeat(129)],
  ])("a password that is %s is refused by name", async (_, bad) => {
    await expect(world.client().auth.signup({ email: "somebody@example.com", password: bad })).rejects.toMatchObject({
      status: 400,
      code: "validation_failed",
      message: expect.stringContaining("`password`"),
    });
  });
});

describe("with a mail server", () => {
  const database = testDatabase();
  let smtp: SmtpServer;
  let world: World;
  let invited: World;

  beforeAll(async () => {
    smtp = await startSmtp();
    const mail = smtpMail({ url: smtp.url, from: "stead@stead.test" });
    world = await startWorld({ database_url: database.url, mail });
    invited = await startWorld({ database_url: database.url, mail, env: { STEAD_SIGNUP: "invited" } });
    await world.person("first");
  });
  afterEach(() => nothingLeaks(world));
  afterAll(async () => {
    await world.stop();
    await invited.stop();
    await smtp.stop();
  });

  const mailTo = (address: string, subject: string) => smtp.waitFor((mail) => mail.to[0] === address && mail.subject.startsWith(subject), 10_000);
  const confirm = "Confirm your e-mail address";

  test("the mailed token verifies the address once", async () => {
    expect((await world.client().auth.signup({ email: "eve@example.com", password })).verified).toBe(false);
    const mail = await mailTo("eve@example.com", confirm);
    expect(mail).toMatchObject({ from: "stead@stead.test", text: expect.stringContaining("https://stead.test/verify#") });
    const token = tokenIn(mail);
    const session = world.client((await world.client().auth.login({ email: "eve@example.com", password })).token);
    await expect(session.teams.create({ name: "Early" })).rejects.toMatchObject({ status: 403, code: "email_unverified" });
    expect(await world.client().auth.verify({ token })).toEqual({ message: "E-mail address verified." });
    await expect(world.client().auth.verify({ token })).rejects.toMatchObject({ status: 404, code: "not_found" });
    expect((await session.users.get()).verified).toBe(true);
    expect((await session.teams.create({ name: "Early" })).name).toBe("Early");
    expect((await session.users.activity()).data.map(({ action }) => action)).toEqual(["team.create", "user.verify", "user.login", "user.signup"]);
  });

  test("a token of another kind, or one that is too old, verifies nothing", async () => {
    await world.client().auth.signup({ email: "late@example.com", password });
    const token = tokenIn(await mailTo("late@example.com", confirm));
    await expect(world.client().auth.reset({ token, new_password: "a phrase that is not taken" })).rejects.toMatchObject({ status: 404 });
    await sql`update one_time_tokens set expires_at = now()`.execute(world.db);
    await expect(world.client().auth.verify({ token })).rejects.toMatchObject({ status: 404 });
  });

  test("asking again sends another mail to those who need one, and tells nobody who they are", async () => {
    const answers = await Promise.all(
      ["LATE@example.com", "eve@example.com", "nobody@example.com"].map((email) => world.client().auth.resend_verification({ email })),
    );
    expect(new Set(answers.map(({ message }) => message)).size).toBe(1);
    await expect.poll(() => smtp.messages.filter(({ to, subject }) => to[0] === "late@example.com" && subject === confirm).length, { timeout: 10_000 }).toBe(2);
    expect(smtp.messages.filter(({ to, subject }) => ["eve@example.com", "nobody@example.com"].includes(to[0] as string) && subject === confirm)).toHaveLength(
      1,
    );
    const [, second] = smtp.messages.filter(({ to }) => to[0] === "late@example.com");
    await world.client().auth.verify({ token: tokenIn(second as ReceivedMail) });
  });

  test("an address that has an account gets the same answer, the other mail, and no sooner", async () => {
    const taken = await world.client().auth.signup({ email: "eve@example.com", password });
    expect(taken).toEqual({ uid: expect.stringMatching(/^usr_/), email: "eve@example.com", verified: false });
    expect((await mailTo("eve@example.com", "You already have an account")).text).toContain("https://stead.test/login");
    let n = 0;
    const [known, unknown] = (await medianTimes(9, [
      () => world.client().auth.signup({ email: "eve@example.com", password }),
      () => world.client().auth.signup({ email: `fresh${n++}@example.com`, password }),
    ])) as [number, number];
    expect(known / unknown).toBeGreaterThan(0.6);
    expect(known / unknown).toBeLessThan(1.7);
  });

  test("by invitation only: nobody without a token, and the invited are verified by it", async () => {
    const owner = await world.person("owner");
    const { tid } = await owner.client.teams.create({ name: "Ops" });
    await expect(invited.client().auth.signup({ email: "guest@example.com", password })).rejects.toMatchObject({ status: 403, code: "signup_closed" });
    await owner.client.teams.invite({ tid, email: "Guest@example.com" });
    const invite_token = tokenIn(await mailTo("guest@example.com", "You are invited to the team Ops"));
    expect((await invited.client().auth.signup({ email: "guest@Example.com", password, invite_token })).verified).toBe(true);
    await expect(invited.client().auth.signup({ email: "second@example.com", password, invite_token })).rejects.toMatchObject({
      status: 403,
      code: "signup_closed",
    });
    const guest = world.client((await world.client().auth.login({ email: "guest@example.com", password })).token);
    expect(await guest.users.pending()).toMatchObject([{ type: "team_invite", detail: tid }]);
  });

  test("an invited address that signs up without the token finds the invitation once it is verified", async () => {
    const owner = await world.person("owner");
    const { tid } = await owner.client.teams.create({ name: "Slow" });
    await owner.client.teams.invite({ tid, email: "slow@example.com" });
    await world.client().auth.signup({ email: "slow@example.com", password });
    const session = world.client((await world.client().auth.login({ email: "slow@example.com", password })).token);
    expect(await session.users.pending()).toEqual([]);
    await world.client().auth.verify({ token: tokenIn(await mailTo("slow@example.com", confirm)) });
    const [waiting] = await session.users.pending();
    await session.pending.accept({ pending_id: waiting?.id as string });
    expect(await session.teams.list()).toMatchObject([{ tid, role: "member" }]);
  });

  test("an invitation used with another address lets them in, but proves nothing about that address", async () => {
    const owner = await world.person("owner");
    const { tid } = await owner.client.teams.create({ name: "Dev" });
    await owner.client.teams.invite({ tid, email: "private@example.com" });
    const invite_token = tokenIn(await mailTo("private@example.com", "You are invited to the team Dev"));
    expect((await invited.client().auth.signup({ email: "work@example.com", password, invite_token })).verified).toBe(false);
    expect(await owner.client.pending.outgoing()).toHaveLength(1);
  });

  test("an invitation that was taken back lets nobody in", async () => {
    const owner = await world.person("owner");
    const { tid } = await owner.client.teams.create({ name: "Gone" });
    await owner.client.teams.invite({ tid, email: "unwanted@example.com" });
    const invite_token = tokenIn(await mailTo("unwanted@example.com", "You are invited to the team Gone"));
    const [open] = await owner.client.pending.outgoing();
    await owner.client.pending.cancel({ pending_id: open?.id as string });
    await expect(invited.client().auth.signup({ email: "unwanted@example.com", password, invite_token })).rejects.toMatchObject({
      status: 403,
      code: "signup_closed",
    });
  });

  test("somebody invited by uid and by address verifies and finds one invitation", async () => {
    const owner = await world.person("owner");
    const { tid } = await owner.client.teams.create({ name: "Twice" });
    const { uid } = await world.client().auth.signup({ email: "twice@example.com", password });
    await owner.client.teams.add_member({ tid, member_uid: uid });
    await owner.client.teams.invite({ tid, email: "twice@example.com" });
    await world.client().auth.verify({ token: tokenIn(await mailTo("twice@example.com", confirm)) });
    const session = world.client((await world.client().auth.login({ email: "twice@example.com", password })).token);
    expect(await session.users.pending()).toHaveLength(1);
  });
});

test("there were secrets to look for after each of these", () => expect(secrets.size).toBeGreaterThan(10));
