/**
 * The shape of a database as text: what the migrations really made, in one file that a reviewer can read
 * (`schema.sql`) and that a check compares. Monthly partitions and the job engine's schema are left out:
 * they come and go by themselves.
 */
import { sql } from "kysely";
import type { Db } from "./pool.ts";

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly required: boolean;
  readonly fallback: string | null;
  readonly partitions: string | null;
}

export async function describeSchema(db: Db): Promise<string> {
  const columns = await sql<Column>`
    select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
      pg_get_expr(d.adbin, d.adrelid) as fallback, case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end as partitions
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname not like 'kysely%'
    order by c.relname, a.attnum`.execute(db);
  const constraints = await sql<{ table: string; text: string }>`
    select c.relname as table, format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) as text
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and c.relname not like 'kysely%' and k.contype in ('p', 'u', 'c', 'f')
    order by c.relname, array_position(array['p', 'u', 'f', 'c'], k.contype::text), k.conname`.execute(db);
  const indexes = await sql<{ table: string; text: string }>`
    select c.relname as table, replace(pg_get_indexdef(i.indexrelid), ' ONLY public.', ' public.') as text
    from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and c.relname not like 'kysely%'
      and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
    order by c.relname, pg_get_indexdef(i.indexrelid)`.execute(db);
  const tables = Map.groupBy(columns.rows, ({ table }) => table);
  const of = (rows: { table: string; text: string }[], table: string) => rows.filter((row) => row.table === table).map(({ text }) => text);
  return `${[...tables].map(([table, fields]) => tableText(table, fields, of(constraints.rows, table), of(indexes.rows, table))).join("\n\n")}\n`;
}

function tableText(table: string, columns: readonly Column[], constraints: readonly string[], indexes: readonly string[]): string {
  const lines = columns.map(
    ({ column, type, required, fallback }) => `${column} ${type}${required ? " not null" : ""}${fallback === null ? "" : ` default ${fallback}`}`,
  );
  const partitions = columns[0]?.partitions ? ` partition by ${columns[0].partitions}` : "";
  return [`create table ${table} (\n  ${[...lines, ...constraints].join(",\n  ")}\n)${partitions};`, ...indexes.map((index) => `${index};`)].join("\n");
}
