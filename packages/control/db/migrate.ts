/** Brings a database to the newest shape: our tables, the job engine's, this month's partitions. Safe to run at any time and by several at once. */
import { Fault } from "@stead/base/fault.ts";
import { sql } from "kysely";
import { Migrator } from "kysely/migration";
import { migrations } from "./migrations/index.ts";
import { makePartitions } from "./partitions.ts";
import { type Db, openDatabase } from "./pool.ts";

export interface MigrateSteps {
  /** What else belongs to a whole database: the job engine's tables, first data. */
  after(db: Db, url: string): Promise<void>;
}

export async function migrateTables(url: string, { after }: MigrateSteps): Promise<string[]> {
  const { db, close } = openDatabase({ url, connections: 2, onIdleError: () => {} });
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    const { error, results } = await migrator.migrateToLatest();
    if (error) throw error instanceof Error ? error : new Error("The migration failed.", { cause: error });
    await makePartitions(db, new Date());
    await after(db, url);
    return (results ?? []).filter(({ status }) => status === "Success").map(({ migrationName }) => migrationName);
  } finally {
    await close();
  }
}

/** Refuses a database that lacks what this version needs. One that has more is fine: an upgrade goes process by process. */
export async function requireMigrated(db: Db): Promise<void> {
  const undefinedTable = "42P01";
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db).catch((error: unknown) => {
    if ((error as { code?: string }).code === undefinedTable) return { rows: [] };
    throw error;
  });
  const missing = Object.keys(migrations).filter((known) => !rows.some(({ name }) => name === known));
  if (missing.length > 0) throw notMigrated(missing);
}

export const notMigrated = (missing: readonly string[]) =>
  new Fault("unavailable", "not_migrated", `The database is not ready for this version: it lacks ${missing.join(", ")}. Run "stead migrate" first.`);
