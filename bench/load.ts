/** One round of load from a process of its own: prints requests a second and how many were not 2xx. */
import { randomUUID } from "node:crypto";
import autocannon from "autocannon";
import type { Seeded } from "./seed.ts";

interface Plan extends Seeded {
  readonly url: string;
  readonly path: "read" | "write";
  readonly seconds: number;
  readonly connections: number;
}

const { url, path, seconds, connections, key, uid, sids } = JSON.parse(process.argv[2] ?? "{}") as Plan;
const headers = { authorization: `Bearer ${key}` };

/** A different server and a fresh idempotency key for each write. */
const writing: autocannon.Request = {
  method: "POST",
  setupRequest: (request) => ({
    ...request,
    path: `/api/v2/databases/servers/${sids[Math.floor(Math.random() * sids.length)]}/users/${uid}`,
    headers: { ...headers, "content-type": "application/json", "idempotency-key": randomUUID() },
    body: JSON.stringify({ name: `d${randomUUID().replaceAll("-", "")}` }),
  }),
};

const result = await autocannon({
  url,
  connections,
  duration: seconds,
  requests: [path === "read" ? { method: "GET", path: `/api/v2/users/${uid}/pending`, headers } : writing],
});
process.stdout.write(JSON.stringify({ rps: result.requests.average, failed: result.non2xx + result.errors + result.timeouts, p99_ms: result.latency.p99 }));
