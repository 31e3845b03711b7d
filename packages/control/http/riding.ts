/**
 * A read as one JSON text, written by PostgreSQL in the same statement that checks access. The listed fields of the
 * contract are put one after the other: `json_agg` over whole rows looks up the type of every value anew and takes
 * twice as long.
 */
import { type Operation, paramsOf } from "@stead/contract/operation.ts";
import { type RawBuilder, sql } from "kysely";
import { compiler, placeholder } from "../db/statement.ts";
import type { AnySelect, Query } from "./handler.ts";

type Json = Record<string, unknown>;

const hole = (name: string) => sql`${placeholder(name)}`;

/** The fields of one entry of the reply, whether `data` is one record or a list of them. */
function fieldsOf(op: Operation): [string, Json][] {
  const { data } = (op.reply as unknown as { properties: { data: Json } }).properties;
  return Object.entries(((data.type === "array" ? data.items : data) as { properties: Record<string, Json> }).properties);
}

/** Ids and times are letters, digits and signs that need no escaping; everything else is written by PostgreSQL's own JSON. */
function valueSql(name: string, schema: Json): RawBuilder<unknown> {
  const column = sql.ref(`r.${name}`);
  if (schema.prefix !== undefined || schema.format === "date-time") return sql`'"', ${column}, '"'`;
  return sql`coalesce(to_json(${column}), 'null')`;
}

const recordSql = (op: Operation): RawBuilder<unknown> =>
  sql`concat(${sql.join(fieldsOf(op).map(([name, schema], index) => sql`${sql.lit(`${index === 0 ? "{" : ","}"${name}":`)}, ${valueSql(name, schema)}`))}, '}')`;

const listSql = (op: Operation, rows: AnySelect): RawBuilder<unknown> => sql`(select concat('[', string_agg(${recordSql(op)}, ','), ']') from (${rows}) r)`;

/** A path without a uid reads for the credential's own user. */
export function riding(op: Operation, query: Query): RawBuilder<unknown> {
  const params = paramsOf(op.path);
  const holes = Object.fromEntries(params.map((param) => [param, placeholder(param)]));
  if (!params.includes("uid")) holes.uid = sql.ref("c.uid") as unknown as string;
  const rows = query.build(compiler, holes);
  if (query.shape === "one") return sql`select concat('{"data":', ${recordSql(op)}, '}') from (${rows}) r`;
  if (query.shape === "many") return sql`concat('{"data":', ${listSql(op, rows)}, '}')`;
  const older = sql<boolean>`(created_at, id) < (${hole("before_at")}::timestamptz, ${hole("before_id")}::uuid)`;
  const shown = rows
    .where(older)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(sql<number>`${hole("limit")}::int`)
    .offset(sql<number>`${hole("offset")}::int`);
  return sql`concat('{"data":', ${listSql(op, shown)}, ',"total":', (select count(*) from (${rows}) r), ',"page":', ${hole("page")}::int, ',"limit":', ${hole("limit")}::int, '}')`;
}
