/** Linux accounts that were made here; the system's own accounts are not shown. */
import Type from "typebox";
import { flag, Id, oneOf, Timestamp, text } from "./fields.ts";
import { ServicePassword, SystemUsername } from "./fields-hosting.ts";
import { data, list, message, onServer, operation } from "./operation.ts";

export const SystemUser = Type.Object({
  suid: Id("suid"),
  username: text({}, "deploy"),
  home: text({}, "/home/deploy"),
  shell: text({}, "/bin/bash"),
  sudo: flag(false),
  status: oneOf(["pending", "active", "failed"], "active"),
  created_at: Timestamp,
});

export const system_users = {
  create: operation({
    method: "POST", path: onServer("/systemusers"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Create a system user, without sudo",
    body: Type.Object({ username: SystemUsername, password: ServicePassword }),
    reply: data(SystemUser), status: 201, faults: ["name_taken", "server_not_ready"],
  }),
  list: operation({
    method: "GET", path: onServer("/systemusers"), scope: "server", effect: "read", needs: "servers:read",
    summary: "List the system users that were made here",
    reply: list(SystemUser),
  }),
  delete: operation({
    method: "DELETE", path: onServer("/systemusers/{suid}"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Delete a system user; the home directory is archived for seven days",
    reply: message("System user deleted."), faults: ["in_use"],
  }),
};
