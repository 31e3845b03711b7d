/** Answers to what waits: accepted or declined by the one asked, taken back by the one who asked. Each area says what that means for its own type. */
import { Fault } from "@stead/base/fault.ts";
import type { pending } from "@stead/contract/pending.ts";
import { sql } from "kysely";
import type { Tx } from "../../db/pool.ts";
import { type Handlers, many } from "../../http/handler.ts";
import type { Answering, Confirmation, PendingRow } from "../confirmation.ts";

/** Takes the row out, so that of an acceptance and a withdrawal at the same moment only one happens. */
async function take(tx: Tx, id: string, column: "uid" | "asked_by", uid: string) {
  const row = await tx
    .deleteFrom("pending")
    .where("id", "=", id)
    .where(column, "=", uid)
    .returning(["id", "type", "asked_by", "uid", "sid", "tid", "expires_at"])
    .executeTakeFirst();
  if (!row) throw new Fault("not_found", "not_found", "Not found.");
  return row;
}

export function handlersFor(confirmations: readonly Confirmation[]): Handlers<typeof pending> {
  const byType = new Map(confirmations.map((confirmation) => [confirmation.type, confirmation]));
  const answer = (verb: "accept" | "decline" | "cancel", context: Answering, row: PendingRow & { type: Confirmation["type"] }) => {
    const confirmation = byType.get(row.type);
    if (!confirmation) throw new Error(`nobody answers for ${row.type}`);
    return confirmation[verb](context, row);
  };
  return {
    outgoing: many((db, { uid }) =>
      db
        .selectFrom("pending")
        .select(["id", "type", "detail", "created_at"])
        .where("asked_by", "=", uid as string)
        .where("expires_at", ">", sql<Date>`now()`)
        .orderBy("created_at"),
    ),

    async accept(context) {
      const row = await take(context.tx, context.params.pending_id, "uid", context.actor.uid);
      if (row.expires_at <= context.deps.clock.now()) throw new Fault("conflict", "expired", "This has expired. Ask for it again.");
      await answer("accept", context, row);
      return { message: "Accepted." };
    },
    async decline(context) {
      await answer("decline", context, await take(context.tx, context.params.pending_id, "uid", context.actor.uid));
      return { message: "Declined." };
    },
    async cancel(context) {
      await answer("cancel", context, await take(context.tx, context.params.pending_id, "asked_by", context.actor.uid));
      return { message: "Cancelled." };
    },
  };
}
