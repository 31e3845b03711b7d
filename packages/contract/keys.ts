/** API keys beside the primary one: named, limited in what, where and how long. */
import Type from "typebox";
import { ApiKey, Cidr, FutureTime, Id, Label, moment, Nullable, oneOf, Ref, Timestamp, text } from "./fields.ts";
import { data, grants, list, message, onUser, operation } from "./operation.ts";

const Scopes = Type.Array(oneOf(grants, "sites:read"));

export const Key = Type.Object({
  id: Id("key_id"),
  name: text({}, "deploy"),
  kind: oneOf(["primary", "scoped"], "scoped"),
  last4: text({ description: "The last four characters of the key." }, "x9Qf"),
  scopes: Scopes,
  sids: Nullable(Type.Array(Id("sid"))),
  cidrs: Nullable(Type.Array(Cidr)),
  expires_at: Nullable(moment("2027-11-15T09:30:00.000Z")),
  created_at: Timestamp,
});

export const keys = {
  list: operation({
    method: "GET", path: onUser("/ext/apikeys"), scope: "user", effect: "read", needs: "full",
    summary: "List the API keys",
    reply: list(Key),
  }),
  create: operation({
    method: "POST", path: onUser("/ext/apikeys"), scope: "user", effect: "change", needs: "full",
    summary: "Create an API key; the key is shown only here",
    body: Type.Object({
      name: Label,
      scopes: Type.Array(oneOf(grants, "sites:read"), { minItems: 1, maxItems: grants.length, says: "must be a list of one or more scopes" }),
      expires_at: Type.Optional(FutureTime),
      sids: Type.Optional(Type.Array(Ref("sid"), { minItems: 1, maxItems: 100, description: "Only these servers; without it, all.", says: "must be a list of 1 to 100 servers" })),
      cidrs: Type.Optional(Type.Array(Cidr, { minItems: 1, maxItems: 50, description: "Only from these addresses; without it, from anywhere.", says: "must be a list of 1 to 50 address ranges" })),
    }),
    reply: data(Type.Object({ ...Key.properties, api_key: ApiKey })), status: 201,
    secret: true, unverified: true, faults: ["already_performed"],
  }),
  revoke: operation({
    method: "DELETE", path: onUser("/ext/apikeys/{key_id}"), scope: "user", effect: "change", needs: "full",
    summary: "Revoke an API key; it is dead at once",
    reply: message("API key revoked."), unverified: true,
  }),
};
