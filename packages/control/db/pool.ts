/**
 * PostgreSQL, through Kysely as the typed compiler and `pg` as the driver.
 * Every statement with parameters is sent by name, so that the server parses and plans it once a connection:
 * that is worth a third of the requests a second.
 */
import { Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import type { Schema } from "./schema.ts";

export type Db = Kysely<Schema>;
export type Tx = Transaction<Schema>;

/** Names are given per text. The cap keeps a statement whose text varies from filling the server's memory. */
const names = new Map<string, string>();
const mostNames = 2000;

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= mostNames) return known;
  const name = `s${names.size}`;
  names.set(text, name);
  return name;
}

class NamingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: pg declares eight overloads; only the (text, values) form is looked at.
  override query(...args: any[]): any {
    const [text, values, ...rest] = args;
    if (typeof text === "string" && Array.isArray(values) && values.length > 0) {
      return super.query({ name: nameOf(text), text, values } as never, ...(rest as []));
    }
    return super.query(...(args as [never]));
  }
}

/** The pool under a database; a transaction has none, because it stays on its one connection. */
const pools = new WeakMap<Db, pg.Pool>();
export const poolOf = (db: Db): pg.Pool | undefined => pools.get(db);

export interface Database {
  readonly db: Db;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly url: string;
  readonly connections: number;
  /** An idle connection that breaks is dropped and replaced; this is told, never thrown. */
  readonly onIdleError: (error: Error) => void;
}

export function openDatabase({ url, connections, onIdleError }: PoolOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    Client: NamingClient as never,
    application_name: "stead",
    connectionTimeoutMillis: 10_000,
    // Every time is stored, compared and told in UTC. A named statement is planned once: its generic plan is what the
    // plan test reads, and PostgreSQL would otherwise plan anew wherever a null parameter looks cheaper.
    options: "-c timezone=UTC -c plan_cache_mode=force_generic_plan -c statement_timeout=30000 -c idle_in_transaction_session_timeout=60000",
  });
  pool.on("error", onIdleError);
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  pools.set(db, pool);
  return { db, pool, close: () => db.destroy() };
}
