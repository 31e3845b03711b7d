/** A running control plane: everything wired together, started in an order that is safe to be cut short, and stopped without losing what it accepted. */
import type { Server } from "node:http";
import { systemClock } from "@stead/base/clock.ts";
import { describeError } from "@stead/base/log.ts";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import { areas, formats, jobs, noteExposed } from "./areas/index.ts";
import type { Bind, Config } from "./config.ts";
import { requireMigrated } from "./db/migrate.ts";
import { openDatabase } from "./db/pool.ts";
import type { Deps, Mail } from "./deps.ts";
import { peerOf } from "./http/address.ts";
import { createMetrics, internalServer } from "./http/internal.ts";
import { Limiter } from "./http/limits.ts";
import { createEdge, type Edge } from "./http/server.ts";
import { plainServer } from "./http/transport.ts";
import { tokenOf } from "./identity/credential.ts";
import { Jobs } from "./jobs/jobs.ts";
import type { ProcessLog } from "./log.ts";
import { version } from "./version.ts";

export interface Running {
  readonly app: FastifyInstance;
  readonly deps: Deps;
  stop(): Promise<void>;
}

export interface Outside {
  readonly mail: Mail | null;
}

/** `extra` areas are mounted beside the product's own; the benchmarks use it to measure a path that no area of today has. */
export async function serve(config: Config, log: ProcessLog, { mail }: Outside, extra: Partial<Pick<Edge, "areas" | "formats">> = {}): Promise<Running> {
  const { db, pool, close } = openDatabase({
    url: config.database_url,
    connections: config.database_connections,
    onIdleError: (error) => log.warn("a database connection broke", describeError(error)),
  });
  const queue = new Jobs(db, jobs, log);
  const deps: Deps = { version, config, db, clock: systemClock, log, limiter: new Limiter(config.quotas, () => performance.now()), jobs: queue, mail };
  const metrics = createMetrics(pool);
  const observe: Edge["observe"] = (seen) => {
    metrics.observe(seen);
    const { code, uid, ...rest } = seen;
    log.info("request", { ...rest, ...(code === null ? {} : { code }), ...(uid === null ? {} : { uid }) });
  };
  const onPlain: Edge["onPlain"] = (request, request_id) => {
    observe({
      operation: "none",
      method: request.method ?? "",
      status: 403,
      code: "https_required",
      duration_ms: 0,
      uid: null,
      request_id,
      ip: peerOf(request),
    });
    const token = tokenOf(request);
    if (token && token !== "bad") noteExposed(deps, token).catch((error: unknown) => log.error("an exposed key could not be noted", describeError(error)));
  };
  const app = createEdge(deps, {
    areas: { ...areas, ...extra.areas },
    formats: { ...formats, ...extra.formats },
    onPlain,
    observe,
  });
  let stopping = false;
  const internal = internalServer(metrics, { ready: async () => !stopping && (await isUp(db)) });
  await requireMigrated(db);
  await queue.start(deps);
  await app.listen(config.bind);
  await listen(internal, config.internal_bind);
  const plain = config.http_bind ? plainServer(config.base_url, onPlain) : null;
  if (plain && config.http_bind) await listen(plain, config.http_bind);
  return {
    app,
    deps,
    async stop() {
      stopping = true;
      plain?.close();
      await closeWhenAnswered(app);
      await queue.stop();
      internal.close();
      internal.closeAllConnections();
      await close();
    },
  };
}

/** How long a request may go on after the stop was asked for. Less than the ten seconds after which container engines kill. */
const patience_ms = 8000;

/** Takes no new connection, and ends each old one once it has its answer: kept alive, it would hold up the end for a minute. */
async function closeWhenAnswered(app: FastifyInstance): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), 50);
  const impatience = setTimeout(() => app.server.closeAllConnections(), patience_ms);
  await app.close().finally(() => {
    clearInterval(idle);
    clearTimeout(impatience);
  });
}

const isUp = (db: Deps["db"]): Promise<boolean> =>
  sql`select 1`.execute(db).then(
    () => true,
    () => false,
  );

const listen = (server: Server, { host, port }: Bind): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
