/** Activity and login history are cut by month, so that old months leave by dropping a table, not by deleting rows. */
import { sql } from "kysely";
import type { Db, Tx } from "./pool.ts";

const partitioned = ["activity", "logins"] as const;
const monthsAhead = 2;
/** 365 days are promised; a month leaves once all of it is older than that. */
const monthsKept = 13;

const monthOf = (date: Date, offset: number) => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1));
const suffixOf = (month: Date) => month.toISOString().slice(0, 7).replace("-", "_");

/** Last month's to those that come, each once, whoever else does the same at this moment. */
export async function makePartitions(db: Db, now: Date): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('partitions'))`.execute(tx);
    for (const table of partitioned) {
      for (let offset = -1; offset <= monthsAhead; offset++) await makeMonth(tx, table, monthOf(now, offset), monthOf(now, offset + 1));
    }
  });
}

/**
 * Entries of a month that was not there in time wait in the default partition and move into their own:
 * PostgreSQL refuses a partition for which the default one still holds rows.
 */
async function makeMonth(tx: Tx, table: (typeof partitioned)[number], from: Date, to: Date): Promise<void> {
  const name = `${table}_${suffixOf(from)}`;
  const { rows } = await sql<{ there: boolean }>`select to_regclass(${name}) is not null as there`.execute(tx);
  if (rows[0]?.there) return;
  const [month, waiting] = [sql.table(name), sql.table(`${table}_default`)];
  await sql`create table ${month} (like ${sql.table(table)} including all)`.execute(tx);
  await sql`lock table ${waiting} in access exclusive mode`.execute(tx);
  await sql`with late as (delete from ${waiting} where created_at >= ${from} and created_at < ${to} returning *) insert into ${month} select * from late`.execute(
    tx,
  );
  await sql`alter table ${sql.table(table)} attach partition ${month} for values from (${sql.lit(from.toISOString())}) to (${sql.lit(to.toISOString())})`.execute(
    tx,
  );
}

export async function dropOldPartitions(db: Db, now: Date): Promise<string[]> {
  const dropped: string[] = [];
  for (const table of partitioned) {
    const oldest = `${table}_${suffixOf(monthOf(now, -monthsKept))}`;
    const { rows } = await sql<{ name: string }>`
      select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = ${table}::regclass and c.relname ~ '_\\d{4}_\\d{2}$' and c.relname < ${oldest} order by 1`.execute(db);
    for (const { name } of rows) {
      await sql`drop table ${sql.table(name)}`.execute(db);
      dropped.push(name);
    }
  }
  return dropped;
}
