import { type Cast, castIn } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { sampleDatabases } from "@stead/testkit/sample-databases.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let cast: Cast;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, extra: sampleDatabases });
});
afterAll(() => world.stop());
beforeEach(async () => {
  cast = await castIn(world);
});

const create = (name: string, key?: string) => cast.member.client.call("databases.create", { sid: cast.server.id, name }, key ? { idempotency_key: key } : {});
const rows = () => world.db.selectFrom("databases").select(["name", "generation"]).where("sid", "=", cast.server.uuid).orderBy("generation").execute();
const operations = () =>
  world.db.selectFrom("operations").select(["uid", "generation", "type", "resource_type"]).where("sid", "=", cast.server.uuid).orderBy("generation").execute();
const wanted = async () =>
  (await world.db.selectFrom("servers").select("wanted_generation").where("sid", "=", cast.server.uuid).executeTakeFirstOrThrow()).wanted_generation;

test("a change takes the next generation and says where to follow it", async () => {
  const { status, headers } = await create("shop");
  expect(status).toBe(201);
  expect(headers.get("operation-location")).toMatch(new RegExp(`^/api/v2/ext/operations/op_[0-9a-z]{26}/users/${cast.member.uid}$`));
  expect(headers.get("operation-status")).toBe("queued");
  expect(await wanted()).toBe("1");
  expect(await rows()).toEqual([{ name: "shop", generation: "1" }]);
  expect(await operations()).toEqual([{ uid: cast.member.uuid, generation: "1", type: "database.create", resource_type: "database" }]);
});

test("it stands once in the log of the owner and of the member who did it", async () => {
  await create("shop");
  for (const { client } of [cast.owner, cast.member]) {
    const { data } = await client.users.activity();
    expect(data.filter(({ action }) => action === "database.create")).toHaveLength(1);
  }
});

test("a replay gives the same operation and no new generation", async () => {
  const first = await create("shop", "once");
  const again = await create("shop", "once");
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(again.headers.get("operation-location")).toBe(first.headers.get("operation-location"));
  expect(await wanted()).toBe("1");
});

test("a refused change leaves no generation, operation or activity behind", async () => {
  await create("shop");
  await expect(create("shop")).rejects.toMatchObject({ status: 409, code: "name_taken" });
  expect(await wanted()).toBe("1");
  expect(await operations()).toHaveLength(1);
  expect((await cast.owner.client.users.activity()).data.filter(({ action }) => action === "database.create")).toHaveLength(1);
});

test("20 changes at once get 20 generations, none twice", async () => {
  await Promise.all(Array.from({ length: 20 }, (_, n) => create(`shop${n}`)));
  const expected = Array.from({ length: 20 }, (_, n) => String(n + 1));
  expect((await rows()).map(({ generation }) => generation)).toEqual(expected);
  expect((await operations()).map(({ generation }) => generation)).toEqual(expected);
});
