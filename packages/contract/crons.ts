/** Commands that a server runs by the clock, in its own time zone. */
import Type from "typebox";
import { count, flag, Id, moment, Nullable, Timestamp, text } from "./fields.ts";
import { CronCommand, CronSchedule, CronUser } from "./fields-hosting.ts";
import { data, list, message, onServer, operation } from "./operation.ts";

export const Cron = Type.Object({
  cid: Id("cid"),
  schedule: text({}, "30 4 * * 1"),
  command: text({}, "/usr/bin/php /home/deploy/report.php"),
  user: text({}, "deploy"),
  enabled: flag(true),
  next_run_at: Nullable(moment("2026-11-16T03:30:00.000Z")),
  last_run_at: Nullable(Timestamp),
  last_exit_code: Nullable(count(0)),
  created_at: Timestamp,
});

export const crons = {
  create: operation({
    method: "POST", path: onServer("/crons"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Create a cron job; it runs as root unless a system user is named",
    body: Type.Object({ schedule: CronSchedule, command: CronCommand, user: Type.Optional(CronUser) }),
    reply: data(Cron), status: 201, faults: ["server_not_ready"],
  }),
  list: operation({
    method: "GET", path: onServer("/crons"), scope: "server", effect: "read", needs: "servers:read",
    summary: "List the server's cron jobs",
    reply: list(Cron),
  }),
  delete: operation({
    method: "DELETE", path: onServer("/crons/{cid}"), scope: "server", effect: "change", needs: "servers:write", class: "queued",
    summary: "Delete a cron job; a run in progress is not killed",
    reply: message("Cron job deleted."),
  }),
};
