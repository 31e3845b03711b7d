/** What an area must say about a confirmation that it asks for: what happens when it is accepted, declined or taken back. */
import type { Tx } from "../db/pool.ts";
import type { ActivityRecord } from "../db/records.ts";
import type { Deps } from "../deps.ts";
import type { Actor } from "../http/handler.ts";

export interface PendingRow {
  readonly id: string;
  readonly asked_by: string;
  readonly uid: string | null;
  readonly sid: string | null;
  readonly tid: string | null;
}

export interface Answering {
  readonly tx: Tx;
  readonly deps: Deps;
  readonly actor: Actor;
  record(entry: ActivityRecord): void;
}

export interface Confirmation {
  readonly type: "server_transfer" | "team_invite";
  accept(context: Answering, row: PendingRow): Promise<void>;
  decline(context: Answering, row: PendingRow): Promise<void> | void;
  cancel(context: Answering, row: PendingRow): Promise<void> | void;
}
