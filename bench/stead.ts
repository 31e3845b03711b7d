/**
 * Stead itself, whole: TLS aside, with rate limits, logs, metrics and all checks. The write path is measured with
 * the creation of a database on a server, by the sample handler of the testkit.
 */
import type { AddressInfo } from "node:net";
import { readConfig } from "@stead/control/config.ts";
import { processLog } from "@stead/control/log.ts";
import { serve } from "@stead/control/serve.ts";
import { sampleDatabases } from "@stead/testkit/sample-databases.ts";
import { destination } from "pino";

const config = readConfig({
  DATABASE_URL: process.env.DATABASE_URL,
  STEAD_BASE_URL: "http://127.0.0.1",
  STEAD_BIND: "127.0.0.1:0",
  STEAD_INTERNAL_BIND: "127.0.0.1:0",
  STEAD_INSECURE_HTTP: "1",
  STEAD_DATABASE_CONNECTIONS: process.env.BENCH_CONNECTIONS,
  STEAD_RATE_LIMITS: "read=100000000/60,write=100000000/60,flood=10000000/1",
});
const { app } = await serve(config, processLog(destination({ dest: "/dev/null", sync: false, minLength: 4096 })), { mail: null }, sampleDatabases);
process.stdout.write(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}\n`);
