/**
 * Measured ratios. Stead and a bare `node:http` + `pg` server do the same work on the same PostgreSQL, in rounds
 * that alternate, with the same number of connections; the medians are compared. A ratio holds on a noisy machine
 * where a number of requests a second does not.
 *
 *   npm run bench            both paths
 *   npm run bench -- read    only the list
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { migrate } from "@stead/control/migrate.ts";
import { startPostgres } from "@stead/testkit/postgres.ts";
import { type Seeded, seed } from "./seed.ts";

const rounds = Number(process.env.BENCH_ROUNDS ?? "7");
const seconds = Number(process.env.BENCH_SECONDS ?? "4");
const connections = Number(process.env.BENCH_CONNECTIONS ?? "16");

interface Subject {
  readonly name: string;
  readonly process: ChildProcess;
  readonly url: string;
}

/** Each in a process of its own, so that neither's event loop is in the other's way. */
async function start(name: string, file: string, database_url: string): Promise<Subject> {
  const child = spawn(process.execPath, [new URL(file, import.meta.url).pathname], {
    env: { ...process.env, DATABASE_URL: database_url, BENCH_CONNECTIONS: String(connections) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.once("exit", (code) => {
    if (code) process.exit(code);
  });
  const [first] = (await once(child.stdout as NonNullable<typeof child.stdout>, "data")) as [Buffer];
  child.stdout?.resume();
  return { name, process: child, url: String(first).trim() };
}

interface Round {
  readonly rps: number;
  readonly failed: number;
  readonly p99_ms: number;
}

async function load(subject: Subject, path: "read" | "write", seeded: Seeded): Promise<Round> {
  const plan = { url: subject.url, path, seconds, connections, ...seeded };
  const child = spawn(process.execPath, [new URL("load.ts", import.meta.url).pathname, JSON.stringify(plan)], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  await once(child, "close");
  return JSON.parse(out) as Round;
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] as number;
const say = (text: string) => void process.stdout.write(`${text}\n`);

async function compare(path: "read" | "write", subjects: readonly [Subject, Subject], seeded: Seeded, wanted: number): Promise<void> {
  const results = new Map<string, Round[]>(subjects.map(({ name }) => [name, []]));
  for (const subject of subjects) await load(subject, path, seeded);
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes from round to round, so that a drift of the machine favours nobody.
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) results.get(subject.name)?.push(await load(subject, path, seeded));
  }
  const [bare, stead] = subjects.map(({ name }) => results.get(name) as Round[]) as [Round[], Round[]];
  const failed = [...bare, ...stead].reduce((sum, round) => sum + round.failed, 0);
  const ratio = median(stead.map(({ rps }) => rps)) / median(bare.map(({ rps }) => rps));
  const pairs = stead.map(({ rps }, index) => rps / (bare[index] as Round).rps);
  say(
    `\n${path}: bare ${Math.round(median(bare.map(({ rps }) => rps)))}/s (p99 ${median(bare.map(({ p99_ms }) => p99_ms))} ms), Stead ${Math.round(median(stead.map(({ rps }) => rps)))}/s (p99 ${median(stead.map(({ p99_ms }) => p99_ms))} ms)`,
  );
  say(`  ratio of medians ${ratio.toFixed(2)} (wanted ${wanted}), rounds ${pairs.map((pair) => pair.toFixed(2)).join(" ")}, failed requests ${failed}`);
}

const server = await startPostgres({ durable: true });
try {
  await migrate(server.url);
  const seeded = await seed(server.url);
  const bare = await start("bare", "bare.ts", server.url);
  const stead = await start("stead", "stead.ts", server.url);
  say(`${availableParallelism()} cores, ${connections} connections, ${rounds} rounds of ${seconds} s, client, servers and PostgreSQL on the same machine`);
  const chosen = process.argv[2];
  if (chosen !== "write") await compare("read", [bare, stead], seeded, 1.0);
  if (chosen !== "read") await compare("write", [bare, stead], seeded, 0.8);
  bare.process.kill();
  stead.process.kill();
} finally {
  await server.stop();
}
