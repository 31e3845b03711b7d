/** What is kept only for a while leaves here, once a day: old months, used-up sessions and secrets, expired confirmations, answers kept for replay. */
import { sql } from "kysely";
import Type from "typebox";
import { dropOldPartitions, makePartitions } from "../db/partitions.ts";
import type { Db } from "../db/pool.ts";
import { job } from "../jobs/jobs.ts";

const expiring = ["sessions", "credentials", "one_time_tokens", "device_logins", "pending"] as const;
const batch = 10_000;

/** In batches, so that a day's worth of rows is not one long statement. */
async function removeOlder(db: Db, table: string, column: string, than: Date): Promise<void> {
  for (;;) {
    const [name, time] = [sql.table(table), sql.ref(column)];
    const { numAffectedRows = 0n } =
      await sql`delete from ${name} where ctid = any(array(select ctid from ${name} where ${time} < ${than} limit ${batch}))`.execute(db);
    if (numAffectedRows < batch) return;
  }
}

export const retention = job({
  name: "retention",
  data: Type.Object({}),
  cron: "17 3 * * *",
  async run({ db, clock, log }) {
    const now = clock.now();
    await makePartitions(db, now);
    const dropped = await dropOldPartitions(db, now);
    for (const table of expiring) await removeOlder(db, table, "expires_at", now);
    await removeOlder(db, "idempotency", "created_at", new Date(now.getTime() - 86_400_000));
    log.info("retention done", { count: dropped.length });
  },
});
