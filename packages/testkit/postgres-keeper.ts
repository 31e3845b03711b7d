/**
 * The process between a test run and its PostgreSQL. Its input is a pipe from its parent that carries
 * nothing: when the parent ends, in whatever way, the pipe closes and the server is stopped. A handler
 * in the parent could not promise that, because nothing runs in a process that was killed.
 */
import { spawn } from "node:child_process";
import { openSync, readFileSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** What the parent orders, as JSON in the first argument. */
export interface KeeperOrder {
  readonly command: string;
  readonly args: readonly string[];
  readonly data: string;
  /** Where the server writes its messages. */
  readonly log: string;
  readonly owner: { readonly uid: number; readonly gid: number } | null;
  /** The folder to remove when the server has ended, for a throw-away. */
  readonly remove: string | null;
}

/** The eighth line of `postmaster.pid` says `ready`; the first tells whether the file is this server's or a dead one's. */
function isReady(data: string, pid: number): boolean {
  try {
    const lines = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
    return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
  } catch {
    return false;
  }
}

async function keep(order: KeeperOrder): Promise<void> {
  const log = openSync(order.log, "a", 0o600);
  const server = spawn(order.command, order.args, { stdio: ["ignore", log, log], cwd: order.data, ...order.owner });
  let ended = false;
  let asked = false;
  const exit = new Promise<void>((done) => {
    server.once("exit", done);
    server.once("error", (error) => {
      writeSync(log, `${error.message}\n`);
      done();
    });
  }).then(() => {
    ended = true;
  });

  const stop = () => {
    asked = true;
    // SIGINT is PostgreSQL's fast shutdown: sessions are cut, nothing committed is lost. SIGQUIT does not wait.
    server.kill("SIGINT");
    setTimeout(() => server.kill("SIGQUIT"), 10_000).unref();
  };
  process.stdin.on("end", stop).on("error", stop).resume();
  process.on("SIGINT", stop).on("SIGTERM", stop);

  while (!ended && !isReady(order.data, server.pid ?? 0)) await sleep(10);
  // The parent may be gone already; then nobody reads this and that is no reason to fall over.
  process.stdout.on("error", () => {});
  if (!ended) process.stdout.write("ready\n");
  await exit;
  // A server that would not start leaves its log to the parent, who reads it and cleans up.
  if (asked && order.remove) await rm(order.remove, { recursive: true, force: true });
  process.exit();
}

if (import.meta.main) await keep(JSON.parse(process.argv[2] ?? "") as KeeperOrder);
