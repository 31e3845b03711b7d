/** Databases, their users, and who may use which. */
import Type from "typebox";
import { Id, Ref, text } from "./fields.ts";
import { DatabaseName, DatabaseUsername, ServicePassword } from "./fields-hosting.ts";
import { data, list, message, onServer, operation } from "./operation.ts";

export const Database = Type.Object({ did: Id("did"), name: text({}, "shop") });

/** The password is write-only. */
export const DatabaseUser = Type.Object({ dbuid: Id("dbuid"), username: text({}, "shop_app") });

export const databases = {
  create: operation({
    method: "POST", path: onServer("/databases"), scope: "server", effect: "change", needs: "sites:write", class: "queued",
    summary: "Create a database",
    body: Type.Object({ name: DatabaseName }),
    reply: data(Database), status: 201, faults: ["name_taken", "server_not_ready"],
  }),
  list: operation({
    method: "GET", path: onServer("/databases"), scope: "server", effect: "read", needs: "sites:read",
    summary: "List the server's databases",
    reply: list(Database),
  }),
  delete: operation({
    method: "DELETE", path: onServer("/databases/{did}"), scope: "server", effect: "change", needs: "sites:write", class: "queued",
    summary: "Drop a database permanently",
    reply: message("Database deleted."), faults: ["in_use"],
  }),
  create_user: operation({
    method: "POST", path: onServer("/databaseusers"), scope: "server", effect: "change", needs: "sites:write", class: "queued",
    summary: "Create a database user",
    body: Type.Object({ username: DatabaseUsername, password: ServicePassword }),
    reply: data(DatabaseUser), status: 201, faults: ["name_taken", "server_not_ready"],
  }),
  list_users: operation({
    method: "GET", path: onServer("/databaseusers"), scope: "server", effect: "read", needs: "sites:read",
    summary: "List the server's database users",
    reply: list(DatabaseUser),
  }),
  delete_user: operation({
    method: "DELETE", path: onServer("/databaseusers/{dbuid}"), scope: "server", effect: "change", needs: "sites:write", class: "queued",
    summary: "Delete a database user",
    reply: message("Database user deleted."), faults: ["in_use"],
  }),
  assign: operation({
    method: "POST", path: onServer("/databases/{did}/assign"), scope: "server", effect: "change", needs: "sites:write", class: "queued",
    summary: "Give a database user all privileges on this database",
    body: Type.Object({ dbuid: Ref("dbuid") }),
    reply: message("User assigned to the database."), faults: ["server_not_ready"],
  }),
};
