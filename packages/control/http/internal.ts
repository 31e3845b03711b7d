/** Health and metrics, on a listener of their own that is not for the public: no TLS, no key. */
import { createServer, type Server } from "node:http";
import type pg from "pg";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Observe } from "./server.ts";

export interface Metrics {
  readonly registry: Registry;
  readonly observe: Observe;
}

export function createMetrics(pool: pg.Pool): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({ name: "stead_requests_total", help: "Answers given.", labelNames: ["operation", "status"], registers: [registry] });
  const durations = new Histogram({
    name: "stead_request_duration_seconds",
    help: "Time to answer.",
    labelNames: ["operation"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  // Finding a series by its labels costs more than counting; each is looked up once.
  const kept = new Map<string, { count: Counter.Internal; time: Histogram.Internal<"operation"> }>();
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  gauge("stead_database_connections", "Open connections to PostgreSQL.", () => pool.totalCount);
  gauge("stead_database_waiting", "Requests that wait for a connection.", () => pool.waitingCount);
  return {
    registry,
    observe({ operation, status, duration_ms }) {
      const series = `${operation} ${status}`;
      let known = kept.get(series);
      if (!known) {
        known = { count: requests.labels(operation, String(status)), time: durations.labels(operation) };
        kept.set(series, known);
      }
      known.count.inc();
      known.time.observe(duration_ms / 1000);
    },
  };
}

export interface Health {
  /** False from the moment a shutdown begins, so that a balancer looks elsewhere. */
  ready(): Promise<boolean>;
}

export function internalServer({ registry }: Metrics, health: Health): Server {
  return createServer((request, response) => {
    const send = (status: number, text: string, type = "text/plain; charset=utf-8") =>
      void response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(text);
    if (request.method !== "GET" && request.method !== "HEAD") return send(405, "Only GET.\n");
    if (request.url === "/healthz") return send(200, "ok\n");
    if (request.url === "/readyz") return void health.ready().then((ready) => send(ready ? 200 : 503, ready ? "ready\n" : "not ready\n"));
    if (request.url === "/metrics") return void registry.metrics().then((text) => send(200, text, registry.contentType));
    return send(404, "Not found. There are /healthz, /readyz and /metrics.\n");
  });
}
