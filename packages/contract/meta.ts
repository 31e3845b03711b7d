/** What this installation offers, so that no client has to know it by heart. */
import Type from "typebox";
import { count, Day, Nullable, text } from "./fields.ts";
import { data, operation } from "./operation.ts";

export const Catalog = Type.Object({
  os: Type.Array(text({}, "debian-13")),
  providers: Type.Array(text({}, "hetzner")),
  php: Type.Array(Type.Object({ version: text({}, "8.4"), end_of_life: Nullable(Day) })),
  stacks: Type.Array(text({}, "nginx")),
  dns_types: Type.Array(text({}, "A")),
  limits: Type.Object({
    page_limit_default: count(20),
    page_limit_maximum: count(100),
    body_bytes: count(262_144),
    domains_per_request: count(50),
    domains_per_website: count(100),
    magic_link_minutes: count(15),
    transfer_days: count(7),
    team_invite_days: count(14),
    idempotency_hours: count(24),
  }),
});

export const Version = Type.Object({
  version: text({ description: "The version of this software and of its extensions." }, "0.1.0"),
  api_version: text({ description: "The version of the interface." }, "2.3.0"),
  commit: Nullable(text({}, "3f6d0a9c4b1e")),
});

export const meta = {
  catalog: operation({
    method: "GET", path: "/ext/catalog", scope: "open", effect: "read", needs: "any",
    summary: "Show what can be chosen: systems, providers, PHP versions, stacks, DNS types and limits",
    reply: data(Catalog),
  }),
  version: operation({
    method: "GET", path: "/ext/version", scope: "open", effect: "read", needs: "any",
    summary: "Show the version",
    reply: data(Version),
  }),
};
