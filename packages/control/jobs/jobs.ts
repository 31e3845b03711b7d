/**
 * Work outside a server's document that must finish even if the process does not. A thin wrapper over pg-boss:
 * a job is put in the queue by the transaction that needs it, and looks at the rows when it runs.
 * It may be killed anywhere and run again, so what it does to the outside carries a key derived from its id.
 */
import { Fault } from "@stead/base/fault.ts";
import { describeError, type Log } from "@stead/base/log.ts";
import { fromKysely, PgBoss, type Job as PgBossJob } from "pg-boss";
import type { Static, TSchema } from "typebox";
import { notMigrated } from "../db/migrate.ts";
import type { Db, Tx } from "../db/pool.ts";
import type { Deps } from "../deps.ts";

export interface Job<S extends TSchema = TSchema> {
  readonly name: string;
  readonly data: S;
  /** When it also runs by itself, in UTC. A time at which nobody was up is made good once, at the next start. */
  readonly cron?: string;
  run(deps: Deps, data: Static<S>, id: string): Promise<void>;
}

export const job = <S extends TSchema>(definition: Job<S>): Job<S> => definition;

/** A dead worker is noticed after this long without a heartbeat; its job is then retried by any other. */
const heartbeat_s = 10;
const queueOptions = { retryLimit: 12, retryDelay: 5, retryBackoff: true, retryDelayMax: 3600, expireInSeconds: 900, heartbeatSeconds: heartbeat_s };
const workOptions = { batchSize: 20, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, perJobResults: true } as const;

/** Makes the engine's own tables and one queue a job; part of `migrate`. */
export async function installJobs(url: string, jobs: readonly Job[]): Promise<void> {
  const boss = new PgBoss({ connectionString: url, max: 2, supervise: false, schedule: false });
  boss.on("error", () => {});
  await boss.start();
  for (const { name } of jobs) await boss.createQueue(name, queueOptions);
  await boss.stop({ graceful: false });
}

export class Jobs {
  readonly #boss: PgBoss;
  readonly #jobs: readonly Job[];
  readonly #log: Log;

  constructor(db: Db, jobs: readonly Job[], log: Log) {
    this.#jobs = jobs;
    this.#log = log;
    this.#boss = new PgBoss({
      db: fromKysely(db),
      migrate: false,
      createSchema: false,
      monitorIntervalSeconds: heartbeat_s,
      superviseIntervalSeconds: heartbeat_s,
    });
    this.#boss.on("error", (error) => log.error("the job engine failed", describeError(error)));
  }

  /** Queues the job in the caller's transaction: it exists if and only if that commits. */
  async send<S extends TSchema>(tx: Tx, { name }: Job<S>, data: Static<S>): Promise<void> {
    await this.#boss.send(name, data as object, { db: fromKysely(tx) });
  }

  async start(deps: Deps): Promise<void> {
    await this.#boss.start().catch((error: unknown) => {
      throw /not installed|requires migrations/.test(String(error)) ? notMigrated(["the job engine's tables"]) : error;
    });
    const queues = new Set((await this.#boss.getQueues()).map(({ name }) => name));
    const missing = this.#jobs.map(({ name }) => name).filter((name) => !queues.has(name));
    if (missing.length > 0) throw notMigrated(missing.map((name) => `the queue ${name}`));
    for (const entry of this.#jobs) {
      await this.#boss.work<object, unknown, typeof workOptions>(entry.name, workOptions, (batch) =>
        Promise.all(batch.map((taken) => this.#attempt(entry, deps, taken))),
      );
      if (entry.cron) await this.#boss.schedule(entry.name, entry.cron, null, { missed: "once" });
    }
  }

  /** Finishes what runs, and takes nothing new. */
  async stop(): Promise<void> {
    await this.#boss.stop({ graceful: true, timeout: 20_000 });
  }

  /**
   * A Fault is the end of a job; an accident is tried again. What is done is noted at once and not with the rest
   * of its batch, so that a crash repeats as little as possible.
   */
  async #attempt(entry: Job, deps: Deps, taken: Taken): Promise<JobResult> {
    const { id, data } = taken;
    try {
      const output = await entry.run(deps, data as never, id).then(() => null, faultOf);
      if (output) this.#log.warn("a job was given up", { job: entry.name, job_id: id, code: output.fault });
      await this.#boss.complete(entry.name, taken, output);
      return { id, status: "completed" };
    } catch (error) {
      this.#log.warn("a job failed", { job: entry.name, job_id: id, ...describeError(error) });
      return { id, status: "failed", output: { error: error instanceof Error ? error.message : "unknown" } };
    }
  }
}

type Taken = PgBossJob<object>;
type JobResult = { id: string; status: "completed" | "failed"; output?: object };

function faultOf(error: unknown): { fault: string } {
  if (error instanceof Fault) return { fault: error.code };
  throw error;
}
