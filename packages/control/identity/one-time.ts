/** Secrets for one use, sent by mail or printed once: verification, password reset, set-up and invitation. Only the hash is kept. */
import { sql } from "kysely";
import type { Db, Tx } from "../db/pool.ts";
import type { Schema } from "../db/schema.ts";
import { hashOf, newSecret } from "./credential.ts";

type TokenKind = Schema["one_time_tokens"]["kind"];

export const inHours = (now: Date, hours: number): Date => new Date(now.getTime() + hours * 3_600_000);

export async function newToken(db: Db, kind: TokenKind, who: { uid?: string; email?: string }, expires_at: Date): Promise<string> {
  const token = newSecret();
  await db
    .insertInto("one_time_tokens")
    .values({ hash: hashOf(token), kind, uid: who.uid ?? null, email: who.email ?? null, expires_at })
    .execute();
  return token;
}

/** Takes the token out; of two who try at once, one gets it. */
export const consumeToken = (tx: Tx, kind: TokenKind, token: string) =>
  tx
    .deleteFrom("one_time_tokens")
    .where("hash", "=", hashOf(token))
    .where("kind", "=", kind)
    .where("expires_at", ">", sql<Date>`now()`)
    .returning(["uid", "email"])
    .executeTakeFirst();
