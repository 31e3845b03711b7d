/**
 * Hot statements are compiled once and run many times. A query is built with placeholders where its values will be;
 * running it fills them in. Kysely would otherwise compile the same text again for every request.
 */
import { type CompiledQuery, DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type QueryExecutorProvider } from "kysely";
import { type Db, poolOf } from "./pool.ts";
import type { Schema } from "./schema.ts";

/** Builds queries without a connection. */
export const compiler: Db = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Stands for a value that is known only when the statement runs. */
export const placeholder = <T = string>(name: string): T => new Placeholder(name) as T;

export type Values = Readonly<Record<string, unknown>>;

export interface Statement<Row> {
  readonly text: string;
  /** Runs on a connection of its own, or in the transaction that is passed. */
  run(db: Db, values: Values): Promise<Row[]>;
}

export function statement<Row>(query: { compile(provider: QueryExecutorProvider): CompiledQuery<unknown> }): Statement<Row> {
  const compiled = query.compile(compiler) as CompiledQuery<Row>;
  const fill = (values: Values) =>
    compiled.parameters.map((parameter) => {
      if (!(parameter instanceof Placeholder)) return parameter;
      if (!(parameter.name in values)) throw new Error(`no value for \`${parameter.name}\``);
      return values[parameter.name];
    });
  return {
    text: compiled.sql,
    async run(db, values) {
      const parameters = fill(values);
      const pool = poolOf(db);
      // Straight to the driver where no transaction needs Kysely's connection.
      return pool ? (await pool.query(compiled.sql, parameters)).rows : (await db.executeQuery<Row>({ ...compiled, parameters })).rows;
    },
  };
}
