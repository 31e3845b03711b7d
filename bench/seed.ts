/** The rows that both subjects read and write: one user with a key and 20 confirmations that wait, 500 servers to spread the writes over. */
import { randomUUIDv7 } from "node:crypto";
import { formatId } from "@stead/base/id.ts";
import { openDatabase } from "@stead/control/db/pool.ts";
import { hashOf, newCredential } from "@stead/control/identity/credential.ts";

export interface Seeded {
  readonly key: string;
  readonly uid: string;
  readonly sids: readonly string[];
}

export async function seed(url: string): Promise<Seeded> {
  const { db, close } = openDatabase({ url, connections: 2, onIdleError: () => {} });
  const uid = randomUUIDv7();
  const key = newCredential("stead_");
  const asker = randomUUIDv7();
  const people = [uid, asker].map((id, n) => ({ uid: id, email: `${n}@example.com`, password_hash: "none", plan_id: "self-hosted", verified_at: new Date() }));
  await db.insertInto("users").values(people).execute();
  await db
    .insertInto("credentials")
    .values({ key_id: randomUUIDv7(), uid, kind: "primary", hash: hashOf(key), last4: key.slice(-4) })
    .execute();
  const teams = Array.from({ length: 20 }, (_, n) => ({ tid: randomUUIDv7(), owner_uid: asker, name: `Team ${n}` }));
  await db.insertInto("teams").values(teams).execute();
  const expires_at = new Date(Date.now() + 86_400_000);
  await db
    .insertInto("pending")
    .values(
      teams.map(({ tid }) => ({ id: randomUUIDv7(), type: "team_invite" as const, uid, asked_by: asker, tid, detail: formatId("team", tid), expires_at })),
    )
    .execute();
  const servers = Array.from({ length: 500 }, (_, n) => ({ sid: randomUUIDv7(), owner_uid: uid, name: `web-${n}`, ip: "192.0.2.10" }));
  await db.insertInto("servers").values(servers).execute();
  await close();
  return { key, uid: formatId("usr", uid), sids: servers.map(({ sid }) => formatId("srv", sid)) };
}
