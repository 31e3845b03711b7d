/**
 * The one transaction of a changing operation. In it are the try-lock on the idempotency key, the handler's rows,
 * the jobs it queued, its activity, its operation and the record of the answer: all of it or nothing.
 * A dry run is the same transaction, rolled back.
 */
import { randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import { timeOf } from "@stead/base/id.ts";
import { sql } from "kysely";
import type { Db, Tx } from "../db/pool.ts";
import type { ActivityRecord, OperationRecord } from "../db/records.ts";
import { placeholder, statement } from "../db/statement.ts";
import type { Answer } from "./reply.ts";

/** What a handler leaves behind besides its own rows; written together at the end. */
export interface Trail {
  readonly activity: ActivityRecord[];
  operation: OperationRecord | null;
}

export interface ChangeRequest {
  readonly actor_uid: string | null;
  readonly idempotency: Idempotency | null;
  readonly dry_run: boolean;
  /** The answer holds a secret: only the fact that it was given is kept. */
  readonly secret: boolean;
}

export interface Idempotency {
  readonly key_hash: Buffer;
  readonly request_hash: Buffer;
}

/** The handler's answer, or a Fault that keeps what was written. */
export type Work = (tx: Tx, trail: Trail) => Promise<Answer | Fault>;

class RolledBack extends Error {}
class Raced extends Error {}

const mostTries = 5;
/** Serialisation failure and deadlock: PostgreSQL asks for another try, and nothing has happened yet. */
const tryAgain = new Set(["40001", "40P01"]);

export async function runChange(db: Db, request: ChangeRequest, work: Work): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      const outcome = await db.transaction().execute((tx) => once(tx, request, work));
      if (outcome instanceof Fault) throw outcome;
      return outcome;
    } catch (error) {
      if (error instanceof RolledBack) return { status: 200, body: JSON.stringify({ message: "Dry run: the request would succeed." }), headers: {} };
      const again = error instanceof Raced || tryAgain.has(String((error as { code?: unknown }).code));
      if (!again || attempt >= mostTries) throw error;
    }
  }
}

async function once(tx: Tx, request: ChangeRequest, work: Work): Promise<Answer | Fault> {
  const uid = request.actor_uid as string;
  const key = request.dry_run ? null : request.idempotency;
  const earlier = key && (await claim(tx, uid, key));
  if (earlier) return earlier;
  const trail: Trail = { activity: [], operation: null };
  const outcome = await work(tx, trail).catch(async (refusal: unknown) => {
    // A rival under this key that ended just before the lock was ours may be why: then its answer is the answer.
    throw key && refusal instanceof Fault && (await isAnswered(tx, uid, key)) ? new Raced() : refusal;
  });
  if (request.dry_run) {
    if (outcome instanceof Fault) throw outcome;
    throw new RolledBack();
  }
  await leave(tx, request, trail, outcome instanceof Fault ? null : outcome);
  return outcome;
}

const isAnswered = (tx: Tx, uid: string, key: Idempotency): Promise<boolean> =>
  claim(tx, uid, key).then(
    (earlier) => earlier !== null,
    (error: unknown) => error instanceof Fault,
  );

interface Earlier {
  readonly mine: boolean;
  readonly request_hash: Buffer | null;
  readonly status: number;
  readonly body: string | null;
  readonly headers: Record<string, string>;
}

const claiming = statement<Earlier>(sql`
  select pg_try_advisory_xact_lock(${placeholder("lock")}::bigint) as mine, r.request_hash, r.status, r.body, r.headers
  from (values (1)) as always left join idempotency r
    on r.uid = ${placeholder("uid")}::uuid and r.key_hash = ${placeholder("key_hash")} and r.created_at > now() - interval '24 hours'`);

/**
 * Takes the key for this transaction, or gives the earlier answer. The lock goes with the transaction, so a killed
 * process leaves nothing behind. A rival that commits between this statement's snapshot and its lock is caught
 * by the primary key when the answer is recorded, or looked for again when the handler refuses.
 */
async function claim(tx: Tx, uid: string, { key_hash, request_hash }: Idempotency): Promise<Answer | null> {
  const [earlier] = (await claiming.run(tx, { uid, key_hash, lock: lockOf(uid, key_hash) })) as [Earlier];
  if (earlier.request_hash === null) {
    if (earlier.mine) return null;
    throw new Fault("conflict", "idempotency_in_progress", "The first request with this idempotency key is still running.", {
      headers: { "retry-after": "1" },
    });
  }
  if (!earlier.request_hash.equals(request_hash))
    throw new Fault("conflict", "idempotency_key_reused", "This idempotency key was used for a different request.");
  if (earlier.body === null) throw new Fault("conflict", "already_performed", "The key was already issued and is shown only once.");
  return { status: earlier.status, body: earlier.body, headers: { ...earlier.headers, "idempotent-replayed": "true" } };
}

/** One lock for each user and key: what somebody else sends under the same key is none of this user's business. */
const lockOf = (uid: string, key_hash: Buffer): bigint => key_hash.readBigInt64BE() ^ BigInt.asIntN(64, BigInt(`0x${uid.slice(19, 23)}${uid.slice(24)}`));

const leaving = statement<{ kept: string }>(sql`
  with noted as (
    insert into activity (id, uid, actor_uid, sid, wid, action, detail, created_at)
    select * from unnest(${placeholder("ids")}::uuid[], ${placeholder("uids")}::uuid[], ${placeholder("actors")}::uuid[], ${placeholder("sids")}::uuid[],
      ${placeholder("wids")}::uuid[], ${placeholder("actions")}::text[], ${placeholder("details")}::text[], ${placeholder("times")}::timestamptz[])
  ), begun as (
    insert into operations (oid, uid, sid, generation, type, resource_type, resource_id)
    select * from (values (${placeholder("oid")}::uuid, ${placeholder("uid")}::uuid, ${placeholder("sid")}::uuid, ${placeholder("generation")}::bigint,
      ${placeholder("type")}::text, ${placeholder("resource_type")}::text, ${placeholder("resource_id")}::text)) as o(oid) where oid is not null
  ), kept as (
    insert into idempotency as i (uid, key_hash, request_hash, status, body, headers)
    select * from (values (${placeholder("uid")}::uuid, ${placeholder("key_hash")}::bytea, ${placeholder("request_hash")}::bytea, ${placeholder("status")}::smallint,
      ${placeholder("body")}::text, ${placeholder("headers")}::jsonb)) as r(uid, key_hash) where key_hash is not null
    on conflict (uid, key_hash) do update set request_hash = excluded.request_hash, status = excluded.status, body = excluded.body,
      headers = excluded.headers, created_at = now() where i.created_at <= now() - interval '24 hours'
    returning 1
  ) select count(*) as kept from kept`);

/** The earlier answer to the same request, where it is asked for ahead of the change itself. */
export async function replay(db: Db, uid: string, { key_hash, request_hash }: Idempotency): Promise<Answer | null> {
  return db.transaction().execute((tx) => claim(tx, uid, { key_hash, request_hash }));
}

/** Activity, operation and idempotency record in one statement. A refusal that keeps its writes is not kept for replay. */
async function leave(tx: Tx, request: ChangeRequest, trail: Trail, answer: Answer | null): Promise<void> {
  const { activity, operation } = trail;
  const record = request.idempotency && answer ? request.idempotency : null;
  if (activity.length === 0 && !operation && !record) return;
  const ids = activity.map(() => randomUUIDv7());
  const [row] = await leaving.run(tx, {
    ids,
    times: ids.map(timeOf),
    uids: activity.map(({ uid }) => uid ?? request.actor_uid),
    actors: activity.map(({ uid }) => request.actor_uid ?? uid),
    sids: activity.map(({ sid }) => sid ?? null),
    wids: activity.map(({ wid }) => wid ?? null),
    actions: activity.map(({ action }) => action),
    details: activity.map(({ detail }) => detail),
    uid: request.actor_uid,
    oid: operation?.oid ?? null,
    sid: operation?.sid ?? null,
    generation: operation?.generation ?? null,
    type: operation?.type ?? null,
    resource_type: operation?.resource_type ?? null,
    resource_id: operation?.resource_id ?? null,
    key_hash: record?.key_hash ?? null,
    request_hash: record?.request_hash ?? null,
    status: answer?.status ?? null,
    body: request.secret ? null : (answer?.body ?? null),
    headers: JSON.stringify(answer?.headers ?? {}),
  });
  if (record && row?.kept !== "1") throw new Raced();
}
