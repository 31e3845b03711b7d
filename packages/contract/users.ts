/** Users: profile, password, primary key, history and what waits for the user's word. */
import Type from "typebox";
import { ApiKey, flag, Id, NewPassword, OldPassword, oneOf, PersonName, Phone, Timestamp, text } from "./fields.ts";
import { data, list, message, operation, page, pageQuery } from "./operation.ts";

export const User = Type.Object({
  uid: Id("uid"),
  email: text({}, "ada@example.com"),
  first_name: PersonName,
  last_name: text({ maxLength: 100, trim: true, says: "must be at most 100 characters" }, "Lovelace"),
  phone: Phone,
  role: oneOf(["user", "admin"]),
  plan: text({ description: "The subscription plan's `plan_id`." }, "free"),
  verified: flag(true, "Whether the e-mail address is verified."),
  created_at: Timestamp,
});

export const LoginEntry = Type.Object({
  id: Id("login_id"),
  ip: text({}, "192.0.2.7"),
  country: text({ description: "ISO 3166-1 alpha-2; `ZZ` when unknown." }, "DE"),
  created_at: Timestamp,
});

export const ActivityEntry = Type.Object({
  id: Id("activity_id"),
  action: text({ description: "Dotted name: category, then verb." }, "server.rename"),
  detail: text({}, "Renamed the server to web-1."),
  created_at: Timestamp,
});

export const Pending = Type.Object({
  id: Id("pending_id"),
  type: oneOf(["server_transfer", "team_invite"], "team_invite"),
  detail: text({ description: "The related `sid` or `tid`, and nothing else." }, "team_01jcpv1w2n9w5eph2j1v0a7q3r"),
  created_at: Timestamp,
});

export const users = {
  get: operation({
    method: "GET", path: "/users/{uid}", scope: "user", effect: "read", needs: "account:read",
    summary: "Get the profile",
    reply: data(User), suspended: true,
  }),
  update: operation({
    method: "PATCH", path: "/users/{uid}", scope: "user", effect: "change", needs: "account:write",
    summary: "Update the profile; only the fields that are sent change",
    body: Type.Object({ first_name: Type.Optional(User.properties.first_name), last_name: Type.Optional(User.properties.last_name), phone: Type.Optional(Phone) }),
    reply: data(Type.Pick(User, ["uid", "first_name", "last_name", "phone"])), unverified: true, match: "users.get",
  }),
  change_password: operation({
    method: "PATCH", path: "/users/{uid}/password", scope: "user", effect: "change", needs: "account:write", rate: "sensitive",
    summary: "Change the password; ends all other sessions, API keys stay",
    body: Type.Object({ old_password: OldPassword, new_password: NewPassword }),
    reply: message("Password changed."), unverified: true, faults: ["wrong_password"],
  }),
  delete: operation({
    method: "DELETE", path: "/users/{uid}", scope: "user", effect: "change", needs: "full", rate: "sensitive",
    summary: "Delete the account and everything that belongs to it; this cannot be undone",
    reply: message("Account deleted."), unverified: true, faults: ["last_admin"],
  }),
  regenerate_api_key: operation({
    method: "POST", path: "/users/{uid}/regenerate/apikey", scope: "user", effect: "change", needs: "full", rate: "sensitive",
    summary: "Replace the primary API key; the old key is dead at once and the new one is shown only here",
    reply: data(Type.Object({ api_key: ApiKey })), secret: true, unverified: true, faults: ["already_performed"],
  }),
  login_history: operation({
    method: "GET", path: "/users/{uid}/login-history", scope: "user", effect: "read", needs: "account:read",
    summary: "List sign-ins, newest first",
    query: pageQuery, reply: page(LoginEntry),
  }),
  activity: operation({
    method: "GET", path: "/users/{uid}/activity", scope: "user", effect: "read", needs: "account:read",
    summary: "List what was done by the user or to the account, newest first",
    query: pageQuery, reply: page(ActivityEntry),
  }),
  pending: operation({
    method: "GET", path: "/users/{uid}/pending", scope: "user", effect: "read", needs: "account:read",
    summary: "List the confirmations that wait for this user",
    reply: list(Pending),
  }),
  me: operation({
    method: "GET", path: "/ext/me", scope: "key", effect: "read", needs: "any",
    summary: "Get the profile of the credential's own user", suspended: true,
    reply: data(User),
  }),
};
