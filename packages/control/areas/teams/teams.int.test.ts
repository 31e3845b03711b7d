import type { SteadError } from "@stead/sdk/client.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { seedPlans } from "../index.ts";

const database = testDatabase();
let world: World;
let ada: Person;
let grace: Person;
let eve: Person;
const nobody = "usr_01jcpv1w2n9w5eph2j1v0a7q3r";
const nothing = "srv_01jcpv1w2n9w5eph2j1v0a7q3r";

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
});
afterAll(() => world.stop());
beforeEach(async () => {
  [ada, grace, eve] = await Promise.all([world.person("ada"), world.person("grace"), world.person("eve")]);
});

/** Ada's team, with Grace in it. */
async function team(role: "member" | "viewer" = "member") {
  const { tid } = await ada.client.teams.create({ name: "Operations" });
  await join(tid, grace);
  if (role === "viewer") await ada.client.teams.change_role({ tid, member_uid: grace.uid, role });
  return tid;
}

async function join(tid: string, person: Person) {
  await ada.client.teams.add_member({ tid, member_uid: person.uid });
  const [waiting] = await person.client.users.pending();
  await person.client.pending.accept({ pending_id: waiting?.id as string });
}

const actions = async (person: Person) =>
  (await person.client.users.activity({ limit: 100 })).data.map(({ action }) => action).filter((action) => action.startsWith("team."));
const codes = (results: PromiseSettledResult<unknown>[]) =>
  results.map((result) => (result.status === "fulfilled" ? "ok" : (result.reason as SteadError).code));
const times = (n: number, work: (n: number) => Promise<unknown>) => Promise.allSettled(Array.from({ length: n }, (_, index) => work(index)));

describe("creating", () => {
  test("gives the whole record in its order, an address that shows it, and one entry of activity", async () => {
    const { body, status, headers } = await ada.client.call("teams.create", { name: "  Cafe\u0301  " });
    const { data } = body as { data: { tid: string } };
    expect(status).toBe(201);
    expect(Object.entries(data)).toEqual([
      ["tid", expect.stringMatching(/^team_/)],
      ["name", "Caf\u00e9"],
      ["owner_uid", ada.uid],
      ["role", "owner"],
      ["members", [{ uid: ada.uid, email: ada.email, first_name: "ada", last_name: "", role: "owner", status: "active" }]],
      ["servers", []],
      ["created_at", expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)],
    ]);
    const shown = await fetch(world.url + headers.get("location"), { headers: { authorization: `Bearer ${ada.key}` } });
    expect(await shown.json()).toEqual(body);
    expect(await actions(ada)).toEqual(["team.create"]);
  });

  test.each([
    ["the same", "Caf\u00e9"],
    ["other case", "CAF\u00c9"],
    ["another normal form and blanks", " cafe\u0301 "],
  ])("a name that the user already has is 409: %s", async (_, name) => {
    await ada.client.teams.create({ name: "Caf\u00e9" });
    await expect(ada.client.teams.create({ name })).rejects.toMatchObject({ status: 409, code: "name_taken" });
    expect((await grace.client.teams.create({ name })).owner_uid).toBe(grace.uid);
  });

  test("of ten at once with one name, one is made", async () => {
    expect(codes(await times(10, () => ada.client.teams.create({ name: "Race" }))).filter((code) => code !== "name_taken")).toEqual(["ok"]);
  });

  test.each([[""], ["   "], ["x".repeat(65)], ["two\nlines"]])("the name %j is 400", async (name) => {
    await expect(ada.client.teams.create({ name })).rejects.toMatchObject({ status: 400, code: "validation_failed" });
  });

  test("64 characters are 64 characters, whatever their bytes", async () => {
    expect((await ada.client.teams.create({ name: "🏗".repeat(64) })).name).toBe("🏗".repeat(64));
  });
});

describe("seeing", () => {
  test("owner and members list the team; the invited are shown to the owner alone, and see nothing", async () => {
    const tid = await team();
    await ada.client.teams.add_member({ tid, member_uid: eve.uid });
    const statuses = async (person: Person) =>
      (await person.client.teams.list()).map(({ role, members }) => [role, members.map(({ uid, status }) => [uid, status])]);
    expect(await statuses(ada)).toEqual([
      [
        "owner",
        [
          [ada.uid, "active"],
          [grace.uid, "active"],
          [eve.uid, "invited"],
        ],
      ],
    ]);
    expect(await statuses(grace)).toEqual([
      [
        "member",
        [
          [ada.uid, "active"],
          [grace.uid, "active"],
        ],
      ],
    ]);
    expect(await statuses(eve)).toEqual([]);
    await expect(eve.client.teams.get({ tid })).rejects.toMatchObject({ status: 404, message: "Team not found." });
    expect(await grace.client.teams.get({ tid })).toEqual((await grace.client.teams.list())[0]);
  });
});

describe("inviting", () => {
  test("asks; access starts with the answer", async () => {
    const { tid } = await ada.client.teams.create({ name: "Ops" });
    expect(await ada.client.teams.add_member({ tid, member_uid: grace.uid })).toEqual({ message: "Invitation sent." });
    expect(await grace.client.users.pending()).toEqual([
      { id: expect.stringMatching(/^pnd_/), type: "team_invite", detail: tid, created_at: expect.any(String) },
    ]);
    expect(await grace.client.teams.list()).toEqual([]);
    expect(await actions(ada)).toEqual(["team.invite", "team.create"]);
  });

  test("who is in, or asked already, is 409: the owner, a member, the invited", async () => {
    const tid = await team();
    const add = (member_uid: string) => ada.client.teams.add_member({ tid, member_uid });
    await add(eve.uid);
    expect(codes(await Promise.allSettled([ada, grace, eve].map(({ uid }) => add(uid))))).toEqual(["already_member", "already_member", "invite_pending"]);
    expect(codes(await Promise.allSettled([ada, grace, eve].map(({ email }) => ada.client.teams.invite({ tid, email: email.toUpperCase() }))))).toEqual([
      "already_member",
      "already_member",
      "invite_pending",
    ]);
    await ada.client.teams.invite({ tid, email: "New@example.com" });
    await expect(ada.client.teams.invite({ tid, email: "new@EXAMPLE.com" })).rejects.toMatchObject({ status: 409, code: "invite_pending" });
  });

  test("nobody is 404, an empty reference 400", async () => {
    const tid = await team();
    for (const member_uid of [nobody, "nonsense", tid])
      await expect(ada.client.teams.add_member({ tid, member_uid })).rejects.toMatchObject({ status: 404, message: "User not found." });
    await expect(ada.client.teams.add_member({ tid, member_uid: "" })).rejects.toMatchObject({ status: 400 });
  });
});

describe("the plan's limit", () => {
  const other = testDatabase();
  let service: World;

  beforeAll(async () => {
    service = await startWorld({ database_url: other.url });
    await service.db.deleteFrom("plans").execute();
    await seedPlans(service.db, "service");
  });
  afterAll(() => service.stop());

  test("one below it, of twenty invitations at once exactly one is sent, over all the owner's teams", async () => {
    [ada, grace] = await Promise.all([service.person("ada"), service.person("grace")]);
    expect((await ada.client.users.get()).plan).toBe("free");
    const tid = await team();
    const { tid: second } = await ada.client.teams.create({ name: "Second" });
    await ada.client.teams.invite({ tid: second, email: "mailbox@example.com" });
    const people = await Promise.all(Array.from({ length: 10 }, (_, n) => service.person(`p${n}`)));
    const byUid = people.map(({ uid }, n) => ada.client.teams.add_member({ tid: n % 2 ? tid : second, member_uid: uid }));
    const byMail = people.map((_, n) => ada.client.teams.invite({ tid: n % 2 ? tid : second, email: `p${n}@example.com` }));
    const outcomes = codes(await Promise.allSettled([...byUid, ...byMail]));
    expect(outcomes.filter((code) => code === "ok")).toHaveLength(1);
    expect(outcomes.filter((code) => code === "plan_limit")).toHaveLength(19);
    await expect(ada.client.teams.invite({ tid, email: "more@example.com" })).rejects.toMatchObject({
      status: 403,
      message: "Your plan allows 3 team members. Upgrade or remove one.",
    });
    await expect(ada.client.teams.add_member({ tid, member_uid: nobody })).rejects.toMatchObject({ status: 404 });
    await ada.client.teams.remove_member({ tid, member_uid: grace.uid });
    await ada.client.teams.invite({ tid, email: "room@example.com" });
  });
});

describe("servers", () => {
  test("one's own is shared, once, and leaves again", async () => {
    const tid = await team();
    const { sid } = await world.server(ada, "web-7");
    expect(await ada.client.teams.add_server({ tid, sid })).toEqual({ message: "Server added to the team." });
    await expect(ada.client.teams.add_server({ tid, sid })).rejects.toMatchObject({ status: 409, code: "already_shared" });
    expect((await grace.client.teams.get({ tid })).servers).toEqual([sid]);
    expect(await ada.client.teams.remove_server({ tid, sid })).toEqual({ message: "Server removed from the team." });
    await expect(ada.client.teams.remove_server({ tid, sid })).rejects.toMatchObject({ status: 404, message: "Server not found." });
    expect((await grace.client.teams.get({ tid })).servers).toEqual([]);
    expect((await ada.client.users.activity()).data.slice(0, 2)).toMatchObject([
      { action: "team.remove_server", detail: "Removed the server web-7 from the team Operations." },
      { action: "team.add_server", detail: "Added the server web-7 to the team Operations." },
    ]);
  });

  test("one that is merely shared with the caller is 403, a foreign or missing one 404, an empty reference 400", async () => {
    const tid = await team();
    const { sid } = await world.server(ada);
    await ada.client.teams.add_server({ tid, sid });
    const { tid: hers } = await grace.client.teams.create({ name: "Grace's" });
    await expect(grace.client.teams.add_server({ tid: hers, sid })).rejects.toMatchObject({ status: 403, code: "owner_only" });
    const foreign = await world.server(eve);
    for (const missing of [foreign.sid, nothing, "nonsense"])
      await expect(ada.client.teams.add_server({ tid, sid: missing })).rejects.toMatchObject({ status: 404, message: "Server not found." });
    await expect(ada.client.teams.add_server({ tid, sid: "" })).rejects.toMatchObject({ status: 400 });
  });
});

describe("who may do what to the team", () => {
  test.each(["member", "viewer"] as const)("a %s leaves and sees; all else is 403 owner_only; to others it is not there", async (role) => {
    const tid = await team(role);
    const { sid } = await world.server(ada);
    await ada.client.teams.add_server({ tid, sid });
    const attempts = ({ client: { teams } }: Person) => [
      teams.add_member({ tid, member_uid: eve.uid }),
      teams.invite({ tid, email: "new@example.com" }),
      teams.add_server({ tid, sid }),
      teams.rename({ tid, name: "Mine" }),
      teams.remove_member({ tid, member_uid: ada.uid }),
      teams.change_role({ tid, member_uid: grace.uid, role: "member" }),
      teams.delete({ tid }),
    ];
    expect(new Set(codes(await Promise.allSettled(attempts(grace))))).toEqual(new Set(["owner_only"]));
    expect(new Set(codes(await Promise.allSettled([...attempts(eve), eve.client.teams.leave({ tid }), eve.client.teams.get({ tid })])))).toEqual(
      new Set(["not_found"]),
    );
    await expect(grace.client.teams.remove_server({ tid, sid })).rejects.toMatchObject({ status: 403, code: "owner_only" });
    expect((await grace.client.teams.get({ tid })).role).toBe(role);
    expect(await grace.client.teams.leave({ tid })).toEqual({ message: "You left the team." });
    await expect(grace.client.teams.get({ tid })).rejects.toMatchObject({ status: 404 });
    for (const person of [ada, grace]) expect((await actions(person)).filter((action) => action === "team.leave")).toHaveLength(1);
  });

  test("the owner neither leaves nor is removed nor has another role", async () => {
    const tid = await team();
    const { teams } = ada.client;
    const attempts = [teams.leave({ tid }), teams.remove_member({ tid, member_uid: ada.uid }), teams.change_role({ tid, member_uid: ada.uid, role: "viewer" })];
    expect(codes(await Promise.allSettled(attempts))).toEqual(["role_insufficient", "role_insufficient", "role_insufficient"]);
  });

  test("renaming keeps names apart, also from itself in another case, and nothing to do is no activity", async () => {
    const tid = await team();
    await ada.client.teams.create({ name: "Taken" });
    expect(await ada.client.teams.rename({ tid, name: " OPERATIONS " })).toEqual({ tid, name: "OPERATIONS" });
    await ada.client.teams.rename({ tid, name: "OPERATIONS" });
    await expect(ada.client.teams.rename({ tid, name: "taken" })).rejects.toMatchObject({ status: 409, code: "name_taken" });
    expect((await actions(ada)).filter((action) => action === "team.rename")).toHaveLength(1);
    const others = await Promise.all([1, 2, 3, 4, 5].map((n) => ada.client.teams.create({ name: `Team ${n}` })));
    expect(
      codes(await Promise.allSettled(others.map((other) => ada.client.teams.rename({ tid: other.tid, name: "Free" })))).filter((code) => code !== "name_taken"),
    ).toEqual(["ok"]);
  });

  test("a role is changed, a member removed, each said once to both", async () => {
    const tid = await team();
    const { teams } = ada.client;
    expect(await teams.change_role({ tid, member_uid: grace.uid, role: "viewer" })).toEqual({ message: "Role changed." });
    await teams.change_role({ tid, member_uid: grace.uid, role: "viewer" });
    await expect(teams.change_role({ tid, member_uid: grace.uid, role: "owner" as "member" })).rejects.toMatchObject({ status: 400 });
    expect((await grace.client.teams.get({ tid })).role).toBe("viewer");
    expect(await teams.remove_member({ tid, member_uid: grace.uid })).toEqual({ message: "Member removed." });
    expect(await grace.client.teams.list()).toEqual([]);
    expect((await grace.client.users.activity()).data[0]).toMatchObject({
      action: "team.remove_member",
      detail: `Removed ${grace.email} from the team Operations.`,
    });
    for (const person of [ada, grace]) expect((await actions(person)).slice(0, 3)).toEqual(["team.remove_member", "team.change_role", "team.join"]);
    for (const member_uid of [grace.uid, nobody]) {
      await expect(teams.remove_member({ tid, member_uid })).rejects.toMatchObject({ status: 404, message: "Member not found." });
      await expect(teams.change_role({ tid, member_uid, role: "member" })).rejects.toMatchObject({ status: 404 });
    }
  });

  test("removing one who is only invited takes the invitation back", async () => {
    const tid = await team();
    await ada.client.teams.add_member({ tid, member_uid: eve.uid });
    await ada.client.teams.remove_member({ tid, member_uid: eve.uid });
    expect(await eve.client.users.pending()).toEqual([]);
    expect((await actions(ada))[0]).toBe("team.cancel_invite");
  });

  test("a deleted team is gone for all, with its invitations", async () => {
    const tid = await team();
    await ada.client.teams.add_member({ tid, member_uid: eve.uid });
    expect(await ada.client.teams.delete({ tid })).toEqual({ message: "Team deleted." });
    for (const person of [ada, grace]) expect(await person.client.teams.list()).toEqual([]);
    expect(await eve.client.users.pending()).toEqual([]);
    expect(await ada.client.pending.outgoing()).toEqual([]);
    expect((await ada.client.users.activity()).data[0]).toMatchObject({ action: "team.delete", detail: "Deleted the team Operations." });
  });
});
