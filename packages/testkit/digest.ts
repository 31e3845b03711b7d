/** What the database holds, as one short text a table: two digests that are equal say that nothing was changed in between. */
import type { Db } from "@stead/control/db/pool.ts";
import { type CompiledQuery, sql } from "kysely";

export type Digest = Readonly<Record<string, string>>;

/** Of every table of ours, and of the jobs that wait. A difference names its table. */
export async function digestOf(db: Db): Promise<Digest> {
  const compiled = known.get(db) ?? compile(db);
  known.set(db, compiled);
  const { rows } = await db.executeQuery(await compiled);
  return rows[0] as Digest;
}

const known = new WeakMap<Db, Promise<CompiledQuery<Digest>>>();

const tableNames = sql<{ name: string }>`
  select relname as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname not like 'kysely%' order by 1`;

const jobs = sql`(select id, name, data from pgboss.job where name not like '\\_\\_%')`;

async function compile(db: Db): Promise<CompiledQuery<Digest>> {
  // The seed goes as a parameter: only statements with parameters are prepared, and planning this one takes longer than running it.
  const seed = sql`${0}::bigint`;
  const tables = (await tableNames.execute(db)).rows.map(({ name }) => [name, sql.id("public", name)] as const);
  const sums = [...tables, ["jobs", jobs] as const].map(
    ([name, rows]) => sql`(select count(*) || '/' || coalesce(sum(hashtextextended(t::text, ${seed})), 0) from ${rows} t) as ${sql.id(name)}`,
  );
  return sql<Digest>`select ${sql.join(sums)}`.compile(db);
}
