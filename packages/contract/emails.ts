/** Mailboxes and forwarders on a website's domains. */
import Type from "typebox";
import { count, Id, Nullable, oneOf, Timestamp, text } from "./fields.ts";
import { MailAddress, MailSource, QuotaMb, ServicePassword } from "./fields-hosting.ts";
import { data, list, message, onWebsite, operation } from "./operation.ts";

export const EmailAccount = Type.Object({
  eid: Id("eid"),
  email: text({}, "info@example.com"),
  quota_mb: count(2048),
  used_mb: Nullable(count(12)),
  status: oneOf(["pending", "active", "failed"], "active"),
  created_at: Timestamp,
});

export const Forwarder = Type.Object({
  forwarder_id: Id("forwarder_id"),
  source: text({}, "sales@example.com"),
  destination: text({}, "info@example.com"),
  created_at: Timestamp,
});

export const emails = {
  create: operation({
    method: "POST", path: onWebsite("/emails"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Create a mailbox on one of the website's domains",
    body: Type.Object({ email: MailAddress, password: ServicePassword, quota_mb: Type.Optional(QuotaMb) }),
    reply: data(EmailAccount), status: 201, faults: ["plan_limit", "address_taken", "website_not_active"],
  }),
  list: operation({
    method: "GET", path: onWebsite("/emails"), scope: "website", effect: "read", needs: "sites:read",
    summary: "List the website's mailboxes",
    reply: list(EmailAccount),
  }),
  delete: operation({
    method: "DELETE", path: onWebsite("/emails/{eid}"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Delete a mailbox and its mail permanently",
    reply: message("Email account deleted."),
  }),
  create_forwarder: operation({
    method: "POST", path: onWebsite("/emailforwarders"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Forward an address, or a whole domain; a mailbox of that address keeps its copy",
    body: Type.Object({ source: MailSource, destination: MailAddress }),
    reply: data(Forwarder), status: 201, faults: ["forwarder_exists", "forwarder_loop"],
  }),
  list_forwarders: operation({
    method: "GET", path: onWebsite("/ext/emailforwarders"), scope: "website", effect: "read", needs: "sites:read",
    summary: "List the website's forwarders",
    reply: list(Forwarder),
  }),
  delete_forwarder: operation({
    method: "DELETE", path: onWebsite("/ext/emailforwarders/{forwarder_id}"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Delete a forwarder",
    reply: message("Forwarder deleted."),
  }),
};
