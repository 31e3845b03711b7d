import type { Insertable } from "kysely";
import { sql } from "kysely";
import type { Db, Tx } from "../../db/pool.ts";
import type { Schema } from "../../db/schema.ts";

const shown = ["key_id as id", "name", "kind", "last4", "scopes", "sids", sql<string[] | null>`cidrs::text[]`.as("cidrs"), "expires_at", "created_at"] as const;

export const list = (db: Db, uid: string) =>
  db.selectFrom("credentials").select(shown).where("uid", "=", uid).where("kind", "in", ["primary", "scoped"]).orderBy("created_at");

export const insert = (tx: Tx, key: Insertable<Schema["credentials"]>) => tx.insertInto("credentials").values(key).returning(shown).executeTakeFirstOrThrow();
