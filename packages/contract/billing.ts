/** Plans, invoices and the subscription. A suspended account can still see what it owes and settle it. */
import Type from "typebox";
import { Amount, Currency, count, Id, moment, Nullable, oneOf, PlanId, Ref, Timestamp, text } from "./fields.ts";
import { data, list, onUser, operation } from "./operation.ts";

export const Plan = Type.Object({
  plan_id: PlanId,
  name: text({}, "Pro"),
  description: text({}, "For agencies with many sites."),
  price: Amount,
  currency: Currency,
  interval: oneOf(["month", "year", "none"]),
  limits: Type.Object(
    {
      servers: Nullable(count(50)),
      websites: Nullable(count(500)),
      team_members: Nullable(count(20)),
      backups_per_website: Nullable(count(30)),
    },
    { description: "null is unlimited." },
  ),
  features: Type.Array(text({}, "Remote backups")),
});

export const Invoice = Type.Object({
  invoice_id: Id("invoice_id"),
  number: text({}, "2026-0042"),
  status: oneOf(["open", "paid", "void", "uncollectible"], "paid"),
  amount: Amount,
  amount_paid: Amount,
  currency: Currency,
  period_start: Timestamp,
  period_end: moment("2026-12-15T09:30:00.000Z"),
  due_at: Nullable(Timestamp),
  paid_at: Nullable(Timestamp),
  pdf_url: Nullable(text({ description: "Works for 15 minutes." }, "https://stead.example.com/invoices/2026-0042.pdf")),
  created_at: Timestamp,
});

export const Subscription = Type.Object({
  plan_id: PlanId,
  status: oneOf(["active", "past_due", "canceled"]),
  current_period_start: Nullable(Timestamp),
  current_period_end: Nullable(moment("2026-12-15T09:30:00.000Z")),
  pending_plan_id: Nullable(PlanId, null),
});

export const billing = {
  plans: operation({
    method: "GET", path: "/plans", scope: "key", effect: "read", needs: "any",
    summary: "List the subscription plans, cheapest first",
    reply: list(Plan),
  }),
  invoices: operation({
    method: "GET", path: onUser("/invoices"), scope: "user", effect: "read", needs: "billing:read",
    summary: "List the invoices, newest first",
    reply: list(Invoice), suspended: true,
  }),
  change_plan: operation({
    method: "PUT", path: onUser("/subscription"), scope: "user", effect: "change", needs: "billing:write", class: "external",
    summary: "Change the subscription: an upgrade holds at once, a downgrade from the end of the period",
    body: Type.Object({ plan_id: Ref("plan_id") }),
    reply: data(Subscription), suspended: true,
    faults: ["payment_method_missing", "limits_exceeded", "payment_failed", "provider_unavailable"],
  }),
};
