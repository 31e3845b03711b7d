import type { SteadError } from "@stead/sdk/client.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let ada: Person;
let grace: Person;
let tid: string;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
});
afterAll(() => world.stop());
beforeEach(async () => {
  [ada, grace] = await Promise.all([world.person("ada"), world.person("grace")]);
  ({ tid } = await ada.client.teams.create({ name: "Operations" }));
});

async function invited(person = grace): Promise<string> {
  await ada.client.teams.add_member({ tid, member_uid: person.uid });
  const [waiting] = await person.client.users.pending();
  return waiting?.id as string;
}

const lastActions = async (person: Person, n: number) => (await person.client.users.activity()).data.slice(0, n).map(({ action, detail }) => [action, detail]);
const code = (result: PromiseSettledResult<unknown>) => (result.status === "fulfilled" ? "ok" : (result.reason as SteadError).code);
const isMember = async (person: Person) => (await person.client.teams.list()).some((team) => team.tid === tid);

describe("an invitation", () => {
  test("is listed to the one asked and, as outgoing, to the one who asked; to nobody else", async () => {
    const id = await invited();
    const entry = { id, type: "team_invite", detail: tid, created_at: expect.any(String) };
    const eve = await world.person("eve");
    expect([await grace.client.users.pending(), await ada.client.pending.outgoing()]).toEqual([[entry], [entry]]);
    expect([
      await ada.client.users.pending(),
      await grace.client.pending.outgoing(),
      await eve.client.users.pending(),
      await eve.client.pending.outgoing(),
    ]).toEqual([[], [], [], []]);
  });

  test("accepted: a member, and one entry in each log", async () => {
    const pending_id = await invited();
    expect(await grace.client.pending.accept({ pending_id })).toEqual({ message: "Accepted." });
    expect((await grace.client.teams.get({ tid })).role).toBe("member");
    expect([await grace.client.users.pending(), await ada.client.pending.outgoing()]).toEqual([[], []]);
    expect(await lastActions(grace, 2)).toEqual([["team.join", "Joined the team Operations."]]);
    expect(await lastActions(ada, 2)).toEqual([
      ["team.join", "Joined the team Operations."],
      ["team.invite", `Invited ${grace.email} to the team Operations.`],
    ]);
    await expect(grace.client.pending.accept({ pending_id })).rejects.toMatchObject({ status: 404, code: "not_found" });
  });

  test("declined: no member, one entry in each log, and room for another invitation", async () => {
    const pending_id = await invited();
    expect(await grace.client.pending.decline({ pending_id })).toEqual({ message: "Declined." });
    expect(await isMember(grace)).toBe(false);
    for (const person of [ada, grace]) expect((await lastActions(person, 1))[0]).toEqual(["team.decline", "Declined an invitation to the team Operations."]);
    expect(await invited()).not.toBe(pending_id);
  });

  test("taken back: no member, and an entry for the one who asked", async () => {
    const pending_id = await invited();
    expect(await ada.client.pending.cancel({ pending_id })).toEqual({ message: "Cancelled." });
    expect(await grace.client.users.pending()).toEqual([]);
    expect((await lastActions(ada, 1))[0]).toEqual(["team.cancel_invite", "Took back an invitation to the team Operations."]);
    expect(await lastActions(grace, 1)).toEqual([]);
  });

  test("is answered only by the one asked, taken back only by the one who asked; to others it is not there", async () => {
    const pending_id = await invited();
    const eve = await world.person("eve");
    const attempts = [
      ada.client.pending.accept({ pending_id }),
      ada.client.pending.decline({ pending_id }),
      grace.client.pending.cancel({ pending_id }),
      eve.client.pending.accept({ pending_id }),
      eve.client.pending.decline({ pending_id }),
      eve.client.pending.cancel({ pending_id }),
    ];
    expect((await Promise.allSettled(attempts)).map(code)).toEqual(Array(6).fill("not_found"));
    expect(await grace.client.users.pending()).toHaveLength(1);
  });

  test("that expired is listed nowhere, is 409 to accept, and makes room for a new one", async () => {
    const pending_id = await invited();
    await sql`update pending set expires_at = now() - interval '1 second'`.execute(world.db);
    expect([await grace.client.users.pending(), await ada.client.pending.outgoing(), (await ada.client.teams.get({ tid })).members.length]).toEqual([
      [],
      [],
      1,
    ]);
    await expect(grace.client.pending.accept({ pending_id })).rejects.toMatchObject({ status: 409, code: "expired" });
    expect(await isMember(grace)).toBe(false);
    await grace.client.pending.accept({ pending_id: await invited() });
    expect(await isMember(grace)).toBe(true);
  });

  test("lives for 14 days", async () => {
    await invited();
    const { expires_at } = await world.db.selectFrom("pending").select("expires_at").where("uid", "=", grace.uuid).executeTakeFirstOrThrow();
    expect(Math.round((expires_at.getTime() - Date.now()) / 86_400_000)).toBe(14);
  });
});

describe("at the same moment", () => {
  const rounds = Array.from({ length: 15 }, (_, n) => n);

  test.each([
    ["accept and cancel", (id: string) => [grace.client.pending.accept({ pending_id: id }), ada.client.pending.cancel({ pending_id: id })]],
    ["accept and decline", (id: string) => [grace.client.pending.accept({ pending_id: id }), grace.client.pending.decline({ pending_id: id })]],
    ["cancel and accept", (id: string) => [ada.client.pending.cancel({ pending_id: id }), grace.client.pending.accept({ pending_id: id })]],
    ["four times accept", (id: string) => [1, 2, 3, 4].map(() => grace.client.pending.accept({ pending_id: id }))],
  ])("%s: exactly one happens", async (name, attempts) => {
    for (const round of rounds) {
      const before = (await ada.client.users.activity()).total;
      const outcomes = (await Promise.allSettled(attempts(await invited()))).map(code);
      expect([round, outcomes.filter((outcome) => outcome === "ok").length, outcomes.filter((outcome) => outcome === "not_found").length]).toEqual([
        round,
        1,
        outcomes.length - 1,
      ]);
      expect((await ada.client.users.activity()).total).toBe(before + 2);
      const accepted = outcomes.indexOf("ok") === (name === "cancel and accept" ? 1 : 0) || name === "four times accept";
      expect(await isMember(grace)).toBe(accepted);
      if (accepted) await grace.client.teams.leave({ tid });
    }
  });

  test("accept and the end of the team: no membership stays behind, and nobody sees an accident", async () => {
    for (const round of rounds) {
      const pending_id = await invited();
      const outcomes = (await Promise.allSettled([grace.client.pending.accept({ pending_id }), ada.client.teams.delete({ tid })])).map(code);
      expect([round, outcomes[1], ["ok", "not_found"].includes(outcomes[0] as string)]).toEqual([round, "ok", true]);
      expect([await grace.client.teams.list(), await grace.client.users.pending()]).toEqual([[], []]);
      ({ tid } = await ada.client.teams.create({ name: "Operations" }));
    }
  });
});

describe("an address without an account", () => {
  const password = "a phrase of the pending suite";
  const signedUp = async (email: string) => {
    await world.client().auth.signup({ email, password });
    return world.client((await world.client().auth.login({ email, password })).token);
  };

  test("is invited; whoever signs up with it finds the invitation and joins", async () => {
    expect(await ada.client.teams.invite({ tid, email: "New.Person@Example.com" })).toEqual({ message: "Invitation sent." });
    expect(await ada.client.pending.outgoing()).toMatchObject([{ type: "team_invite", detail: tid }]);
    expect((await ada.client.teams.get({ tid })).members).toHaveLength(1);
    const other = await signedUp("somebody.else@example.com");
    expect(await other.users.pending()).toEqual([]);
    const person = await signedUp("new.person@example.COM");
    const [waiting] = await person.users.pending();
    expect((await ada.client.teams.get({ tid })).members).toMatchObject([{ status: "active" }, { status: "invited", email: "new.person@example.COM" }]);
    await person.pending.accept({ pending_id: waiting?.id as string });
    expect(await person.teams.list()).toMatchObject([{ tid, role: "member" }]);
  });

  test("that is not verified yet is asked by mail, not by account", async () => {
    const unproven = await world.person("unproven", { verified: false });
    await ada.client.teams.invite({ tid, email: unproven.email });
    expect(await unproven.client.users.pending()).toEqual([]);
    expect(await ada.client.pending.outgoing()).toHaveLength(1);
  });
});
