/**
 * The creation of a database on a server: one row on the server's next generation, with activity and operation.
 * Its area is not part of the product yet; this stands in for it where the way of such a change is tested or measured.
 */
import { randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import type { databases } from "@stead/contract/databases.ts";
import { changeServer } from "@stead/control/db/change.ts";
import { compiler, placeholder, statement } from "@stead/control/db/statement.ts";
import type { Handlers } from "@stead/control/http/handler.ts";

const insert = statement<{ did: string; name: string }>(
  compiler
    .insertInto("databases")
    .values({ did: placeholder("did"), sid: placeholder("sid"), name: placeholder("name"), generation: placeholder("generation") })
    .onConflict((conflict) => conflict.doNothing())
    .returning(["did", "name"]),
);

const handlers: Handlers<Pick<typeof databases, "create">> = {
  create: (context) =>
    changeServer<{ data: { did: string; name: string } }>(
      context,
      { action: "database.create", detail: `Created the database ${context.body.name}.`, resource: ({ data }) => ({ type: "database", id: data.did }) },
      async (generation) => {
        const [row] = await insert.run(context.tx, { did: randomUUIDv7(), sid: context.server.sid, name: context.body.name, generation });
        if (!row) throw new Fault("conflict", "name_taken", `A database named \`${context.body.name}\` already exists on this server.`);
        return { data: row };
      },
    ),
};

export const sampleDatabases = { areas: { databases: handlers }, formats: { "database-name": () => true } };
