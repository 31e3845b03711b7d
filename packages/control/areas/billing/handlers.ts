/** What can be subscribed to. Invoices and changing the plan come with the payment providers. */
import type { billing } from "@stead/contract/billing.ts";
import { type Handlers, many } from "../../http/handler.ts";

export const handlers: Handlers<Pick<typeof billing, "plans">> = {
  plans: many((db) =>
    db
      .selectFrom("plans")
      .select(["plan_id", "name", "description", "price", "currency", "interval", "limits", "features"])
      .orderBy("price")
      .orderBy("plan_id"),
  ),
};
