/** Backups of websites: the plans, the schedule of a website, and the copies. */
import Type from "typebox";
import { Amount, Currency, count, flag, Id, moment, Nullable, oneOf, Ref, Timestamp, text } from "./fields.ts";
import { Frequency } from "./fields-hosting.ts";
import { data, list, message, onUser, onWebsite, operation } from "./operation.ts";

const BackupPlanId = text({ pattern: "^[a-z0-9][a-z0-9_-]{0,63}$" }, "daily-7");

export const BackupPlan = Type.Object({
  plan_id: BackupPlanId,
  name: text({}, "Daily, one week"),
  description: text({}, "Kept on the server for seven runs."),
  frequencies: Type.Array(Frequency),
  default_frequency: Frequency,
  retention_count: count(7),
  storage: oneOf(["local", "s3"]),
  price: Amount,
  currency: Currency,
  available: flag(true, "Whether the caller's subscription allows it."),
});

export const BackupSchedule = Type.Object({
  wid: Id("wid"),
  plan_id: BackupPlanId,
  frequency: Frequency,
  status: oneOf(["enabled"]),
  next_run_at: moment("2026-11-16T03:17:00.000Z"),
  created_at: Timestamp,
});

export const Backup = Type.Object({
  backup_id: Id("backup_id"),
  wid: Id("wid"),
  kind: oneOf(["manual", "scheduled", "safety"]),
  status: oneOf(["queued", "running", "completed", "failed", "restoring"], "completed"),
  size_bytes: Nullable(count(52_428_800)),
  includes: Type.Array(oneOf(["files", "database"])),
  created_at: Timestamp,
  completed_at: Nullable(moment("2026-11-15T09:31:12.000Z")),
  expires_at: Nullable(moment("2026-11-22T09:30:00.000Z")),
});

export const backups = {
  plans: operation({
    method: "GET", path: onUser("/backupplans"), scope: "user", effect: "read", needs: "sites:read",
    summary: "List the backup plans; `available` tells which the subscription allows",
    reply: list(BackupPlan),
  }),
  enable: operation({
    method: "POST", path: onWebsite("/backups"), scope: "website", effect: "change", needs: "sites:write",
    summary: "Set or replace the website's backup schedule",
    body: Type.Object({ plan_id: text({ minLength: 1, maxLength: 64, says: "must be an identifier" }, "daily-7"), frequency: Type.Optional(Frequency) }),
    reply: data(BackupSchedule), faults: ["plan_limit"],
  }),
  run: operation({
    method: "POST", path: onWebsite("/backups/manual"), scope: "website", effect: "change", needs: "sites:write", class: "live",
    summary: "Make a backup now",
    reply: data(Backup), faults: ["plan_limit", "server_not_ready", "website_busy"],
  }),
  restore: operation({
    method: "POST", path: onWebsite("/backups/restore"), scope: "website", effect: "change", needs: "sites:write", class: "live",
    summary: "Restore a backup after a safety backup",
    body: Type.Object({ backup_id: Ref("backup_id") }),
    reply: message("Restore started."), faults: ["server_not_ready", "backup_not_ready", "website_busy"],
  }),
  list: operation({
    method: "GET", path: onWebsite("/ext/backups"), scope: "website", effect: "read", needs: "sites:read",
    summary: "List the website's backups",
    reply: list(Backup),
  }),
  get: operation({
    method: "GET", path: onWebsite("/ext/backups/{backup_id}"), scope: "website", effect: "read", needs: "sites:read",
    summary: "Get one backup",
    reply: data(Backup),
  }),
  delete: operation({
    method: "DELETE", path: onWebsite("/ext/backups/{backup_id}"), scope: "website", effect: "change", needs: "sites:write", class: "queued",
    summary: "Delete a backup permanently",
    reply: message("Backup deleted."), faults: ["website_busy"],
  }),
  disable: operation({
    method: "DELETE", path: onWebsite("/ext/backups/schedule"), scope: "website", effect: "change", needs: "sites:write",
    summary: "End the website's backup schedule; backups that exist stay until they expire",
    reply: message("Backups disabled."),
  }),
};
