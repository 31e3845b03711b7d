/** What an account may still do while its address is not proven, or while it is suspended: every mounted operation is asked. */
import { mounted } from "@stead/testkit/calls.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { outcomeOf } from "@stead/testkit/outcome.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, expect, test } from "vitest";

const database = testDatabase();
let world: World;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
});
afterAll(() => world.stop());

const withCredential = mounted.filter(({ op }) => op.scope !== "open");

/** The operations that answer with anything but this refusal. */
async function through(person: Person, code: string) {
  const outcomes = await Promise.all(withCredential.map(async (operation) => ({ ...operation, outcome: await outcomeOf(person.client, operation) })));
  return outcomes.filter(({ outcome }) => outcome !== code);
}

test("an unverified account reads, and changes only its profile, password, keys and sign-ins, or ends itself", async () => {
  const passed = await through(await world.person("new", { verified: false }), "email_unverified");
  expect(new Set(passed.flatMap(({ name, op }) => (op.effect === "change" ? [name] : [])))).toEqual(
    new Set(["users.update", "users.change_password", "users.delete", "users.regenerate_api_key", "auth.device_approve", "keys.create", "keys.revoke"]),
  );
  const reads = withCredential.filter(({ op }) => op.effect === "read");
  expect(passed.filter(({ op }) => op.effect === "read")).toHaveLength(reads.length);
});

test("a suspended account signs in, sees its profile, and nothing else", async () => {
  const { email, password, ...person } = await world.person("late", { status: "suspended" });
  expect((await through({ ...person, email, password }, "account_suspended")).map(({ name, outcome }) => [name, outcome])).toEqual([
    ["users.get", "ok"],
    ["users.me", "ok"],
  ]);
  const { token } = await world.client().auth.login({ email, password });
  expect((await world.client(token).users.get()).uid).toBe(person.uid);
  await expect(world.client(token).users.activity()).rejects.toMatchObject({ status: 403, code: "account_suspended" });
});
