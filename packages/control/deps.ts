/** Everything that handlers and jobs need from outside, as one plain object made in main.ts. */
import type { Clock } from "@stead/base/clock.ts";
import type { Log } from "@stead/base/log.ts";
import type { Config } from "./config.ts";
import type { Db } from "./db/pool.ts";
import type { Limiter } from "./http/limits.ts";
import type { Jobs } from "./jobs/jobs.ts";

/** A message to a person. `message_id` is the same for every try, so that a repeat can be recognised. */
export interface Letter {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly message_id: string;
}

export interface Mail {
  send(letter: Letter): Promise<void>;
}

export interface Deps {
  readonly version: string;
  readonly config: Config;
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly jobs: Jobs;
  /** Null where no mail server is configured: then nobody is asked to verify an address. */
  readonly mail: Mail | null;
}
