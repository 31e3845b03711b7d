import { makeKey } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedPlans } from "./plans.ts";

const fields = ["plan_id", "name", "description", "price", "currency", "interval", "limits", "features"];
const unlimited = { servers: null, websites: null, team_members: null, backups_per_website: null };

describe("plans", () => {
  const database = testDatabase();
  let world: World;

  beforeAll(async () => {
    world = await startWorld({ database_url: database.url });
  });
  afterAll(() => world.stop());

  test("a self-hosted installation has one, without limits", async () => {
    const ada = await world.person("ada");
    expect(await ada.client.billing.plans()).toEqual([
      {
        plan_id: "self-hosted",
        name: "Self-hosted",
        description: "Everything, without limits.",
        price: 0,
        currency: "EUR",
        interval: "none",
        limits: unlimited,
        features: [],
      },
    ]);
  });

  test("of the other kind are not added to it later", async () => {
    await seedPlans(world.db, "service");
    expect(await world.db.selectFrom("plans").select("plan_id").execute()).toEqual([{ plan_id: "self-hosted" }]);
  });

  test("need any valid credential, and no scope", async () => {
    await expect(world.client().billing.plans()).rejects.toMatchObject({ status: 401 });
    const ada = await world.person("ada", { verified: false });
    const { key } = await makeKey(world, ada);
    expect(await world.client(key).billing.plans()).toHaveLength(1);
  });
});

describe("plans of the public service", () => {
  const database = testDatabase();
  let world: World;

  beforeAll(async () => {
    world = await startWorld({ database_url: database.url });
    await world.db.deleteFrom("plans").execute();
    await seedPlans(world.db, "service");
  });
  afterAll(() => world.stop());

  test("come cheapest first, with the listed fields in the listed order", async () => {
    const ada = await world.person("ada");
    await world.db
      .insertInto("plans")
      .values({
        plan_id: "aa-mid",
        name: "Mid",
        description: "",
        price: 900,
        currency: "EUR",
        interval: "year",
        limits: JSON.stringify({ ...unlimited, servers: 1 }),
        features: ["Remote backups"],
        is_default: false,
      })
      .execute();
    const { body } = await ada.client.call("billing.plans");
    const { data } = body as { data: { plan_id: string; limits: object }[] };
    expect(data.map(({ plan_id }) => plan_id)).toEqual(["free", "aa-mid", "starter", "pro", "business"]);
    for (const plan of data) expect(Object.keys(plan)).toEqual(fields);
    expect(data.map(({ limits }) => Object.values(limits).slice(0, 3))).toEqual([
      [5, 25, 3],
      [1, null, null],
      [15, 100, 5],
      [50, 500, 20],
      [null, null, null],
    ]);
  });

  test("are an operator's to change: seeding again changes nothing", async () => {
    const ada = await world.person("ada");
    expect((await ada.client.users.get()).plan).toBe("free");
    await world.db.updateTable("plans").set({ price: 1 }).where("plan_id", "=", "free").execute();
    const before = await world.db.selectFrom("plans").selectAll().orderBy("plan_id").execute();
    await seedPlans(world.db, "service");
    await seedPlans(world.db, "self-hosted");
    expect(await world.db.selectFrom("plans").selectAll().orderBy("plan_id").execute()).toEqual(before);
  });
});
