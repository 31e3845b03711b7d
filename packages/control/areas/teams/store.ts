import { randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import { formatId } from "@stead/base/id.ts";
import { sql } from "kysely";
import { requireRoom } from "../../db/limits.ts";
import type { Db, Tx } from "../../db/pool.ts";

const invite_days = 14;

/** Invited people are shown to the owner only. */
const members = sql<object[]>`(
  select coalesce(json_agg(json_build_object('uid', person.uid, 'email', person.email, 'first_name', person.first_name, 'last_name', person.last_name,
    'role', listed.role, 'status', listed.status) order by listed.status, listed.created_at), '[]')
  from (
    select uid, role, 'active' as status, created_at from team_members where tid = teams.tid
    union all
    select uid, 'member', 'invited', created_at from pending where tid = teams.tid and uid is not null and expires_at > now() and mine.role = 'owner'
  ) listed join users person on person.uid = listed.uid)`;

const servers = sql<string[]>`(
  select coalesce(json_agg(shared.sid order by shared.created_at), '[]')
  from team_servers shared join servers s on s.sid = shared.sid and s.ensure = 'present' where shared.tid = teams.tid)`;

export const list = (db: Db, uid: string) =>
  db
    .selectFrom("team_members as mine")
    .innerJoin("teams", "teams.tid", "mine.tid")
    .select(["teams.tid", "teams.name", "teams.owner_uid", "mine.role", members.as("members"), servers.as("servers"), "teams.created_at"])
    .where("mine.uid", "=", uid)
    .orderBy("teams.created_at");

export const get = (db: Db, uid: string, tid: string) => list(db, uid).where("teams.tid", "=", tid);

const nameTaken = (name: string) => new Fault("conflict", "name_taken", `You already own a team named \`${name}\`.`);

export async function insert(tx: Tx, owner_uid: string, name: string) {
  const team = await tx
    .insertInto("teams")
    .values({ tid: randomUUIDv7(), owner_uid, name })
    .onConflict((conflict) => conflict.expression(sql`owner_uid, lower(name)`).doNothing())
    .returning("tid")
    .executeTakeFirst();
  if (!team) throw nameTaken(name);
  await tx.insertInto("team_members").values({ tid: team.tid, uid: owner_uid, role: "owner" }).execute();
  return get(tx, owner_uid, team.tid).executeTakeFirstOrThrow();
}

export async function rename(tx: Tx, tid: string, name: string): Promise<void> {
  try {
    await tx.updateTable("teams").set({ name }).where("tid", "=", tid).execute();
  } catch (error) {
    if ((error as { constraint?: string }).constraint === "teams_owner_name") throw nameTaken(name);
    throw error;
  }
}

/** Members and open invitations of all the owner's teams count against the plan. */
export const requireMemberRoom = (tx: Tx, owner_uid: string) =>
  requireRoom(tx, owner_uid, "team_members", async () => {
    const { rows } = await sql<{ count: string }>`
      select (select count(*) from team_members m join teams t on t.tid = m.tid where t.owner_uid = ${owner_uid} and m.role <> 'owner')
        + (select count(*) from pending p join teams t on t.tid = p.tid where t.owner_uid = ${owner_uid} and p.expires_at > now()) as count`.execute(tx);
    return Number(rows[0]?.count);
  });

export interface Invitation {
  readonly tid: string;
  readonly asked_by: string;
  readonly now: Date;
}

/** Invites an account, or, where there is none yet, an address. */
export async function invite(tx: Tx, { tid, asked_by, now }: Invitation, to: { uid: string; email: null } | { uid: null; email: string }): Promise<string> {
  await tx.deleteFrom("pending").where("tid", "=", tid).where("expires_at", "<=", now).execute();
  if (to.uid !== null && (await findRole(tx, tid, to.uid))) throw new Fault("conflict", "already_member", "This user already belongs to the team.");
  const invited = await tx
    .insertInto("pending")
    .values({
      id: randomUUIDv7(),
      type: "team_invite",
      ...to,
      asked_by,
      tid,
      sid: null,
      detail: formatId("team", tid),
      expires_at: new Date(now.getTime() + invite_days * 86_400_000),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst();
  if (!invited) throw new Fault("conflict", "invite_pending", "This invitation is already waiting for an answer.");
  return invited.id;
}

export const findRole = async (tx: Tx, tid: string, uid: string) =>
  (await tx.selectFrom("team_members").select("role").where("tid", "=", tid).where("uid", "=", uid).executeTakeFirst())?.role;

export async function addServer(tx: Tx, tid: string, sid: string): Promise<void> {
  const added = await tx
    .insertInto("team_servers")
    .values({ tid, sid })
    .onConflict((conflict) => conflict.doNothing())
    .returning("sid")
    .executeTakeFirst();
  if (!added) throw new Fault("conflict", "already_shared", "This server is already in the team.");
}

/** Each of these gives the name of what it changed, or nothing where there was nothing to change. */
export const removeMember = (tx: Tx, tid: string, uid: string) =>
  tx
    .deleteFrom("team_members")
    .using("users")
    .whereRef("users.uid", "=", "team_members.uid")
    .where("tid", "=", tid)
    .where("team_members.uid", "=", uid)
    .returning("users.email")
    .executeTakeFirst();

export const removeInvitation = (tx: Tx, tid: string, uid: string) =>
  tx
    .deleteFrom("pending")
    .using("users")
    .whereRef("users.uid", "=", "pending.uid")
    .where("tid", "=", tid)
    .where("pending.uid", "=", uid)
    .returning("users.email")
    .executeTakeFirst();

export const changeRole = (tx: Tx, tid: string, uid: string, role: "member" | "viewer") =>
  tx
    .updateTable("team_members")
    .from("users")
    .set({ role })
    .whereRef("users.uid", "=", "team_members.uid")
    .where("tid", "=", tid)
    .where("team_members.uid", "=", uid)
    .returning("users.email")
    .executeTakeFirst();

export const removeServer = (tx: Tx, tid: string, sid: string) =>
  tx
    .deleteFrom("team_servers")
    .using("servers")
    .whereRef("servers.sid", "=", "team_servers.sid")
    .where("tid", "=", tid)
    .where("team_servers.sid", "=", sid)
    .returning("servers.name")
    .executeTakeFirst();
