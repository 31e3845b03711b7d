/** DNS zones and records at the linked provider, which stays the truth: records are read from it. */
import Type from "typebox";
import { count, Id, Nullable, oneOf, Timestamp, text } from "./fields.ts";
import { DnsType, RecordContent, RecordName, Ttl, ZoneDomain } from "./fields-hosting.ts";
import { data, list, message, onUser, onZone, operation } from "./operation.ts";

export const Zone = Type.Object({
  zone_id: Id("zone_id"),
  domain: text({}, "example.com"),
  status: oneOf(["pending", "active", "error"], "active"),
  name_servers: Type.Array(text({}, "ns1.dns.example"), { description: "What the domain must be set to at its registrar." }),
  created_at: Timestamp,
});

export const DnsRecord = Type.Object({
  record_id: Id("record_id"),
  zone_id: Id("zone_id"),
  type: DnsType,
  name: text({ description: "The full name." }, "www.example.com"),
  content: text({}, "203.0.113.10"),
  priority: Nullable(count(10, { description: "MX only." })),
  ttl: count(300, { description: "Seconds; 1 is automatic." }),
  created_at: Timestamp,
});

/** The token is write-only. */
export const DnsIntegration = Type.Object({
  status: oneOf(["active", "rejected"]),
  account: text({ description: "The account's name at the provider." }, "ada@example.com"),
  checked_at: Timestamp,
  created_at: Timestamp,
});

const ApiToken = text({ pattern: "^[!-~]{1,512}$", says: "must be a token of the DNS provider" }, "dns-provider-token");
const provider = ["integration_missing", "integration_rejected", "provider_unavailable"] as const;

export const dns = {
  create_zone: operation({
    method: "POST", path: onUser("/dnsproviderzones"), scope: "user", effect: "change", needs: "dns:write", class: "external",
    summary: "Add a zone; one that exists in the linked account is adopted",
    body: Type.Object({ domain: ZoneDomain }),
    reply: data(Zone), status: 201, faults: ["plan_limit", "zone_taken", ...provider],
  }),
  create_record: operation({
    method: "POST", path: onZone("/dnsrecords"), scope: "zone", effect: "change", needs: "dns:write", class: "external",
    summary: "Create a DNS record",
    body: Type.Object({ type: DnsType, name: RecordName, content: RecordContent, ttl: Type.Optional(Type.Integer({ ...Ttl, default: 1 })) }),
    reply: data(DnsRecord), status: 201, faults: ["record_exists", "cname_conflict", ...provider],
  }),
  list_records: operation({
    method: "GET", path: onZone("/dnsrecords"), scope: "zone", effect: "read", needs: "dns:read", class: "external",
    summary: "List the zone's records, those made elsewhere too",
    reply: list(DnsRecord), faults: provider,
  }),
  purge_cache: operation({
    method: "GET", path: onZone("/dnsprovidercache"), scope: "zone", effect: "change", needs: "dns:write", class: "external", rate: "sensitive",
    summary: "Purge everything that the provider caches for the zone",
    reply: message("Cache purge started."), faults: ["zone_not_active", ...provider],
  }),
  list_zones: operation({
    method: "GET", path: onUser("/ext/dnsproviderzones"), scope: "user", effect: "read", needs: "dns:read",
    summary: "List the zones",
    reply: list(Zone),
  }),
  get_zone: operation({
    method: "GET", path: onZone("/ext"), scope: "zone", effect: "read", needs: "dns:read",
    summary: "Get one zone",
    reply: data(Zone),
  }),
  delete_zone: operation({
    method: "DELETE", path: onZone("/ext"), scope: "zone", effect: "change", needs: "dns:write",
    summary: "Forget a zone; it stays at the provider as it is",
    reply: message("Zone removed."),
  }),
  update_record: operation({
    method: "PATCH", path: onZone("/ext/dnsrecords/{record_id}"), scope: "zone", effect: "change", needs: "dns:write", class: "external",
    summary: "Change a DNS record; only the fields that are sent change, and the type cannot",
    body: Type.Object({ name: Type.Optional(RecordName), content: Type.Optional(RecordContent), ttl: Type.Optional(Ttl) }),
    reply: data(DnsRecord), faults: ["record_exists", "cname_conflict", ...provider],
  }),
  delete_record: operation({
    method: "DELETE", path: onZone("/ext/dnsrecords/{record_id}"), scope: "zone", effect: "change", needs: "dns:write", class: "external",
    summary: "Delete a DNS record",
    reply: message("DNS record deleted."), faults: provider,
  }),
  link: operation({
    method: "PUT", path: onUser("/ext/integrations/dnsprovider"), scope: "user", effect: "change", needs: "dns:write", class: "external",
    summary: "Link the DNS provider, or replace its token; the token is tried at once and never shown",
    body: Type.Object({ api_token: ApiToken }),
    reply: data(DnsIntegration), faults: ["integration_rejected", "provider_unavailable"],
  }),
  get_link: operation({
    method: "GET", path: onUser("/ext/integrations/dnsprovider"), scope: "user", effect: "read", needs: "dns:read",
    summary: "Show whether the DNS provider is linked",
    reply: data(DnsIntegration),
  }),
  unlink: operation({
    method: "DELETE", path: onUser("/ext/integrations/dnsprovider"), scope: "user", effect: "change", needs: "dns:write",
    summary: "Forget the DNS provider's token; zones stay at the provider as they are",
    reply: message("DNS provider unlinked."),
  }),
};
