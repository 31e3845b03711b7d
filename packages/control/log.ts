/** Structured logs on standard output. Only the listed fields are written, whoever asks. */
import { type Log, type LogFields, logFields } from "@stead/base/log.ts";
import pino from "pino";

const allowed = new Set<string>(logFields);

export interface ProcessLog extends Log {
  flush(): void;
}

export function processLog(destination: pino.DestinationStream & { flushSync?(): void } = pino.destination({ sync: false, minLength: 4096 })): ProcessLog {
  const logger = pino(
    { base: null, messageKey: "message", timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (level) => ({ level }) } },
    destination,
  );
  const only = (fields: LogFields = {}): LogFields => {
    for (const name in fields) if (!allowed.has(name)) return Object.fromEntries(Object.entries(fields).filter(([field]) => allowed.has(field)));
    return fields;
  };
  const timer = setInterval(() => logger.flush(), 1000).unref();
  return {
    info: (message, fields) => logger.info(only(fields), message),
    warn: (message, fields) => logger.warn(only(fields), message),
    error: (message, fields) => logger.error(only(fields), message),
    flush() {
      clearInterval(timer);
      destination.flushSync?.();
    },
  };
}
