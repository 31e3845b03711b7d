/**
 * A whole control plane for a test: the real edge on a real port, on a database of its own, and people to act in it.
 * People and servers are put straight into the database, because tests are about what happens next.
 */
import { randomUUIDv7 } from "node:crypto";
import type { AddressInfo } from "node:net";
import { formatId } from "@stead/base/id.ts";
import { type Config, readConfig } from "@stead/control/config.ts";
import type { Db } from "@stead/control/db/pool.ts";
import type { Mail } from "@stead/control/deps.ts";
import type { Edge } from "@stead/control/http/server.ts";
import { hashOf, newCredential } from "@stead/control/identity/credential.ts";
import { hashPassword } from "@stead/control/identity/password.ts";
import type { ProcessLog } from "@stead/control/log.ts";
import { type Running, serve } from "@stead/control/serve.ts";
import { type Client, createClient } from "@stead/sdk/client.ts";

export interface Person {
  readonly uuid: string;
  /** As the interface shows it. */
  readonly uid: string;
  readonly email: string;
  readonly password: string;
  readonly key: string;
  readonly client: Client;
}

export interface PersonColumns {
  readonly role?: "user" | "admin";
  readonly plan_id?: string;
  readonly status?: "active" | "suspended";
  readonly verified?: boolean;
}

export interface World {
  readonly url: string;
  readonly db: Db;
  readonly running: Running;
  /** What was logged, one object a line. */
  readonly logged: Record<string, unknown>[];
  person(name: string, columns?: PersonColumns): Promise<Person>;
  server(owner: Person, name?: string): Promise<{ uuid: string; sid: string }>;
  client(key?: string): Client;
  stop(): Promise<void>;
}

export interface WorldOptions {
  readonly database_url: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly mail?: Mail | null;
  readonly extra?: Partial<Pick<Edge, "areas" | "formats">>;
}

/** Far more than any test sends, so that only tests about limits meet them. */
const generous = "read=10000000/60,write=10000000/60,sensitive=1000000/60,auth=1000000/60,flood=1000000/1,password=1000/60";
export const password = "staple tractor violet";
let passwordHash: Promise<string> | null = null;

/** The settings of a control plane for tests, on ports that are free. */
export const testEnv = (database_url: string): Readonly<Record<string, string>> => ({
  DATABASE_URL: database_url,
  STEAD_BASE_URL: "https://stead.test",
  STEAD_BIND: "127.0.0.1:0",
  STEAD_INTERNAL_BIND: "127.0.0.1:0",
  STEAD_INSECURE_HTTP: "1",
  STEAD_RATE_LIMITS: generous,
});

export const testConfig = (database_url: string, env: Readonly<Record<string, string>> = {}): Config => readConfig({ ...testEnv(database_url), ...env });

export const testClient = (base_url: string, api_key?: string): Client => createClient({ base_url, retries: 0, ...(api_key ? { api_key } : {}) });

/** An account with a primary key, put straight into the database. */
export async function insertPerson(
  db: Db,
  url: string,
  name: string,
  { role = "user", plan_id, status = "active", verified = true }: PersonColumns = {},
): Promise<Person> {
  passwordHash ??= hashPassword(password);
  const uuid = randomUUIDv7();
  const email = `${name}-${uuid.slice(-6)}@example.com`;
  const plan = plan_id ?? (await db.selectFrom("plans").select("plan_id").where("is_default", "=", true).executeTakeFirstOrThrow()).plan_id;
  await db
    .insertInto("users")
    .values({ uid: uuid, email, password_hash: await passwordHash, first_name: name, role, plan_id: plan, status, verified_at: verified ? new Date() : null })
    .execute();
  const key = newCredential("stead_");
  await db
    .insertInto("credentials")
    .values({ key_id: randomUUIDv7(), uid: uuid, kind: "primary", hash: hashOf(key), last4: key.slice(-4), name: "Primary key" })
    .execute();
  return { uuid, uid: formatId("usr", uuid), email, password, key, client: testClient(url, key) };
}

export async function startWorld({ database_url, env, mail = null, extra }: WorldOptions): Promise<World> {
  const config = testConfig(database_url, env);
  const logged: Record<string, unknown>[] = [];
  const write = (level: string) => (message: string, fields?: object) => void logged.push({ level, message, ...fields });
  const log: ProcessLog = { info: write("info"), warn: write("warn"), error: write("error"), flush: () => {} };
  const running = await serve(config, log, { mail }, extra);
  const { port } = running.app.server.address() as AddressInfo;
  const url = `${config.tls.mode === "direct" ? "https" : "http"}://127.0.0.1:${port}`;
  const { db } = running.deps;
  const client = (api_key?: string) => testClient(url, api_key);
  return {
    url,
    db,
    running,
    logged,
    client,
    person: (name, columns) => insertPerson(db, url, name, columns),
    async server(owner, name = "web-1") {
      const uuid = randomUUIDv7();
      await db.insertInto("servers").values({ sid: uuid, owner_uid: owner.uuid, name, ip: "192.0.2.10" }).execute();
      return { uuid, sid: formatId("srv", uuid) };
    },
    stop: () => running.stop(),
  };
}
