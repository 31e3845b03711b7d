/** A server that a body names. The path's own server is found by the edge; this is for all others. */
import { Fault } from "@stead/base/fault.ts";
import { parseId } from "@stead/base/id.ts";
import { sql } from "kysely";
import type { Tx } from "./pool.ts";

interface SeenServer {
  readonly sid: string;
  readonly name: string;
  readonly owned: boolean;
}

/** What this user may not see is "not found", whether it exists or not; what this key may not touch is refused. */
export async function getSeenServer(tx: Tx, { uid, key_id }: { uid: string; key_id: string }, id: string): Promise<SeenServer> {
  const sid = parseId("srv", id);
  const { rows } = await sql<SeenServer & { allowed: boolean }>`
    select s.sid, s.name, s.owner_uid = ${uid} as owned, k.sids is null or s.sid = any(k.sids) as allowed
    from servers s join credentials k on k.key_id = ${key_id}
    where s.sid = ${sid}::uuid and s.ensure = 'present' and (s.owner_uid = ${uid} or exists (
      select 1 from team_servers ts join team_members tm on tm.tid = ts.tid where ts.sid = s.sid and tm.uid = ${uid}))`.execute(tx);
  const [seen] = rows;
  if (!seen) throw new Fault("not_found", "not_found", "Server not found.");
  if (!seen.allowed) throw new Fault("forbidden", "scope_missing", "This API key may not act on that server.");
  return seen;
}
