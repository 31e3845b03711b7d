/** Everything that the database holds, as one text, to see that a secret is nowhere in it. */
import type { Db } from "@stead/control/db/pool.ts";
import { sql } from "kysely";

/** Our tables and the job engine's, row by row as JSON. */
export async function everythingStored(db: Db): Promise<string> {
  const { rows: tables } = await sql<{ schema: string; name: string }>`
    select table_schema as schema, table_name as name from information_schema.tables
    where table_schema in ('public', 'pgboss') and table_type = 'BASE TABLE' order by 1, 2`.execute(db);
  const parts: string[] = [];
  for (const { schema, name } of tables) {
    const { rows } = await sql<{ text: string | null }>`select json_agg(t)::text as text from ${sql.id(schema, name)} t`.execute(db);
    parts.push(`${schema}.${name}: ${rows[0]?.text ?? "[]"}`);
  }
  return parts.join("\n");
}

/** The names of the secrets that stand in the text: as they are, or as bytes the way PostgreSQL and JSON write them. */
export function secretsIn(text: string, secrets: ReadonlyMap<string, string>): string[] {
  const forms = (secret: string) => [
    secret,
    Buffer.from(secret).toString("hex"),
    Buffer.from(secret).toString("base64"),
    Buffer.from(secret).toString("base64url"),
  ];
  return [...secrets].flatMap(([name, secret]) => (forms(secret).some((form) => text.includes(form)) ? [name] : []));
}
