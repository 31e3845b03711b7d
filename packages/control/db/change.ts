/**
 * The one way to change what a server should be: its row is locked, it gets the next generation, and the rows that
 * the area writes carry that generation. The lock makes changes to one server happen one at a time, so no handler
 * thinks about a neighbour.
 */
import { randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import { sql } from "kysely";
import type { Tx } from "./pool.ts";
import type { ActivityRecord, OperationRecord } from "./records.ts";
import { compiler, placeholder, statement } from "./statement.ts";

interface Changing {
  readonly tx: Tx;
  readonly server: { readonly sid: string; readonly owner_uid: string };
  record(entry: ActivityRecord): void;
  begin(operation: OperationRecord): void;
}

export interface ServerChange<T> {
  readonly action: string;
  readonly detail: string;
  readonly wid?: string;
  /** What the operation is about, told once the rows are there. */
  resource(result: T): { readonly type: string; readonly id: string };
}

const nextGeneration = statement<{ wanted_generation: string }>(
  compiler
    .updateTable("servers")
    .set({ wanted_generation: sql`wanted_generation + 1` })
    .where("sid", "=", placeholder("sid"))
    .where("ensure", "=", "present")
    .returning("wanted_generation"),
);

export async function changeServer<T>({ tx, server, record, begin }: Changing, change: ServerChange<T>, work: (generation: string) => Promise<T>): Promise<T> {
  const [row] = await nextGeneration.run(tx, { sid: server.sid });
  // Deleted between the access check and this change.
  if (!row) throw new Fault("not_found", "not_found", "Server not found.");
  const result = await work(row.wanted_generation);
  const { action, detail, wid } = change;
  const { type: resource_type, id: resource_id } = change.resource(result);
  record({ action, detail, uid: server.owner_uid, sid: server.sid, ...(wid === undefined ? {} : { wid }) });
  begin({ oid: randomUUIDv7(), sid: server.sid, generation: row.wanted_generation, type: action, resource_type, resource_id });
  return result;
}
