import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { testDatabase } from "./database.ts";
import { createDatabase, ensureDatabase, spawnPostgres } from "./postgres.ts";

const database = testDatabase();

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: "array" })).rows.flat();
  } finally {
    await client.end();
  }
}

async function tempDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "stead-test-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

test("a file's database is a copy of the template that it may spoil", async () => {
  await query(database.url, "CREATE TABLE spoilt AS SELECT 1 AS one");
  const other = await createDatabase(inject("postgres_url"), inject("postgres_template"));
  onTestFinished(() => other.drop());
  expect(await query(other.url, "SELECT to_regclass('spoilt')")).toEqual([null]);
});

test("dropping a database cuts its sessions", async () => {
  const own = await createDatabase(inject("postgres_url"));
  const client = new Client({ connectionString: own.url });
  const cut = once(client, "error");
  // The driver tells twice: what the server said, and that the connection is gone.
  client.on("error", () => {});
  await client.connect();
  await own.drop();
  expect(String((await cut)[0])).toMatch(/terminat/);
  await expect(query(own.url, "SELECT 1")).rejects.toThrow("does not exist");
});

test("durable unless asked; a throw-away leaves nothing behind", async () => {
  const before = await readdir(tmpdir());
  const server = await spawnPostgres();
  expect(await query(server.url, "SELECT current_setting('fsync') UNION ALL SELECT current_setting('synchronous_commit')")).toEqual(["on", "on"]);
  const made = (await readdir(tmpdir())).filter((name) => name.startsWith("stead-postgres-") && !before.includes(name));
  expect(made.length).toBeGreaterThan(0);
  await server.stop();
  for (const name of made) expect(existsSync(join(tmpdir(), name, "data"))).toBe(false);
});

test("nobody gets in without the password", async () => {
  const server = await spawnPostgres({ durable: false });
  onTestFinished(() => server.stop());
  const stranger = new URL(server.url);
  stranger.password = "guess";
  await expect(query(stranger.href, "SELECT 1")).rejects.toThrow("password authentication failed");
});

test("a persistent folder keeps its data, and a killed owner's server is gone before the next one starts", async () => {
  const dir = join(await tempDir(), "postgres");
  const owner = spawn(
    process.execPath,
    [
      "--input-type=module-typescript",
      "--eval",
      `import { spawnPostgres } from ${JSON.stringify(import.meta.resolve("./postgres.ts"))}; console.log((await spawnPostgres({ dir: ${JSON.stringify(dir)} })).url); setInterval(() => {}, 1000);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const url = String((await once(owner.stdout, "data"))[0]).trim();
  const kept = await ensureDatabase(url, "kept");
  await query(kept, "CREATE TABLE row AS SELECT 7 AS n");
  owner.kill("SIGKILL");

  const next = await spawnPostgres({ dir });
  onTestFinished(() => next.stop());
  expect(await query(await ensureDatabase(next.url, "kept"), "SELECT n FROM row")).toEqual([7]);
  await expect(query(url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
});

test("a server that cannot start says why", async () => {
  await expect(spawnPostgres({ settings: { shared_buffers: "a lot" } })).rejects.toThrow(/did not start.*shared_buffers/s);
});
