/**
 * Stead itself, whole: TLS aside, with rate limits, logs, metrics and all checks. The write path is measured with
 * the creation of a database on a server, whose area is not part of the product yet; its handler here is what
 * that area's will be: one row, on the next generation of the server, with activity and operation.
 */
import { randomUUIDv7 } from "node:crypto";
import type { AddressInfo } from "node:net";
import { Fault } from "@stead/base/fault.ts";
import type { databases } from "@stead/contract/databases.ts";
import { readConfig } from "@stead/control/config.ts";
import { changeServer } from "@stead/control/db/change.ts";
import { compiler, placeholder, statement } from "@stead/control/db/statement.ts";
import type { Handlers } from "@stead/control/http/handler.ts";
import { processLog } from "@stead/control/log.ts";
import { serve } from "@stead/control/serve.ts";
import { destination } from "pino";

const insert = statement<{ did: string; name: string }>(
  compiler
    .insertInto("databases")
    .values({ did: placeholder("did"), sid: placeholder("sid"), name: placeholder("name"), generation: placeholder("generation") })
    .onConflict((conflict) => conflict.doNothing())
    .returning(["did", "name"]),
);

const area: Handlers<Pick<typeof databases, "create">> = {
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

const config = readConfig({
  DATABASE_URL: process.env.DATABASE_URL,
  STEAD_BASE_URL: "http://127.0.0.1",
  STEAD_BIND: "127.0.0.1:0",
  STEAD_INTERNAL_BIND: "127.0.0.1:0",
  STEAD_INSECURE_HTTP: "1",
  STEAD_DATABASE_CONNECTIONS: process.env.BENCH_CONNECTIONS,
  STEAD_RATE_LIMITS: "read=100000000/60,write=100000000/60,flood=10000000/1",
});
const { app } = await serve(
  config,
  processLog(destination({ dest: "/dev/null", sync: false, minLength: 4096 })),
  { mail: null },
  { areas: { databases: area }, formats: { "database-name": () => true } },
);
process.stdout.write(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}\n`);
