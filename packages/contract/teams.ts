/** Teams share servers: the owner decides who is in and what is shared. */
import Type from "typebox";
import { EmailAddress, Id, oneOf, Ref, TeamName, Timestamp, text } from "./fields.ts";
import { data, list, message, onUser, operation } from "./operation.ts";

export const TeamMember = Type.Object({
  uid: Id("uid"),
  email: text({}, "grace@example.com"),
  first_name: text({}, "Grace"),
  last_name: text({}, "Hopper"),
  role: oneOf(["owner", "member", "viewer"], "member"),
  status: oneOf(["active", "invited"]),
});

export const Team = Type.Object({
  tid: Id("tid"),
  name: TeamName,
  owner_uid: Id("uid"),
  role: oneOf(["owner", "member", "viewer"]),
  members: Type.Array(TeamMember, { description: "Those who are invited are shown to the owner only." }),
  servers: Type.Array(Id("sid")),
  created_at: Timestamp,
});

export const teams = {
  create: operation({
    method: "POST", path: onUser("/teams"), scope: "user", effect: "change", needs: "teams:write",
    summary: "Create a team",
    body: Type.Object({ name: TeamName }),
    reply: data(Team), status: 201, faults: ["plan_limit", "name_taken"],
  }),
  list: operation({
    method: "GET", path: onUser("/teams"), scope: "user", effect: "read", needs: "account:read",
    summary: "List the teams that the user owns or belongs to",
    reply: list(Team),
  }),
  add_member: operation({
    method: "POST", path: onUser("/teams/{tid}/adduser"), scope: "team", effect: "change", needs: "teams:write", role: "owner",
    summary: "Invite a user; access starts when the invitation is accepted",
    body: Type.Object({ member_uid: Ref("uid") }),
    reply: message("Invitation sent."), faults: ["owner_only", "plan_limit", "already_member", "invite_pending"],
  }),
  add_server: operation({
    method: "POST", path: onUser("/teams/{tid}/addserver"), scope: "team", effect: "change", needs: "teams:write", role: "owner",
    summary: "Give the team access to a server that the team's owner owns",
    body: Type.Object({ sid: Ref("sid") }),
    reply: message("Server added to the team."), faults: ["owner_only", "already_shared"],
  }),
  get: operation({
    method: "GET", path: onUser("/ext/teams/{tid}"), scope: "team", effect: "read", needs: "account:read",
    summary: "Get one team",
    reply: data(Team),
  }),
  rename: operation({
    method: "PATCH", path: onUser("/ext/teams/{tid}"), scope: "team", effect: "change", needs: "teams:write", role: "owner",
    summary: "Rename a team",
    body: Type.Object({ name: TeamName }),
    reply: data(Type.Pick(Team, ["tid", "name"])), faults: ["owner_only", "name_taken"],
  }),
  delete: operation({
    method: "DELETE", path: onUser("/ext/teams/{tid}"), scope: "team", effect: "change", needs: "teams:write", role: "owner",
    summary: "Delete a team; its servers stay with their owner",
    reply: message("Team deleted."), faults: ["owner_only"],
  }),
  remove_member: operation({
    method: "DELETE", path: onUser("/ext/teams/{tid}/members/{member_uid}"), scope: "team", effect: "change", needs: "teams:write", role: "owner",
    summary: "Remove a member, or take back an invitation; SSH keys that the member added go too",
    reply: message("Member removed."), faults: ["owner_only", "role_insufficient"],
  }),
  change_role: operation({
    method: "PATCH", path: onUser("/ext/teams/{tid}/members/{member_uid}"), scope: "team", effect: "change", needs: "teams:write", role: "owner",
    summary: "Change what a member may do",
    body: Type.Object({ role: oneOf(["member", "viewer"], "viewer") }),
    reply: message("Role changed."), faults: ["owner_only", "role_insufficient"],
  }),
  remove_server: operation({
    method: "DELETE", path: onUser("/ext/teams/{tid}/servers/{sid}"), scope: "team", effect: "change", needs: "teams:write", role: "owner",
    summary: "End the team's access to a server",
    reply: message("Server removed from the team."), faults: ["owner_only"],
  }),
  leave: operation({
    method: "POST", path: onUser("/ext/teams/{tid}/leave"), scope: "team", effect: "change", needs: "teams:write", role: "viewer",
    summary: "Leave a team; its owner cannot, and deletes it instead",
    reply: message("You left the team."), faults: ["role_insufficient"], consumes: true,
  }),
  invite: operation({
    method: "POST", path: onUser("/ext/teams/{tid}/invite"), scope: "team", effect: "change", needs: "teams:write", role: "owner",
    summary: "Invite somebody by e-mail address, with or without an account",
    body: Type.Object({ email: EmailAddress }),
    reply: message("Invitation sent."), faults: ["owner_only", "plan_limit", "already_member", "invite_pending"],
  }),
};
