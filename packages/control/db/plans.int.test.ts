/**
 * Every list and every lookup is served by an index. The statements are those that really run: the access check of
 * all operations of the contract, and whatever the mounted operations send while each is called once. Their generic
 * plans are read on a database with 100,000 servers' worth of rows.
 */
import { everyOperation } from "@stead/contract/index.ts";
import { addressOf, callOf, mounted } from "@stead/testkit/calls.ts";
import { castIn } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { fillFleet } from "@stead/testkit/fleet.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { access } from "../http/access.ts";

const database = testDatabase();
let world: World;
/** Tables that are big in a full cell; a sequential scan of any other is harmless. */
let big: Set<string>;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  await fillFleet(world.db);
  const { rows } = await sql<{
    name: string;
  }>`select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples >= 10000`.execute(world.db);
  big = new Set(rows.map(({ name }) => name));
}, 180_000);
afterAll(() => world.stop());

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly PlanNode[];
}

async function scannedTables(text: string): Promise<string[]> {
  const { rows } = await sql<{ "QUERY PLAN": { Plan: PlanNode }[] }>`${sql.raw(`explain (generic_plan, format json) ${text}`)}`.execute(world.db);
  const walk = (node: PlanNode): string[] => [
    ...(node["Node Type"] === "Seq Scan" && big.has(node["Relation Name"] ?? "") ? [node["Relation Name"] as string] : []),
    ...(node.Plans ?? []).flatMap(walk),
  ];
  return walk(rows[0]?.["QUERY PLAN"][0]?.Plan as PlanNode);
}

test("the fleet is big enough to be planned for", () => {
  expect([...big]).toEqual(expect.arrayContaining(["users", "credentials", "servers", "websites", "databases", "team_members", "team_servers", "idempotency"]));
  expect([...big].filter((name) => name.startsWith("activity_")).length).toBeGreaterThanOrEqual(2);
});

test("the check sees a sequential scan where there is one", async () => {
  expect(await scannedTables("select * from servers where name = $1")).toEqual(["servers"]);
});

describe("the access check of every operation", () => {
  test.each(everyOperation.filter(({ op }) => op.scope !== "open"))("$name", async ({ op }) => {
    expect(await scannedTables(access(op, null).text)).toEqual([]);
  });
});

test("what the mounted operations send", async () => {
  const texts = new Set<string>();
  const spy = vi.spyOn(pg.Client.prototype, "query");
  const collect = () => {
    for (const [query] of spy.mock.calls as unknown as [string | { text?: string }][]) {
      const text = typeof query === "string" ? query : query.text;
      if (text && /^\s*(select|with|insert|update|delete)\b/i.test(text) && !text.includes("pgboss")) texts.add(text);
    }
    spy.mockClear();
  };
  for (const { name, op } of mounted) {
    const cast = await castIn(world);
    const actor = name === "teams.leave" ? cast.member : cast.owner;
    const { params, body, headers } = await callOf(name)(cast, actor);
    spy.mockClear();
    const response = await fetch(world.url + addressOf(op, actor.uid, params), {
      method: op.method,
      headers: { authorization: `Bearer ${actor.key}`, "idempotency-key": name, ...(body ? { "content-type": "application/json" } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    expect([name, response.status]).toEqual([name, op.status]);
    collect();
  }
  spy.mockRestore();
  expect(texts.size).toBeGreaterThan(50);
  const scanning: string[] = [];
  for (const text of texts) for (const table of await scannedTables(text)) scanning.push(`${table}: ${text}`);
  expect(scanning).toEqual([]);
});
