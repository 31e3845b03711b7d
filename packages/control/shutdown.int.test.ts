/** SIGTERM under load: what was accepted is finished and answered, nothing new is taken, and the end comes soon and clean. */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { testDatabase } from "@stead/testkit/database.ts";
import { endLeftovers, freePorts, readiness, type SteadProcess, spawnStead, startStead } from "@stead/testkit/process.ts";
import { until } from "@stead/testkit/until.ts";
import { insertPerson, type Person } from "@stead/testkit/world.ts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Database, openDatabase } from "./db/pool.ts";

const database = testDatabase();
let own: Database;
let stead: SteadProcess;

beforeAll(() => {
  own = openDatabase({ url: database.url, connections: 4, onIdleError: () => {} });
});
afterAll(() => own.close());
afterEach(endLeftovers);

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A change over a kept-alive connection, as a proxy in front would send it. */
function createTeam(agent: Agent, { uid, key }: Person, name: string): Promise<Answer> {
  const body = JSON.stringify({ name });
  return new Promise((resolve, reject) => {
    request(
      `${stead.url}/api/v2/teams/users/${uid}`,
      { method: "POST", agent, headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": Buffer.byteLength(body) } },
      (response) => {
        const parts: string[] = [];
        response.setEncoding("utf8").on("data", (part: string) => void parts.push(part));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: parts.join("") })).on("error", reject);
      },
    )
      .on("error", reject)
      .end(body);
  });
}

/** Holds the rows that the next changes need until it is let go of: the requests are accepted and in the middle of their work. */
async function holdBack(person: Person): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const done = own.db.transaction().execute(async (tx) => {
    await tx.selectFrom("users").select("uid").where("uid", "=", person.uuid).forUpdate().execute();
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  return async () => {
    held.resolve();
    await done;
  };
}

const lines = (text: string) => text.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Record<string, unknown>] : []));

test("requests in the middle of their work are answered, new ones are refused, readiness goes first, and the exit is clean", async () => {
  stead = await startStead({ database_url: database.url });
  const ada = await insertPerson(own.db, stead.url, "ada");
  const agent = new Agent({ keepAlive: true });
  await createTeam(agent, ada, "warm");
  const release = await holdBack(ada);
  const running = Array.from({ length: 8 }, (_, n) => createTeam(agent, ada, `in flight ${n}`));
  await until(async () => (await waiting()) >= 5);

  const begun = performance.now();
  const ended = stead.kill("SIGTERM");
  await until(async () => (await readiness(stead.internal_url)) === 503);
  await expect(createTeam(new Agent(), ada, "too late")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await release();

  const answers = await Promise.all(running);
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - begun).toBeLessThan(5000);
  const teams = await own.db.selectFrom("teams").select("name").where("owner_uid", "=", ada.uuid).execute();
  expect(teams).toHaveLength(9);

  const logged = lines(stead.stdout);
  expect(logged.filter(({ operation, status }) => operation === "teams.create" && status === 201)).toHaveLength(9);
  expect(logged.filter(({ message }) => message === "stopping")).toMatchObject([{ signal: "SIGTERM" }]);
});

test("connections that are kept alive but idle, and one that never finishes its request, do not hold up the end", async () => {
  stead = await startStead({ database_url: database.url });
  const idle = connect(Number(new URL(stead.url).port), "127.0.0.1");
  await once(idle, "connect");
  const half = connect(Number(new URL(stead.url).port), "127.0.0.1");
  half.write("POST /api/v2/ext/auth/login HTTP/1.1\r\nHost: stead\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  for (const socket of [idle, half]) socket.on("error", () => {});
  const closed = [idle, half].map((socket) => once(socket.resume(), "close"));
  await sleep(200);
  const begun = performance.now();
  expect(await stead.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(performance.now() - begun).toBeLessThan(15_000);
  await Promise.all(closed);
});

test("under a load of writers every write that happened was answered, and whoever got no answer changed nothing", async () => {
  stead = await startStead({ database_url: database.url });
  const people = await Promise.all(Array.from({ length: 6 }, (_, n) => insertPerson(own.db, stead.url, `writer${n}`)));
  const acknowledged: string[] = [];
  const failures: string[] = [];
  const statuses = new Set<number>();
  const writers = people.map(async (person, n) => {
    const agent = new Agent({ keepAlive: n % 2 === 0 });
    for (let i = 0; i < 2000; i++) {
      const name = `team ${n} ${i}`;
      try {
        const { status } = await createTeam(agent, person, name);
        statuses.add(status);
        acknowledged.push(name);
      } catch (error) {
        failures.push(String((error as { code?: string }).code));
        return;
      }
    }
  });
  await sleep(400);
  expect(await stead.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  await Promise.all(writers);
  expect([...statuses]).toEqual([201]);
  expect(acknowledged.length).toBeGreaterThan(20);
  // A reset is for a connection that was not accepted yet, or a request that crossed the close of an idle one: the rows tell.
  expect(failures).toHaveLength(people.length);
  for (const code of failures) expect(["ECONNREFUSED", "ECONNRESET"]).toContain(code);
  const uids = people.map(({ uuid }) => uuid);
  const stored = await own.db.selectFrom("teams").select("name").where("owner_uid", "in", uids).execute();
  expect(stored.map(({ name }) => name).sort()).toEqual([...acknowledged].sort());
});

test("a signal that comes at the very moment it is ready, or just before, ends it cleanly too", async () => {
  stead = await startStead({ database_url: database.url });
  expect(await stead.kill("SIGINT")).toEqual({ code: 0, signal: null });

  stead = spawnStead({ database_url: database.url, ports: await freePorts() });
  await until(isStarting);
  expect(await stead.kill("SIGTERM")).toEqual({ code: 0, signal: null });
});

/** How many of the service's statements wait for a lock. */
async function waiting(): Promise<number> {
  const { rows } = await own.pool.query("select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
  return rows[0].n;
}

/** Whether the service is in the middle of its start: it has connections, beside those of this test. */
async function isStarting(): Promise<boolean> {
  const { rows } = await own.pool.query("select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'stead'");
  return rows[0].n > own.pool.totalCount;
}
