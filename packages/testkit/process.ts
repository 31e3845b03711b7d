/**
 * Real `stead` processes for tests about what only a process can show: that it may be killed, that several share
 * one database, what it prints and how it ends. Started as anybody would, from its arguments and environment.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { testEnv } from "./world.ts";

type Env = Readonly<Record<string, string>>;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SteadProcess {
  readonly pid: number;
  readonly url: string;
  readonly internal_url: string;
  /** What it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when `/readyz` says so; rejects when it ends before. */
  readonly ready: Promise<void>;
  readonly ended: Promise<Ended>;
  kill(signal?: NodeJS.Signals): Promise<Ended>;
}

export interface ProcessOptions {
  readonly database_url: string;
  /** The ports to listen on, so that a new process can take the place of a dead one. */
  readonly ports?: Ports;
  readonly env?: Env;
}

export interface Ports {
  readonly api: number;
  readonly internal: number;
}

const program = fileURLToPath(import.meta.resolve("@stead/control/main.ts"));

/** Nothing of ours but the path; and compiled code is kept between runs, as starting is most of what these tests wait for. */
const ownEnv = (): Env => ({ PATH: process.env.PATH ?? "", NODE_COMPILE_CACHE: join(tmpdir(), `stead-compile-cache-${process.getuid?.() ?? 0}`) });

const serveEnv = (database_url: string, { api, internal }: Ports): Env => ({
  ...testEnv(database_url),
  STEAD_BIND: `127.0.0.1:${api}`,
  STEAD_INTERNAL_BIND: `127.0.0.1:${internal}`,
});

/** Starts it and does not wait: `ready` tells when it answers. */
export function spawnStead({ database_url, ports = { api: 0, internal: 0 }, env = {} }: ProcessOptions): SteadProcess {
  const child = launch(["serve"], { ...serveEnv(database_url, ports), ...env });
  const internal_url = `http://127.0.0.1:${ports.internal}`;
  const ready = untilReady(child.process, internal_url, () => child.stderr);
  // Whoever kills it before it is ready need not look at this.
  ready.catch(() => {});
  return {
    pid: child.process.pid as number,
    url: `http://127.0.0.1:${ports.api}`,
    internal_url,
    ready,
    ended: child.ended,
    get stdout() {
      return child.stdout;
    },
    get stderr() {
      return child.stderr;
    },
    kill(signal = "SIGKILL") {
      child.process.kill(signal);
      return child.ended;
    },
  };
}

export async function startStead(options: ProcessOptions): Promise<SteadProcess> {
  const stead = spawnStead({ ...options, ports: options.ports ?? (await freePorts()) });
  await stead.ready;
  return stead;
}

/** One command from start to end: `runStead(["admin", "user", "list"], env)`. It is killed when it takes too long. */
export async function runStead(args: readonly string[], env: Env, patience_ms = 30_000): Promise<Ended & { stdout: string; stderr: string }> {
  const child = launch(args, env);
  const patience = setTimeout(() => child.process.kill("SIGKILL"), patience_ms);
  const ended = await child.ended;
  clearTimeout(patience);
  return { ...ended, stdout: child.stdout, stderr: child.stderr };
}

/** The status of `/readyz`, or 0 where nobody answers. */
export const readiness = (internal_url: string): Promise<number> =>
  new Promise((resolve) => {
    const request = get(`${internal_url}/readyz`, { agent: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("timeout", () => request.destroy()).on("error", () => resolve(0));
  });

export async function freePorts(): Promise<Ports> {
  const [api, internal] = await Promise.all([listening(), listening()]);
  const ports = { api: portOf(api), internal: portOf(internal) };
  await Promise.all([api, internal].map((server) => once(server.close(), "close")));
  return ports;
}

const alive = new Set<ChildProcess>();

/** For `afterAll`: a test that fails half-way leaves no process behind. */
export async function endLeftovers(): Promise<void> {
  await Promise.all(
    [...alive].map((child) => {
      const ended = once(child, "close");
      child.kill("SIGKILL");
      return ended;
    }),
  );
}

interface Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly stdout: string;
  readonly stderr: string;
}

function launch(args: readonly string[], env: Env): Child {
  const child = spawn(process.execPath, [program, ...args], { env: { ...ownEnv(), ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr]: [string[], string[]] = [[], []];
  child.stdout.setEncoding("utf8").on("data", (text: string) => void stdout.push(text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void stderr.push(text));
  alive.add(child);
  const ended = once(child, "close").then(([code, signal]): Ended => {
    alive.delete(child);
    return { code, signal };
  });
  return {
    process: child,
    ended,
    get stdout() {
      return stdout.join("");
    },
    get stderr() {
      return stderr.join("");
    },
  };
}

async function untilReady(child: ChildProcess, internal_url: string, said: () => string): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    if ((await readiness(internal_url)) === 200) return;
    await sleep(20);
  }
  throw new Error(`stead serve did not become ready: ${said() || `exit ${child.exitCode ?? child.signalCode}`}`);
}

async function listening() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const portOf = (server: ReturnType<typeof createServer>): number => (server.address() as { port: number }).port;
