/** Websites: the domain names, the PHP version and the web server of each. */
import Type from "typebox";
import { example } from "./example.ts";
import { flag, Id, Nullable, oneOf, Timestamp, text } from "./fields.ts";
import { DomainName, Domains, PhpVersion, Stack, SystemUsername, stacks } from "./fields-hosting.ts";
import { data, list, message, onServer, onWebsite, operation } from "./operation.ts";
import { Certificate } from "./ssl.ts";
import { ActivityEntry } from "./users.ts";

export const Website = Type.Object({
  wid: Id("wid"),
  domain: text({ description: "The primary domain." }, "example.com"),
  stack: Stack,
  php_version: text({}, "8.4"),
  status: oneOf(["provisioning", "active", "failed"], "active"),
});

export const WebsiteDescription = Type.Object({
  ...Website.properties,
  domains: Type.Array(text({}, "example.com"), { description: "The primary domain, then the aliases in the order they were added." }),
  system_user: text({}, "deploy"),
  document_root: text({}, "/home/deploy/example.com/public"),
  certificate: Nullable(Certificate),
  wordpress: flag(false, "Whether WordPress is installed."),
  created_at: Timestamp,
});

export const websites = {
  list: operation({
    method: "GET", path: onServer("/websites"), scope: "server", effect: "read", needs: "sites:read",
    summary: "List the server's websites",
    reply: list(Website),
  }),
  activity: operation({
    method: "GET", path: onWebsite("/activity"), scope: "website", effect: "read", needs: "sites:read",
    summary: "List the newest 200 things that happened to the website",
    reply: list(Type.Pick(ActivityEntry, ["id", "action", "created_at"])),
  }),
  set_php: operation({
    method: "PATCH", path: onWebsite("/phpversion"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Set the website's PHP version",
    body: Type.Object({ php_version: PhpVersion }),
    reply: data(Type.Pick(Website, ["wid", "php_version"])), faults: ["website_not_active", "php_unavailable"],
  }),
  set_stack: operation({
    method: "PATCH", path: onWebsite("/stack"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Set the website's web server",
    body: Type.Object({ stack: Stack }),
    reply: data(Type.Pick(Website, ["wid", "stack"])), faults: ["website_not_active", "website_busy"],
  }),
  add_domains: operation({
    method: "PATCH", path: onWebsite("/adddomain"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Add alias domains, all or none; a free certificate is issued anew to cover them",
    body: Type.Object({ domains: Domains }),
    reply: data(Type.Pick(WebsiteDescription, ["wid", "domains"])), faults: ["plan_limit", "domain_in_use", "too_many_domains"],
  }),
  remove_domains: operation({
    method: "PATCH", path: onWebsite("/removedomain"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Remove alias domains, all or none",
    body: Type.Object({ domains: Domains }),
    reply: message("Domains removed."), faults: ["primary_domain"],
  }),
  create: operation({
    method: "POST", path: onServer("/ext/websites"), scope: "server", effect: "change", needs: "sites:write", class: "queued",
    summary: "Create a website",
    body: Type.Object({
      domain: DomainName,
      stack: Type.Optional(oneOf(stacks, "nginx", { default: "nginx" })),
      php_version: Type.Optional(PhpVersion),
      system_user: Type.Optional(SystemUsername),
    }),
    reply: data(Website), status: 201, faults: ["plan_limit", "domain_in_use", "php_unavailable", "server_not_ready"],
  }),
  get: operation({
    method: "GET", path: onWebsite("/ext"), scope: "website", effect: "read", needs: "sites:read",
    summary: "Get one website with its domains and certificate",
    reply: data(WebsiteDescription),
  }),
  delete: operation({
    method: "DELETE", path: onWebsite("/ext"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Delete a website; its files stay unless asked otherwise",
    body: Type.Object({ delete_files: Type.Optional(Type.Boolean({ default: false, says: "must be true or false", ...example(false) })) }),
    reply: message("Website deleted."), faults: ["website_busy"],
  }),
};
