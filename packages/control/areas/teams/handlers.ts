/** Teams: whoever owns one decides who is in it and which of their own servers it reaches. */
import { Fault } from "@stead/base/fault.ts";
import { formatId, parseId } from "@stead/base/id.ts";
import type { teams } from "@stead/contract/teams.ts";
import { sql } from "kysely";
import { getSeenServer } from "../../db/servers.ts";
import { type Handlers, many, one } from "../../http/handler.ts";
import { inviteMail } from "./jobs.ts";
import * as store from "./store.ts";

const noMember = () => new Fault("not_found", "not_found", "Member not found.");
const notTheOwner = (what: string) => new Fault("forbidden", "role_insufficient", `The owner cannot ${what}. Delete the team instead.`);

export const handlers: Handlers<typeof teams> = {
  list: many((db, { uid }) => store.list(db, uid as string)),
  get: one((db, { uid, tid }) => store.get(db, uid as string, tid as string)),

  async create({ tx, actor, body, headers, record }) {
    const team = await store.insert(tx, actor.uid, body.name);
    record({ action: "team.create", detail: `Created the team ${body.name}.` });
    headers.location = `/api/v2/ext/teams/${formatId("team", team.tid)}/users/${formatId("usr", actor.uid)}`;
    return { data: team as never };
  },

  async add_member({ tx, deps, actor, team, body, record }) {
    const uid = parseId("usr", body.member_uid);
    const user = uid && (await tx.selectFrom("users").select(["uid", "email"]).where("uid", "=", uid).executeTakeFirst());
    if (!user) throw new Fault("not_found", "not_found", "User not found.");
    await store.requireMemberRoom(tx, actor.uid);
    const id = await store.invite(tx, { tid: team.tid, asked_by: actor.uid, now: deps.clock.now() }, { uid: user.uid, email: null });
    await deps.jobs.send(tx, inviteMail, { id });
    record({ action: "team.invite", detail: `Invited ${user.email} to the team ${team.name}.` });
    return { message: "Invitation sent." };
  },

  async invite({ tx, deps, actor, team, body, record }) {
    await store.requireMemberRoom(tx, actor.uid);
    const email = body.email.toLowerCase();
    const user = await tx
      .selectFrom("users")
      .select("uid")
      .where(sql<string>`lower(email)`, "=", email)
      .where("verified_at", "is not", null)
      .executeTakeFirst();
    const id = await store.invite(
      tx,
      { tid: team.tid, asked_by: actor.uid, now: deps.clock.now() },
      user ? { uid: user.uid, email: null } : { uid: null, email },
    );
    await deps.jobs.send(tx, inviteMail, { id });
    record({ action: "team.invite", detail: `Invited ${body.email} to the team ${team.name}.` });
    return { message: "Invitation sent." };
  },

  async add_server({ tx, actor, team, body, record }) {
    const server = await getSeenServer(tx, actor, body.sid);
    if (!server.owned) throw new Fault("forbidden", "owner_only", "Only the owner of a server can add it to a team.");
    await store.addServer(tx, team.tid, server.sid);
    record({ action: "team.add_server", detail: `Added the server ${server.name} to the team ${team.name}.`, sid: server.sid });
    return { message: "Server added to the team." };
  },

  async rename({ tx, team, body, record }) {
    if (body.name !== team.name) {
      await store.rename(tx, team.tid, body.name);
      record({ action: "team.rename", detail: `Renamed the team ${team.name} to ${body.name}.` });
    }
    return { data: { tid: team.tid, name: body.name } };
  },

  async delete({ tx, team, record }) {
    // Invitations first, as who answers one takes it before the team: the other way round they would wait for each other.
    await tx.deleteFrom("pending").where("tid", "=", team.tid).execute();
    await tx.deleteFrom("teams").where("tid", "=", team.tid).execute();
    record({ action: "team.delete", detail: `Deleted the team ${team.name}.` });
    return { message: "Team deleted." };
  },

  async remove_member({ tx, team, params, record }) {
    if (params.member_uid === team.owner_uid) throw notTheOwner("be removed");
    const member = await store.removeMember(tx, team.tid, params.member_uid);
    if (member) {
      record({ action: "team.remove_member", detail: `Removed ${member.email} from the team ${team.name}.`, uid: params.member_uid });
      return { message: "Member removed." };
    }
    const invited = await store.removeInvitation(tx, team.tid, params.member_uid);
    if (!invited) throw noMember();
    record({ action: "team.cancel_invite", detail: `Took back the invitation of ${invited.email} to the team ${team.name}.` });
    return { message: "Member removed." };
  },

  async change_role({ tx, team, params, body, record }) {
    if (params.member_uid === team.owner_uid) throw notTheOwner("have another role");
    if ((await store.findRole(tx, team.tid, params.member_uid)) === body.role) return { message: "Role changed." };
    const changed = await store.changeRole(tx, team.tid, params.member_uid, body.role as "member" | "viewer");
    if (!changed) throw noMember();
    record({ action: "team.change_role", detail: `Made ${changed.email} a ${body.role} of the team ${team.name}.`, uid: params.member_uid });
    return { message: "Role changed." };
  },

  async remove_server({ tx, team, server, record }) {
    const removed = await store.removeServer(tx, team.tid, server.sid);
    if (!removed) throw new Fault("not_found", "not_found", "Server not found.");
    record({ action: "team.remove_server", detail: `Removed the server ${removed.name} from the team ${team.name}.`, sid: server.sid });
    return { message: "Server removed from the team." };
  },

  async leave({ tx, actor, team, record }) {
    if (team.role === "owner") throw notTheOwner("leave");
    await tx.deleteFrom("team_members").where("tid", "=", team.tid).where("uid", "=", actor.uid).execute();
    record({ action: "team.leave", detail: `Left the team ${team.name}.`, uid: team.owner_uid });
    return { message: "You left the team." };
  },
};
