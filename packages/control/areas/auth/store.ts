import { randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import { timeOf } from "@stead/base/id.ts";
import { sql } from "kysely";
import type { Db, Tx } from "../../db/pool.ts";
import { hashOf } from "../../identity/credential.ts";
import { consumeToken } from "../../identity/one-time.ts";

export const findByEmail = (db: Db, email: string) =>
  db.selectFrom("users").select(["uid", "email", "password_hash", "verified_at"]).where(sql<string>`lower(email)`, "=", email.toLowerCase()).executeTakeFirst();

/** Nothing is inserted, and nothing is returned, when the address already has an account. */
export async function insertUser(
  tx: Tx,
  user: { email: string; password_hash: string; first_name: string; last_name: string; role: "user" | "admin"; verified: boolean },
): Promise<string | undefined> {
  const { verified, ...columns } = user;
  const plan_id = tx.selectFrom("plans").select("plan_id").where("is_default", "=", true);
  const inserted = await tx
    .insertInto("users")
    .values({ uid: randomUUIDv7(), ...columns, plan_id, verified_at: verified ? sql<Date>`now()` : null })
    .onConflict((conflict) => conflict.expression(sql`lower(email)`).doNothing())
    .returning("uid")
    .executeTakeFirst();
  return inserted?.uid;
}

/** Serialises the very first sign-ups: only one of them can become the administrator. */
export async function isFirstUser(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ first: boolean }>`select (select uid from users order by uid limit 1) is null as first`.execute(tx);
  if (!rows[0]?.first) return false;
  await sql`select pg_advisory_xact_lock(hashtext('first user'))`.execute(tx);
  const again = await sql<{ first: boolean }>`select (select uid from users order by uid limit 1) is null as first`.execute(tx);
  return again.rows[0]?.first === true;
}

export async function takeToken(tx: Tx, kind: "verify" | "reset", token: string): Promise<string> {
  const taken = await consumeToken(tx, kind, token);
  if (!taken?.uid) throw new Fault("not_found", "not_found", "This token is not valid any more. Ask for a new one.");
  return taken.uid;
}

/** An invitation lets somebody in only while it is open: one that was taken back, or whose team is gone, does not. */
export async function takeInvitation(tx: Tx, token: string): Promise<{ email: string | null } | undefined> {
  const taken = await consumeToken(tx, "invite", token);
  const open =
    taken?.email &&
    (await tx
      .selectFrom("pending")
      .select("id")
      .where("email", "=", taken.email)
      .where("uid", "is", null)
      .where("expires_at", ">", sql<Date>`now()`)
      .executeTakeFirst());
  return open ? taken : undefined;
}

/** The address is proven: invitations that were sent to it now belong to the account. */
export async function markVerified(tx: Tx, uid: string): Promise<void> {
  const { email } = await tx
    .updateTable("users")
    .set({ verified_at: sql`coalesce(verified_at, now())` })
    .where("uid", "=", uid)
    .returning("email")
    .executeTakeFirstOrThrow();
  const address = email.toLowerCase();
  // Somebody may have been invited to the same team by their uid, too: one invitation is enough.
  await tx
    .deleteFrom("pending")
    .where("email", "=", address)
    .where("uid", "is", null)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom("pending as same").select("same.id").where("same.uid", "=", uid).whereRef("same.tid", "=", "pending.tid")),
    )
    .execute();
  await tx.updateTable("pending").set({ uid, email: null }).where("email", "=", address).where("uid", "is", null).execute();
}

/** True while this is still the account's password; it then stays so until the transaction ends. */
export async function holdPassword(tx: Tx, { uid, password_hash }: { uid: string; password_hash: string }): Promise<boolean> {
  const held = await tx.selectFrom("users").select("uid").where("uid", "=", uid).where("password_hash", "=", password_hash).forShare().executeTakeFirst();
  return held !== undefined;
}

export async function insertLogin(tx: Tx, uid: string, ip: string): Promise<void> {
  const id = randomUUIDv7();
  await tx
    .insertInto("logins")
    .values({ id, uid, ip, created_at: timeOf(id) })
    .execute();
}

export const findSession = (tx: Tx, refresh: string) =>
  tx
    .selectFrom("sessions")
    .select(["session_id", "uid"])
    .where("refresh_hash", "=", hashOf(refresh))
    .where("expires_at", ">", sql<Date>`now()`)
    .executeTakeFirst();
