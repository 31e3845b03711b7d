/** The plans that an empty installation starts with. They are data: an operator may change them, and nothing here overwrites that. */
import { sql } from "kysely";
import type { Db } from "../../db/pool.ts";

const unlimited = { servers: null, websites: null, team_members: null, backups_per_website: null };

const seeds = {
  "self-hosted": [
    {
      plan_id: "self-hosted",
      name: "Self-hosted",
      description: "Everything, without limits.",
      price: 0,
      interval: "none",
      limits: unlimited,
      is_default: true,
    },
  ],
  service: [
    {
      plan_id: "free",
      name: "Free",
      description: "To try it and for small things.",
      price: 0,
      interval: "none",
      limits: { servers: 5, websites: 25, team_members: 3, backups_per_website: 7 },
      is_default: true,
    },
    {
      plan_id: "starter",
      name: "Starter",
      description: "For one person with several sites.",
      price: 900,
      interval: "month",
      limits: { servers: 15, websites: 100, team_members: 5, backups_per_website: 30 },
      is_default: false,
    },
    {
      plan_id: "pro",
      name: "Pro",
      description: "For agencies with many sites.",
      price: 2900,
      interval: "month",
      limits: { servers: 50, websites: 500, team_members: 20, backups_per_website: 30 },
      is_default: false,
    },
    { plan_id: "business", name: "Business", description: "Without limits.", price: 9900, interval: "month", limits: unlimited, is_default: false },
  ],
} as const;

export async function seedPlans(db: Db, which: keyof typeof seeds): Promise<void> {
  const plans = seeds[which].map((plan) => ({ ...plan, limits: JSON.stringify(plan.limits), currency: "EUR", features: [] }));
  const { rows } = await sql<{ seeded: boolean }>`select exists (select 1 from plans) as seeded`.execute(db);
  if (rows[0]?.seeded) return;
  await db
    .insertInto("plans")
    .values(plans)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
