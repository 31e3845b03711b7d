/** Sessions: a short-lived bearer token for the API, and a refresh cookie that reaches nothing but `/ext/auth`. */
import { randomUUIDv7 } from "node:crypto";
import type { Tx } from "../db/pool.ts";
import type { Deps } from "../deps.ts";
import { hashOf, newCredential, newSecret } from "./credential.ts";

const token_minutes = 15;
const session_days = 30;
export const cookieName = "__Secure-stead_refresh";

export interface NewSession {
  readonly reply: { data: { token: string; expires_at: string; uid: string } };
  readonly cookie: string;
}

export interface Sender {
  readonly ip: string;
  readonly user_agent: string;
}

/** `base_url` may hold a path that a proxy takes away, but the browser knows nothing of that. */
function cookie(base_url: string, value: string, max_age_s: number): string {
  const path = `${new URL(base_url).pathname.replace(/\/$/, "")}/api/v2/ext/auth`;
  return `${cookieName}=${value}; Path=${path}; Max-Age=${max_age_s}; HttpOnly; Secure; SameSite=Strict`;
}

export const noCookie = (base_url: string): string => cookie(base_url, "", 0);

export async function beginSession(tx: Tx, { config, clock }: Deps, uid: string, sender: Sender): Promise<NewSession> {
  const now = clock.now();
  const refresh = newSecret();
  const session_id = randomUUIDv7();
  const expires_at = new Date(now.getTime() + session_days * 86_400_000);
  await tx
    .insertInto("sessions")
    .values({ session_id, uid, refresh_hash: hashOf(refresh), ip: sender.ip, user_agent: sender.user_agent, expires_at })
    .execute();
  return { reply: await issueToken(tx, now, uid, session_id), cookie: cookie(config.base_url, refresh, session_days * 86_400) };
}

export async function issueToken(tx: Tx, now: Date, uid: string, session_id: string): Promise<NewSession["reply"]> {
  const token = newCredential("steads_");
  const expires_at = new Date(now.getTime() + token_minutes * 60_000);
  await tx
    .insertInto("credentials")
    .values({ key_id: randomUUIDv7(), uid, kind: "session", hash: hashOf(token), last4: token.slice(-4), session_id, expires_at })
    .execute();
  return { data: { token, expires_at: expires_at.toISOString(), uid } };
}

/** A new password ends what an older one opened: sessions but the caller's own, devices on their way in, and other resets. */
export async function endAccess(tx: Tx, uid: string, except: string | null): Promise<void> {
  await tx
    .deleteFrom("sessions")
    .where("uid", "=", uid)
    .$if(except !== null, (query) => query.where("session_id", "<>", except))
    .execute();
  await tx.deleteFrom("device_logins").where("uid", "=", uid).execute();
  await tx.deleteFrom("one_time_tokens").where("uid", "=", uid).where("kind", "=", "reset").execute();
}
