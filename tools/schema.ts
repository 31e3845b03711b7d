/** `npm run schema` writes packages/control/db/schema.sql from the migrations; `--check` only compares. */
import { readFile, writeFile } from "node:fs/promises";
import { describeSchema } from "@stead/control/db/describe.ts";
import { openDatabase } from "@stead/control/db/pool.ts";
import { migrate } from "@stead/control/migrate.ts";
import { createDatabase, startPostgres } from "@stead/testkit/postgres.ts";

const file = new URL("../packages/control/db/schema.sql", import.meta.url);
const server = await startPostgres({ durable: false });
try {
  const database = await createDatabase(server.url);
  await migrate(database.url);
  const { db, close } = openDatabase({ url: database.url, connections: 2, onIdleError: () => {} });
  const made = `-- What the migrations make. Written by "npm run schema"; do not edit.\n\n${await describeSchema(db)}`;
  await close();
  await database.drop();
  if (!process.argv.includes("--check")) await writeFile(file, made);
  else if ((await readFile(file, "utf8")) !== made) {
    process.stderr.write('packages/control/db/schema.sql is not what the migrations make. Run "npm run schema" and commit the result.\n');
    process.exitCode = 1;
  }
} finally {
  await server.stop();
}
