/** Plan limits, checked in the transaction that would exceed them: the account's row is held, so that two requests cannot both take the last place. */
import { Fault } from "@stead/base/fault.ts";
import type { Tx } from "./pool.ts";
import type { PlanLimits } from "./schema.ts";

const nouns: Record<keyof PlanLimits, string> = {
  servers: "servers",
  websites: "websites",
  team_members: "team members",
  backups_per_website: "backups of a website",
};

export async function requireRoom(tx: Tx, uid: string, limit: keyof PlanLimits, count: () => Promise<number>): Promise<void> {
  const { limits } = await tx
    .selectFrom("users")
    .innerJoin("plans", "plans.plan_id", "users.plan_id")
    .select("plans.limits")
    .where("uid", "=", uid)
    .forUpdate("users")
    .executeTakeFirstOrThrow();
  const most = limits[limit];
  if (most === null || (await count()) < most) return;
  throw new Fault("forbidden", "plan_limit", `Your plan allows ${most} ${nouns[limit]}. Upgrade or remove one.`);
}
