import { Fault } from "@stead/base/fault.ts";
import { sql } from "kysely";
import type { Db, Tx } from "../../db/pool.ts";

export const profile = (db: Db, uid: string) =>
  db
    .selectFrom("users")
    .select(["uid", "email", "first_name", "last_name", "phone", "role", "plan_id as plan", sql<boolean>`verified_at is not null`.as("verified"), "created_at"])
    .where("uid", "=", uid);

export const logins = (db: Db, uid: string) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom("logins")
        .select(["id", sql<string>`host(ip)`.as("ip"), "country", "created_at"])
        .where("uid", "=", uid)
        .as("entry"),
    )
    .selectAll();

/** What the user did, and what others did to the user's things; never the same entry twice. */
export const activity = (db: Db, uid: string) => {
  const shown = ["id", "action", "detail", "created_at"] as const;
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom("activity")
        .select(shown)
        .where("uid", "=", uid)
        .unionAll(eb.selectFrom("activity").select(shown).where("actor_uid", "=", uid).whereRef("actor_uid", "<>", "uid"))
        .as("entry"),
    )
    .selectAll();
};

export const pending = (db: Db, uid: string) =>
  db
    .selectFrom("pending")
    .select(["id", "type", "detail", "created_at"])
    .where("uid", "=", uid)
    .where("expires_at", ">", sql<Date>`now()`)
    .orderBy("created_at");

export async function replacePassword(tx: Tx, uid: string, old_hash: string, password_hash: string): Promise<boolean> {
  const changed = await tx
    .updateTable("users")
    .set({ password_hash })
    .where("uid", "=", uid)
    .where("password_hash", "=", old_hash)
    .returning("uid")
    .executeTakeFirst();
  return changed !== undefined;
}

export async function replacePrimaryKey(tx: Tx, key: { key_id: string; uid: string; hash: Buffer; last4: string }): Promise<void> {
  await tx
    .insertInto("credentials")
    .values({ ...key, kind: "primary", name: "Primary key" })
    .onConflict((conflict) =>
      // Written out: as a parameter it would not match the index any more once PostgreSQL plans the named statement for all values.
      conflict
        .column("uid")
        .where("kind", "=", sql.lit("primary" as const))
        .doUpdateSet({ key_id: key.key_id, hash: key.hash, last4: key.last4, created_at: sql`now()`, exposed_at: null }),
    )
    .execute();
}

/** Locks the administrators first, so that two of them cannot leave at the same moment. */
export async function requireNotLastAdmin(tx: Tx, uid: string): Promise<void> {
  const admins = await tx.selectFrom("users").select("uid").where("role", "=", "admin").orderBy("uid").forUpdate().execute();
  const [only] = admins;
  if (admins.length === 1 && only?.uid === uid) throw new Fault("conflict", "last_admin", "You are the last administrator. Make somebody else one first.");
}

/** Keys, sessions, teams, memberships and confirmations go with the row; servers stay behind, marked to be let go of. */
export async function remove(tx: Tx, uid: string): Promise<void> {
  await tx
    .updateTable("servers")
    .set((eb) => ({ ensure: "absent" as const, wanted_generation: eb("wanted_generation", "+", "1") }))
    .where("owner_uid", "=", uid)
    .execute();
  await tx.deleteFrom("users").where("uid", "=", uid).execute();
}
