/** Long work: a change is accepted at once, and its operation tells when the server has caught up. */
import Type from "typebox";
import { count, Id, moment, Nullable, oneOf, Timestamp, text } from "./fields.ts";
import { data, onUser, operation, page, pageQuery } from "./operation.ts";

const statuses = ["queued", "running", "succeeded", "failed"] as const;

export const LongOperation = Type.Object({
  oid: Id("oid"),
  type: text({ description: "The name of the action, as in the activity log." }, "database.create"),
  status: oneOf(statuses, "succeeded"),
  progress: count(100, { minimum: 0, maximum: 100 }),
  step: text({ description: "What is being done now; empty when nothing is." }, ""),
  resource: Type.Object({ type: text({}, "database"), id: text({}, "db_01jcpv1w2n9w5eph2j1v0a7q3r") }),
  sid: Id("sid"),
  error: Nullable(Type.Object({ code: text({}, "apply_failed"), message: text({}, "The database server did not start.") }), null),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  finished_at: Nullable(moment("2026-11-15T09:30:04.000Z")),
});

// A key that may start work may also follow it, whatever its scope: whoever knows the id was told it in an answer.
export const operations = {
  get: operation({
    method: "GET", path: onUser("/ext/operations/{oid}"), scope: "user", effect: "read", needs: "any",
    summary: "Get one operation",
    reply: data(LongOperation),
  }),
  list: operation({
    method: "GET", path: onUser("/ext/operations"), scope: "user", effect: "read", needs: "servers:read",
    summary: "List operations, newest first",
    query: Type.Object({
      sid: Type.Optional(text({ minLength: 1, maxLength: 64, description: "Only operations on this server.", says: "must be an identifier" }, "srv_01jcpv1w2n9w5eph2j1v0a7q3r")),
      status: Type.Optional(oneOf(statuses, "running", { description: "Only operations in this state." })),
      page: pageQuery.properties.page,
      limit: pageQuery.properties.limit,
    }),
    reply: page(LongOperation),
  }),
  stream: operation({
    method: "GET", path: onUser("/ext/operations/{oid}/stream"), scope: "user", effect: "read", needs: "any",
    summary: "Follow one operation until it ends, as server-sent events",
    reply: LongOperation, stream: true,
  }),
};
