/** What this installation offers and which version it is. */
import type { meta } from "@stead/contract/meta.ts";
import type { Handlers } from "../../http/handler.ts";

const catalog = {
  os: ["ubuntu-22.04", "ubuntu-24.04", "ubuntu-26.04", "debian-12", "debian-13"],
  providers: ["digitalocean", "hetzner", "linode", "vultr", "aws", "gcp", "azure", "ovh", "upcloud", "scaleway", "custom", "sandbox"],
  php: [
    { version: "7.4", end_of_life: "2022-11-28" },
    { version: "8.0", end_of_life: "2023-11-26" },
    { version: "8.1", end_of_life: "2025-12-31" },
    { version: "8.2", end_of_life: "2026-12-31" },
    { version: "8.3", end_of_life: "2027-12-31" },
    { version: "8.4", end_of_life: "2028-12-31" },
    { version: "8.5", end_of_life: "2029-12-31" },
  ],
  stacks: ["nginx", "apache", "ols"],
  dns_types: ["A", "AAAA", "CNAME", "MX", "TXT"],
  limits: {
    page_limit_default: 20,
    page_limit_maximum: 100,
    body_bytes: 262_144,
    domains_per_request: 50,
    domains_per_website: 100,
    magic_link_minutes: 15,
    transfer_days: 7,
    team_invite_days: 14,
    idempotency_hours: 24,
  },
};

export const handlers: Handlers<typeof meta> = {
  catalog: () => ({ data: structuredClone(catalog) }),
  version: ({ deps }) => ({ data: { version: deps.version, api_version: "2.3.0", commit: deps.config.commit } }),
};
