/**
 * What a team opens, for every operation on a server, mounted or not yet: the edge's own check is asked, with the
 * objects of the path in place. The tables of decisions 2.7 are said here again, in the words of the contract.
 */
import { randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import { everyOperation } from "@stead/contract/index.ts";
import { join, makeKey, makeTeam, share, type Thing } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { access } from "../../http/access.ts";
import { hashOf } from "../../identity/credential.ts";

const database = testDatabase();
let world: World;
let owner: Person;
let member: Person;
let viewer: Person;
let stranger: Person;
let team: Thing;
let ids: Record<string, string>;

const below = {
  wid: "websites",
  did: "databases",
  dbuid: "database_users",
  kid: "ssh_keys",
  suid: "system_users",
  cid: "crons",
  fid: "ftp_accounts",
  eid: "email_accounts",
  forwarder_id: "email_forwarders",
  backup_id: "backups",
};

/** A server with one of everything on it. */
async function furnishedServer(of: Person): Promise<Record<string, string>> {
  const { uuid: sid } = await world.server(of);
  const made: Record<string, string> = { sid };
  for (const [id, table] of Object.entries(below)) {
    made[id] = randomUUIDv7();
    const parent = ["fid", "eid", "forwarder_id", "backup_id"].includes(id) ? "wid" : "sid";
    await sql`insert into ${sql.table(table)} (${sql.ref(id)}, ${sql.ref(parent)}, name, generation) values (${made[id]}, ${made[parent]}, 'x', 1)`.execute(
      world.db,
    );
  }
  return made;
}

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  [owner, member, viewer, stranger] = (await Promise.all(["owner", "member", "viewer", "stranger"].map((name) => world.person(name)))) as [
    Person,
    Person,
    Person,
    Person,
  ];
  team = await makeTeam(world, owner);
  await join(world, team, member, "member");
  await join(world, team, viewer, "viewer");
  ids = { ...(await furnishedServer(owner)), tid: team.uuid };
  await share(world, team, ids.sid as string);
});
afterAll(() => world.stop());

type Named = (typeof everyOperation)[number];

/** "in", or the code of the refusal. */
async function asks({ uuid: uid, key }: { uuid: string; key: string }, { op }: Named, on: Record<string, string> = ids): Promise<string> {
  try {
    const { missing } = await access(op, null).check(world.db, { hash: hashOf(key), ip: "192.0.2.1", ids: { ...on, uid }, values: {} }, () => {});
    return missing ? missing.code : "in";
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
}

const onServers = everyOperation.filter(({ op }) => op.path.includes("{sid}"));
const named = (name: string) => onServers.find((operation) => operation.name === name) as Named;
/** Delete, transfer, and whether the team has it. */
const ownerOnly = new Set(["servers.delete", "servers.transfer", "teams.remove_server"]);
/** Reads that hand out a way in. */
const notForViewers = new Set(["servers.install"]);

test("there are operations to ask about", () => expect(onServers.length).toBeGreaterThan(55));

describe.each(onServers)("$name", (operation) => {
  const { name, op } = operation;
  const closed = ownerOnly.has(name);
  const looks = op.effect === "read" && !notForViewers.has(name);

  test("the server's owner may", async () => expect(await asks(owner, operation)).toBe("in"));
  test(closed ? "a member may not" : "a member may", async () => expect(await asks(member, operation)).toBe(closed ? "owner_only" : "in"));
  test(looks ? "a viewer may" : "a viewer may not", async () =>
    expect(await asks(viewer, operation)).toBe(closed ? "owner_only" : looks ? "in" : "role_insufficient"),
  );
  test("for others it is not there", async () => expect(await asks(stranger, operation)).toBe("not_found"));
});

describe("access begins and ends with", () => {
  const look = named("servers.get");
  const change = named("servers.rename");

  test("the share: what leaves the team is not there for members at once", async () => {
    const { uuid: sid, sid: shown } = await world.server(owner);
    const on = { sid };
    expect(await asks(member, look, on)).toBe("not_found");
    await owner.client.teams.add_server({ tid: team.id, sid: shown });
    expect([await asks(member, change, on), await asks(viewer, look, on)]).toEqual(["in", "in"]);
    await owner.client.teams.remove_server({ tid: team.id, sid: shown });
    expect([await asks(member, look, on), await asks(owner, change, on)]).toEqual(["not_found", "in"]);
  });

  test("the membership: accepting opens, being removed or leaving closes", async () => {
    const guest = await world.person("guest");
    const enter = async () => {
      await owner.client.teams.add_member({ tid: team.id, member_uid: guest.uid });
      expect(await asks(guest, look)).toBe("not_found");
      const [waiting] = await guest.client.users.pending();
      await guest.client.pending.accept({ pending_id: waiting?.id as string });
      expect(await asks(guest, change)).toBe("in");
    };
    await enter();
    await owner.client.teams.remove_member({ tid: team.id, member_uid: guest.uid });
    expect(await asks(guest, look)).toBe("not_found");
    await enter();
    await guest.client.teams.leave({ tid: team.id });
    expect(await asks(guest, look)).toBe("not_found");
  });

  test("the role, and the strongest of several counts", async () => {
    const guest = await world.person("guest");
    await join(world, team, guest, "viewer");
    expect(await asks(guest, change)).toBe("role_insufficient");
    const second = await makeTeam(world, owner);
    await join(world, second, guest, "member");
    await share(world, second, ids.sid as string);
    expect(await asks(guest, change)).toBe("in");
    await owner.client.teams.change_role({ tid: second.id, member_uid: guest.uid, role: "viewer" });
    expect(await asks(guest, change)).toBe("role_insufficient");
    await owner.client.teams.change_role({ tid: team.id, member_uid: guest.uid, role: "member" });
    expect(await asks(guest, change)).toBe("in");
  });

  test("the team: when it is deleted, nothing of it stays", async () => {
    const other = await makeTeam(world, owner);
    const { uuid: sid } = await world.server(owner);
    await join(world, other, stranger, "member");
    await share(world, other, sid);
    expect(await asks(stranger, look, { sid })).toBe("in");
    await owner.client.teams.delete({ tid: other.id });
    expect([await asks(stranger, look, { sid }), await asks(owner, look, { sid })]).toEqual(["not_found", "in"]);
  });
});

describe("a member's scoped key", () => {
  test("reaches a shared server only with its scope, and only the servers it is for", async () => {
    const key = async (limits: Parameters<typeof makeKey>[2]) => ({ uuid: member.uuid, key: (await makeKey(world, member, limits)).key });
    expect(await asks(await key({ scopes: ["servers:write"] }), named("servers.rename"))).toBe("in");
    expect(await asks(await key({ scopes: ["servers:read"] }), named("servers.rename"))).toBe("scope_missing");
    expect(await asks(await key({ scopes: ["servers:write"], sids: [ids.sid as string] }), named("servers.rename"))).toBe("in");
    expect(await asks(await key({ scopes: ["servers:write"], sids: [randomUUIDv7()] }), named("servers.rename"))).toBe("scope_missing");
  });
});
