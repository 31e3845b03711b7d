/** What a change stands on may be removed by another request while it runs. It then gets the answer of a moment later, never a 500. */
import { castIn, makeTeam } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { ask } from "@stead/testkit/wire.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Tx } from "../db/pool.ts";

const database = testDatabase();
let world: World;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
});
afterAll(() => world.stop());

/** Asks while `remove` has happened but is not visible yet, and lets it become so once the request waits for it. */
async function askWhile(remove: (tx: Tx) => Promise<unknown>, path: string, request: Parameters<typeof ask>[2]) {
  const answer = await world.db.transaction().execute(async (tx) => {
    await remove(tx);
    const asked = ask(world.url, path, request);
    const waiting = () =>
      sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(world.db).then(({ rows }) => rows.length);
    await expect.poll(waiting, { timeout: 10_000 }).toBe(1);
    return { asked };
  });
  return answer.asked;
}

test.each([
  ["teams.create", "POST", "/teams/users/", { name: "Late" }],
  ["users.update", "PATCH", "/users/", { first_name: "Late" }],
  ["keys.create", "POST", "/ext/apikeys/users/", { name: "late", scopes: ["account:read"] }],
] as const)("%s: an account that is deleted meanwhile is 401", async (_, method, path, body) => {
  const { uid, uuid, key } = await world.person("gone");
  const { status, text } = await askWhile((tx) => tx.deleteFrom("users").where("uid", "=", uuid).execute(), `/api/v2${path}${uid}`, { method, key, body });
  expect([status, text]).toEqual([401, '{"message":"No valid API key was supplied."}']);
});

test("a team that is deleted meanwhile is 404", async () => {
  const { owner, stranger } = await castIn(world);
  const { id, uuid } = await makeTeam(world, owner);
  const { status } = await askWhile((tx) => tx.deleteFrom("teams").where("tid", "=", uuid).execute(), `/api/v2/teams/${id}/adduser/users/${owner.uid}`, {
    method: "POST",
    key: owner.key,
    body: { member_uid: stranger.uid },
  });
  expect(status).toBe(404);
});

test("a session that ends meanwhile is 401", async () => {
  const { email, password, uuid } = await world.person("ada");
  const { headers } = await ask(world.url, "/api/v2/ext/auth/login", { method: "POST", body: { email, password } });
  const [cookie] = String(headers["set-cookie"]).split(";") as [string];
  const { status } = await askWhile((tx) => tx.deleteFrom("sessions").where("uid", "=", uuid).execute(), "/api/v2/ext/auth/refresh", {
    method: "POST",
    headers: { cookie },
  });
  expect(status).toBe(401);
});

test("no accident was logged", () => {
  expect(world.logged.filter(({ level }) => level !== "info")).toEqual([]);
});
