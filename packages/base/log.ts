/**
 * What may be written to a log, as a list. A field that is not here never reaches the log,
 * so a secret can leak only if someone adds its name to this list.
 */
export const logFields = [
  "request_id",
  "operation",
  "method",
  "status",
  "code",
  "duration_ms",
  "uid",
  "key_id",
  "ip",
  "job",
  "job_id",
  "attempt",
  "error",
  "stack",
  "bind",
  "version",
  "count",
  "migration",
  "signal",
] as const;

export type LogFields = Partial<Record<(typeof logFields)[number], string | number>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** What of an accident may be logged: never a database error's `detail`, which quotes rows. */
export function describeError(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = "code" in error && typeof error.code === "string" ? `${error.code} ` : "";
  return { error: `${code}${error.message}`, stack: error.stack ?? "" };
}
