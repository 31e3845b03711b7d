import { randomUUIDv7 } from "node:crypto";
import { formatId, timeOf } from "@stead/base/id.ts";
import { SteadError } from "@stead/sdk/client.ts";
import { join, makeTeam } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inHours, newToken } from "../../identity/one-time.ts";

const database = testDatabase();
let world: World;
let ada: Person;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  ada = await world.person("ada");
});
afterAll(() => world.stop());

describe("profile", () => {
  test("shows the listed fields in the listed order and nothing else", async () => {
    const { body } = await ada.client.call("users.get");
    expect(Object.keys((body as { data: object }).data)).toEqual([
      "uid",
      "email",
      "first_name",
      "last_name",
      "phone",
      "role",
      "plan",
      "verified",
      "created_at",
    ]);
    expect(body).toMatchObject({ data: { uid: ada.uid, email: ada.email, first_name: "ada", plan: "self-hosted", verified: true } });
  });

  test("changes only what is sent, and says so once in the activity", async () => {
    const before = (await ada.client.users.activity()).total;
    expect(await ada.client.users.update({ phone: "+4915112345678" })).toEqual({ uid: ada.uid, first_name: "ada", last_name: "", phone: "+4915112345678" });
    const { data, total } = await ada.client.users.activity();
    expect(total).toBe(before + 1);
    expect(data[0]).toMatchObject({ action: "user.update", detail: "Changed phone of the profile." });
  });

  test("an empty change is a no-op without activity", async () => {
    const before = (await ada.client.users.activity()).total;
    await ada.client.users.update({});
    expect((await ada.client.users.activity()).total).toBe(before);
  });

  test("trims names and puts them in NFC, and takes up to 100 characters, or none", async () => {
    expect(await ada.client.users.update({ first_name: " \u00a0A\u0308da ", last_name: "\u{1f680}".repeat(100) })).toMatchObject({
      first_name: "\u00c4da",
      last_name: "\u{1f680}".repeat(100),
    });
    await expect(ada.client.users.update({ last_name: "x".repeat(101) })).rejects.toMatchObject({
      status: 400,
      message: "`last_name` must be at most 100 characters.",
    });
    expect(await ada.client.users.update({ first_name: "ada", last_name: "  " })).toMatchObject({ first_name: "ada", last_name: "" });
  });

  test.each(["+4915112345678", "+1234567", "+123456789012345", ""])("the phone number %j is kept as it is", async (phone) => {
    expect((await ada.client.users.update({ phone })).phone).toBe(phone);
    expect((await ada.client.users.get()).phone).toBe(phone);
  });

  test.each([
    "4915112345678",
    "004915112345678",
    "+0123456789",
    "+123456",
    "+1234567890123456",
    "+49 151 12345678",
    "+49151-1234567",
    "+\u0661\u0662\u0663\u0664\u0665\u0666\u0667",
    " ",
    "+4915112345678\n",
  ])("the phone number %j is 400", async (phone) => {
    await expect(ada.client.users.update({ phone })).rejects.toMatchObject({ status: 400, message: expect.stringContaining("`phone`") });
  });

  test("the e-mail address, the role and the plan are not for this call", async () => {
    for (const field of ["email", "role", "plan", "verified"])
      await expect(ada.client.users.update({ [field]: "admin" } as never)).rejects.toMatchObject({ status: 400 });
    const { headers } = await ada.client.call("users.update", { email: "new@example.com" }, { headers: { prefer: "" } });
    expect(headers.get("x-ignored-fields")).toBe("email");
    expect(await ada.client.users.get()).toMatchObject({ email: ada.email, role: "user" });
  });

  test("refuses a change that was meant for an older version", async () => {
    const { headers } = await ada.client.call("users.get");
    const etag = headers.get("etag") as string;
    await ada.client.users.update({ last_name: "Lovelace" }, { headers: { "if-match": etag } });
    await expect(ada.client.users.update({ last_name: "Byron" }, { headers: { "if-match": etag } })).rejects.toMatchObject({
      status: 412,
      code: "precondition_failed",
    });
    expect((await ada.client.users.get()).last_name).toBe("Lovelace");
  });
});

describe("primary key", () => {
  test("a new key works, the old one is dead at once, and a replay never shows it again", async () => {
    const grace = await world.person("grace");
    const { api_key } = await grace.client.users.regenerate_api_key({}, { idempotency_key: "once" });
    await expect(grace.client.users.get({ uid: grace.uid })).rejects.toMatchObject({ status: 401, code: "unauthenticated" });
    const renewed = world.client(api_key);
    expect((await renewed.users.get()).uid).toBe(grace.uid);
    await expect(renewed.users.regenerate_api_key({}, { idempotency_key: "once" })).rejects.toMatchObject({ status: 409, code: "already_performed" });
    expect((await renewed.users.get()).uid).toBe(grace.uid);
  });
});

describe("primary key and the rest", () => {
  test("a new one leaves scoped keys and sessions alone, and is not to be kept by anybody on the way", async () => {
    const hedy = await world.person("hedy");
    const scoped = await hedy.client.keys.create({ name: "deploy", scopes: ["account:read"] });
    const { token } = await world.client().auth.login({ email: hedy.email, password: hedy.password });
    const { headers } = await hedy.client.call("users.regenerate_api_key");
    expect(headers.get("cache-control")).toBe("no-store");
    for (const key of [scoped.api_key, token]) expect((await world.client(key).users.get()).uid).toBe(hedy.uid);
    expect((await world.client(token).users.activity()).data[0]).toMatchObject({
      action: "user.api_key_regenerate",
      detail: expect.stringMatching(/^Replaced the primary API key\. The new one ends in [0-9A-Za-z]{4}\.$/),
    });
  });
});

describe("password", () => {
  test("the wrong old one is 403, not 401, and changes nothing", async () => {
    const before = await world.db.selectFrom("users").select("password_hash").where("uid", "=", ada.uuid).executeTakeFirstOrThrow();
    await expect(ada.client.users.change_password({ old_password: "wrong", new_password: "something else entirely" })).rejects.toMatchObject({
      status: 403,
      code: "wrong_password",
    });
    expect(await world.db.selectFrom("users").select("password_hash").where("uid", "=", ada.uuid).executeTakeFirstOrThrow()).toEqual(before);
  });

  test("a common one is refused by name", async () => {
    await expect(ada.client.users.change_password({ old_password: ada.password, new_password: "password1" })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("`new_password`"),
    });
  });

  test.each([
    ["the old one", "Staple tr\u00e4ctor", "Staple tr\u00e4ctor"],
    ["the old one in another normal form", "Staple tr\u00e4ctor", "Staple tra\u0308ctor"],
  ])("%s again is 400", async (_, old_password, new_password) => {
    await expect(ada.client.users.change_password({ old_password, new_password })).rejects.toMatchObject({
      status: 400,
      message: "`new_password` must differ from `old_password`.",
    });
  });

  test("one's own address is 400, in any case of letters", async () => {
    await expect(ada.client.users.change_password({ old_password: ada.password, new_password: ada.email.toUpperCase() })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("e-mail"),
    });
  });

  test("one in another normal form is the same one at the door", async () => {
    const mary = await world.person("mary");
    await mary.client.users.change_password({ old_password: mary.password, new_password: "caf\u00e9 au lait" });
    expect((await world.client().auth.login({ email: mary.email, password: "cafe\u0301 au lait" })).uid).toBe(mary.uid);
  });

  test("of two changes at once one happens, and the session that made it lives on", async () => {
    const joan = await world.person("joan");
    const { token } = await world.client().auth.login({ email: joan.email, password: joan.password });
    const session = world.client(token);
    const reset = await newToken(world.db, "reset", { uid: joan.uuid }, inHours(new Date(), 1));
    const tries = await Promise.allSettled(
      ["first phrase", "second phrase"].map((new_password) => session.users.change_password({ old_password: joan.password, new_password })),
    );
    expect(tries.map((result) => (result.status === "fulfilled" ? "changed" : (result.reason as SteadError).code)).sort()).toEqual([
      "changed",
      "wrong_password",
    ]);
    expect((await session.users.get()).uid).toBe(joan.uid);
    expect((await session.users.activity()).data.filter(({ action }) => action === "user.password_change")).toHaveLength(1);
    await expect(world.client().auth.reset({ token: reset, new_password: "a third phrase" })).rejects.toMatchObject({ status: 404 });
  });

  test("a change ends the other sessions and keeps the key", async () => {
    const eve = await world.person("eve");
    const session = await world.client().auth.login({ email: eve.email, password: eve.password });
    await eve.client.users.change_password({ old_password: eve.password, new_password: "a new secret phrase" });
    await expect(world.client(session.token).users.get({ uid: eve.uid })).rejects.toBeInstanceOf(SteadError);
    expect((await world.client().auth.login({ email: eve.email, password: "a new secret phrase" })).uid).toBe(eve.uid);
    expect((await eve.client.users.get()).uid).toBe(eve.uid);
  });
});

describe("deletion", () => {
  test("keys die at once, teams go, the history is erased, servers are let go of", async () => {
    const bob = await world.person("bob");
    const { uuid: sid } = await world.server(bob);
    await bob.client.teams.create({ name: "Bob's" });
    await bob.client.users.delete();
    await expect(bob.client.users.get({ uid: bob.uid })).rejects.toMatchObject({ status: 401 });
    expect(await world.db.selectFrom("teams").select("tid").where("owner_uid", "=", bob.uuid).execute()).toEqual([]);
    expect(await world.db.selectFrom("servers").select(["owner_uid", "ensure", "wanted_generation"]).where("sid", "=", sid).executeTakeFirst()).toEqual({
      owner_uid: null,
      ensure: "absent",
      wanted_generation: "1",
    });
    await expect.poll(() => world.db.selectFrom("activity").select("id").where("uid", "=", bob.uuid).execute(), { timeout: 10_000 }).toEqual([]);
  });

  test("the last administrator stays", async () => {
    const root = await world.person("root", { role: "admin" });
    await expect(root.client.users.delete()).rejects.toMatchObject({ status: 409, code: "last_admin" });
    const second = await world.person("second", { role: "admin" });
    await second.client.users.delete();
    await expect(root.client.users.delete()).rejects.toMatchObject({ status: 409, code: "last_admin" });
  });

  test("of the last two administrators, leaving at once, one stays", async () => {
    await world.db.updateTable("users").set({ role: "user" }).execute();
    const both = [await world.person("first", { role: "admin" }), await world.person("second", { role: "admin" })];
    const tries = await Promise.allSettled(both.map(({ client }) => client.users.delete()));
    expect(tries.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await world.db.selectFrom("users").select("uid").where("role", "=", "admin").execute()).toHaveLength(1);
  });
});

describe("history", () => {
  test("sign-ins come newest first, page by page, with a true total and a walk that nothing shifts", async () => {
    const nan = await world.person("nan");
    const made = Array.from({ length: 45 }, () => randomUUIDv7());
    await world.db
      .insertInto("logins")
      .values(made.map((id) => ({ id, uid: nan.uuid, ip: "2001:db8::7", country: "DE", created_at: timeOf(id) })))
      .execute();
    const expected = [...made]
      .sort()
      .reverse()
      .map((id) => formatId("lgn", id));
    const first = await nan.client.users.login_history();
    expect(first.data.map(({ id }) => id)).toEqual(expected.slice(0, 20));
    expect(first.data[0]).toEqual({ id: expected[0], ip: "2001:db8::7", country: "DE", created_at: timeOf(made.toSorted().at(-1) as string).toISOString() });
    expect([first.total, first.page, first.limit]).toEqual([45, 1, 20]);
    const third = await nan.client.users.login_history({ page: 3, limit: 20 });
    expect(third.data.map(({ id }) => id)).toEqual(expected.slice(40));
    expect(await nan.client.users.login_history({ page: 9 })).toMatchObject({ data: [], total: 45, page: 9, limit: 20 });
    const rest = await nan.client.users.login_history({ before: expected[19] as string, limit: 100 });
    expect(rest.data.map(({ id }) => id)).toEqual(expected.slice(20));
    const walked: string[] = [];
    for await (const { id } of await nan.client.users.login_history({ limit: 7 })) walked.push(id);
    expect(walked).toEqual(expected);
    expect((await ada.client.users.login_history({ limit: 100 })).data.filter(({ id }) => expected.includes(id))).toEqual([]);
  });

  test("activity holds what I did, and what others did to what is mine, each once, newest first, and nothing else", async () => {
    const [owner, guest, other] = [await world.person("owner"), await world.person("guest"), await world.person("other")];
    const team = await makeTeam(world, owner, "Ops");
    await join(world, team, guest, "member");
    await guest.client.users.update({ first_name: "G" });
    await guest.client.teams.leave({ tid: team.id });
    await owner.client.teams.rename({ tid: team.id, name: "Dev" });
    await other.client.users.update({ first_name: "O" });
    const log = async (person: Person) => (await person.client.users.activity()).data.map(({ action, detail }) => [action, detail]);
    expect(await log(owner)).toEqual([
      ["team.rename", "Renamed the team Ops to Dev."],
      ["team.leave", "Left the team Ops."],
    ]);
    expect(await log(guest)).toEqual([
      ["team.leave", "Left the team Ops."],
      ["user.update", "Changed first_name of the profile."],
    ]);
    expect((await owner.client.users.activity()).total).toBe(2);
    expect(await log(other)).toHaveLength(1);
  });
});
