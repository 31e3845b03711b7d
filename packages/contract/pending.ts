/** Pending confirmations: what waits for somebody's word, answered by the one asked or taken back by the one who asked. */
import { list, message, onUser, operation } from "./operation.ts";
import { Pending } from "./users.ts";

export const pending = {
  outgoing: operation({
    method: "GET", path: onUser("/ext/pending/outgoing"), scope: "user", effect: "read", needs: "account:read",
    summary: "List the confirmations that this user asked of others",
    reply: list(Pending),
  }),
  accept: operation({
    method: "POST", path: onUser("/ext/pending/{pending_id}/accept"), scope: "user", effect: "change", needs: "account:write",
    summary: "Accept a server transfer or a team invitation",
    reply: message("Accepted."), consumes: true, faults: ["plan_limit", "expired"],
  }),
  decline: operation({
    method: "POST", path: onUser("/ext/pending/{pending_id}/decline"), scope: "user", effect: "change", needs: "account:write",
    summary: "Decline a server transfer or a team invitation",
    reply: message("Declined."), consumes: true,
  }),
  cancel: operation({
    method: "DELETE", path: onUser("/ext/pending/{pending_id}"), scope: "user", effect: "change", needs: "account:write",
    summary: "Take back a confirmation that this user asked of another",
    reply: message("Cancelled."),
  }),
};
