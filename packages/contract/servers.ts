/** Servers: connect, look, set, hand over, let go. */
import Type from "typebox";
import { flag, Id, moment, Nullable, oneOf, Ref, ServerName, Timestamp, text } from "./fields.ts";
import { Ip, OsSlug, PhpVersion, ProviderSlug, SshPublicKey, Timezone } from "./fields-hosting.ts";
import { data, list, message, onServer, onUser, operation, page, pageQuery } from "./operation.ts";
import { ActivityEntry } from "./users.ts";

export const Server = Type.Object({
  sid: Id("sid"),
  name: text({}, "web-1"),
  ip: text({}, "203.0.113.10"),
  os: text({ description: "The slug sent on adding, until the agent reports what it found." }, "Debian GNU/Linux 13 (trixie)"),
  status: oneOf(["provisioning", "active", "unreachable", "failed"], "active"),
  timezone: text({}, "Europe/Berlin"),
  php_cli_version: text({}, "8.4"),
  created_at: Timestamp,
});

export const Service = Type.Object({
  name: text({}, "nginx"),
  status: oneOf(["running", "stopped", "failed"]),
});

/** What the specified view lacks; only extensions may show more. */
export const ServerDescription = Type.Object({
  ...Server.properties,
  provider: text({}, "hetzner"),
  owner_uid: Id("uid"),
  shared: flag(false, "Whether the caller sees it through a team."),
  agent_version: Nullable(text({}, "0.1.0")),
  last_seen_at: Nullable(Timestamp),
  php_versions: Type.Array(text({}, "8.4"), { description: "Installed versions." }),
  services: Type.Array(Service),
});

export const Install = Type.Object({
  command: text({ description: "One line, to be run as root on the server." }, "curl -fsSL https://stead.example.com/install.sh | sh -s -- --token 7Qk2mXv9Ls4T"),
  expires_at: moment("2026-11-16T09:30:00.000Z"),
});

export const DeployKey = Type.Object({
  public_key: SshPublicKey,
  fingerprint: text({}, "SHA256:r6j7DM3zOsLVEKJeF8RUI1W8nEzbRXe7R0BszmuXIQ4"),
});

const only = <const Names extends (keyof typeof Server.properties)[]>(names: Names) => Type.Pick(Server, names);

export const servers = {
  create: operation({
    method: "POST", path: onUser("/servers"), scope: "user", effect: "change", needs: "servers:write", class: "queued",
    summary: "Add a server; the agent is installed on it in the background",
    body: Type.Object({ name: ServerName, ip: Ip, provider: Type.Optional(ProviderSlug), os: Type.Optional(OsSlug) }),
    reply: data(only(["sid", "name", "ip", "status"])), status: 201, faults: ["plan_limit", "ip_in_use"],
  }),
  list: operation({
    method: "GET", path: onUser("/servers"), scope: "user", effect: "read", needs: "servers:read",
    summary: "List the servers that the user owns or sees through a team",
    reply: list(only(["sid", "name", "ip", "status", "php_cli_version"])),
  }),
  get: operation({
    method: "GET", path: onServer(""), scope: "server", effect: "read", needs: "servers:read",
    summary: "Get one server",
    reply: data(Server),
  }),
  delete: operation({
    method: "DELETE", path: onServer(""), scope: "server", effect: "change", needs: "servers:write", class: "queued", role: "owner",
    summary: "Delete a server: the agent is uninstalled, what runs on the machine keeps running",
    reply: message("Server deleted."), faults: ["owner_only"],
  }),
  rename: operation({
    method: "PATCH", path: onServer("/name"), scope: "server", effect: "change", needs: "servers:write",
    summary: "Rename a server",
    body: Type.Object({ name: ServerName }),
    reply: data(only(["sid", "name"])), match: "servers.get",
  }),
  set_timezone: operation({
    method: "PATCH", path: onServer("/timezone"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Set the server's time zone",
    body: Type.Object({ timezone: Timezone }),
    reply: data(only(["sid", "timezone"])), match: "servers.get", faults: ["server_not_ready"],
  }),
  reboot: operation({
    method: "GET", path: onServer("/reboot"), scope: "server", effect: "change", needs: "servers:write", class: "live",
    summary: "Reboot the server within a minute",
    reply: message("Reboot scheduled."), faults: ["server_not_ready", "server_busy"],
  }),
  set_php_cli: operation({
    method: "PATCH", path: onServer("/phpcli"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Set the PHP version of the command line; it is installed if it is missing",
    body: Type.Object({ php_version: PhpVersion }),
    reply: data(only(["sid", "php_cli_version"])), match: "servers.get", faults: ["server_not_ready", "php_unavailable"],
  }),
  activity: operation({
    method: "GET", path: onServer("/activity"), scope: "server", effect: "read", needs: "servers:read",
    summary: "List what happened on the server, newest first",
    query: pageQuery, reply: page(ActivityEntry),
  }),
  transfer: operation({
    method: "POST", path: onServer("/transfer"), scope: "server", effect: "change", needs: "servers:write", rate: "sensitive", role: "owner",
    summary: "Offer the server to another user, who has seven days to accept",
    body: Type.Object({ target_uid: Ref("uid") }),
    reply: message("Transfer started. The recipient has 7 days to accept."), faults: ["owner_only", "transfer_pending"],
  }),
  describe: operation({
    method: "GET", path: onServer("/ext"), scope: "server", effect: "read", needs: "servers:read",
    summary: "Get one server with owner, agent and services",
    reply: data(ServerDescription),
  }),
  // A read by its method and by what it does to the server, but the command carries a single-use token.
  install: operation({
    method: "GET", path: onUser("/ext/servers/{sid}/install"), scope: "server", effect: "read", needs: "servers:write", role: "member",
    summary: "Get the command that installs the agent by hand",
    reply: data(Install), secret: true,
  }),
  retry: operation({
    method: "POST", path: onUser("/ext/servers/{sid}/retry"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Try again to provision a server that failed; does nothing in any other state",
    reply: message("Provisioning started."),
  }),
  deploy_key: operation({
    method: "GET", path: onUser("/ext/deploykey"), scope: "user", effect: "read", needs: "servers:read",
    summary: "Get the account's public key; a new server that accepts it is provisioned without a command",
    reply: data(DeployKey),
  }),
};
