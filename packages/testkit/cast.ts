/**
 * The people of a play about who may do what, each in the place from which they try: an owner with a team and a shared
 * server, those who belong to it, those who nearly do, those who did once, and one who never will.
 */
import { randomUUIDv7 } from "node:crypto";
import { formatId } from "@stead/base/id.ts";
import { hashOf, newCredential } from "@stead/control/identity/credential.ts";
import type { Person, World } from "./world.ts";

export interface Thing {
  readonly uuid: string;
  readonly id: string;
}

export interface Cast {
  readonly world: World;
  /** Owns the team, and the server that it shares. */
  readonly owner: Person;
  readonly member: Person;
  readonly viewer: Person;
  /** Is asked to join the team, and has not answered. */
  readonly invitee: Person;
  /** Is offered the server, and has not answered. */
  readonly target: Person;
  /** Owned the server before. */
  readonly former: Person;
  readonly stranger: Person;
  /** Has no account any more, but still the key. */
  readonly deleted: Person;
  /** Was a key of the owner's. */
  readonly revoked_key: string;
  readonly team: Thing;
  readonly server: Thing;
}

const tomorrow = () => new Date(Date.now() + 86_400_000);

export async function castIn(world: World): Promise<Cast> {
  const names = ["owner", "member", "viewer", "invitee", "target", "former", "stranger", "deleted"] as const;
  const people = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await world.person(name)] as const)));
  const cast = people as Record<(typeof names)[number], Person>;
  const { owner, member, viewer, invitee, target, former, deleted } = cast;
  await world.db.deleteFrom("users").where("uid", "=", deleted.uuid).execute();
  const team = await makeTeam(world, owner);
  await join(world, team, member, "member");
  await join(world, team, viewer, "viewer");
  await makeInvitation(world, { team, by: owner, to: invitee });
  const { uuid, sid } = await world.server(former);
  await world.db.updateTable("servers").set({ owner_uid: owner.uuid }).where("sid", "=", uuid).execute();
  await share(world, team, uuid);
  await world.db
    .insertInto("pending")
    .values({ id: randomUUIDv7(), type: "server_transfer", uid: target.uuid, asked_by: owner.uuid, detail: sid, sid: uuid, expires_at: tomorrow() })
    .execute();
  return { world, ...cast, revoked_key: await revokedKey(world, owner), team, server: { uuid, id: sid } };
}

export async function makeTeam({ db }: World, owner: Person, name = `Team ${randomUUIDv7()}`): Promise<Thing> {
  const uuid = randomUUIDv7();
  await db.insertInto("teams").values({ tid: uuid, owner_uid: owner.uuid, name }).execute();
  await db.insertInto("team_members").values({ tid: uuid, uid: owner.uuid, role: "owner" }).execute();
  return { uuid, id: formatId("team", uuid) };
}

export async function join({ db }: World, team: Thing, person: Person, role: "member" | "viewer"): Promise<void> {
  await db.insertInto("team_members").values({ tid: team.uuid, uid: person.uuid, role }).execute();
}

export async function share({ db }: World, team: Thing, sid: string): Promise<void> {
  await db.insertInto("team_servers").values({ tid: team.uuid, sid }).execute();
}

export async function makeInvitation({ db }: World, { team, by, to }: { team: Thing; by: Person; to: Person }): Promise<Thing> {
  const uuid = randomUUIDv7();
  await db
    .insertInto("pending")
    .values({ id: uuid, type: "team_invite", uid: to.uuid, asked_by: by.uuid, detail: team.id, tid: team.uuid, expires_at: tomorrow() })
    .execute();
  return { uuid, id: formatId("pnd", uuid) };
}

export interface KeyLimits {
  readonly scopes?: readonly string[];
  readonly sids?: readonly string[];
  readonly cidrs?: readonly string[];
  readonly expires_at?: Date;
}

export async function makeKey(
  { db }: World,
  person: Person,
  { scopes = [], sids, cidrs, expires_at }: KeyLimits = {},
): Promise<Thing & { readonly key: string }> {
  const uuid = randomUUIDv7();
  const key = newCredential("stead_");
  await db
    .insertInto("credentials")
    .values({
      key_id: uuid,
      uid: person.uuid,
      kind: "scoped",
      hash: hashOf(key),
      last4: key.slice(-4),
      name: "deploy",
      scopes: [...scopes],
      sids: sids ? [...sids] : null,
      cidrs: cidrs ? [...cidrs] : null,
      expires_at: expires_at ?? null,
    })
    .execute();
  return { uuid, id: formatId("ak", uuid), key };
}

async function revokedKey(world: World, person: Person): Promise<string> {
  const { uuid, key } = await makeKey(world, person);
  await world.db.deleteFrom("credentials").where("key_id", "=", uuid).execute();
  return key;
}
