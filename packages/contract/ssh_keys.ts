/** Public keys that may sign in to a server over SSH. */
import Type from "typebox";
import { exampleOf } from "./example.ts";
import { Id, Label, Timestamp, text } from "./fields.ts";
import { SshPublicKey } from "./fields-hosting.ts";
import { data, list, message, onServer, operation } from "./operation.ts";

export const SshKey = Type.Object({
  kid: Id("kid"),
  label: text({}, "laptop"),
  public_key: text({}, exampleOf(SshPublicKey) as string),
  type: text({}, "ssh-ed25519"),
  fingerprint: text({}, "SHA256:r6j7DM3zOsLVEKJeF8RUI1W8nEzbRXe7R0BszmuXIQ4"),
  user: text({ description: "The account that accepts the key." }, "root"),
  created_at: Timestamp,
});

export const ssh_keys = {
  list: operation({
    method: "GET", path: onServer("/sshkeys"), scope: "server", effect: "read", needs: "servers:read",
    summary: "List the server's SSH keys",
    reply: list(SshKey),
  }),
  create: operation({
    method: "POST", path: onServer("/sshkeys"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Add an SSH key",
    body: Type.Object({ label: Label, public_key: SshPublicKey }),
    reply: data(SshKey), status: 201, faults: ["key_exists", "server_not_ready"],
  }),
  delete: operation({
    method: "DELETE", path: onServer("/sshkeys/{kid}"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Remove an SSH key",
    reply: message("SSH key deleted."),
  }),
};
