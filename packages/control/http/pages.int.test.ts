/** The paginated lists (decisions 2.1.5): which page, how many, in which order, and where the neighbours are. */
import { randomUUIDv7 } from "node:crypto";
import { formatId, timeOf } from "@stead/base/id.ts";
import { mounted } from "@stead/testkit/calls.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { ask } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const database = testDatabase();
let world: World;
let ada: Person;
/** Newest first. */
let ids: string[];

const note = async (person: Person, action: string) => {
  const id = randomUUIDv7();
  await world.db
    .insertInto("activity")
    .values({ id, uid: person.uuid, actor_uid: person.uuid, action, detail: "…", created_at: timeOf(id) })
    .execute();
  return formatId("act", id);
};

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, env: { STEAD_BASE_URL: "https://stead.test/panel" } });
  ada = await world.person("ada");
  ids = [];
  for (let i = 0; i < 45; i++) ids.push(await note(ada, `note.${i}`));
  ids.sort().reverse();
});
afterAll(() => world.stop());

interface Page {
  data: { id: string }[];
  total: number;
  page: number;
  limit: number;
}
const list = async (query = "") => {
  const { status, json, headers } = await ask(world.url, `/api/v2/users/${ada.uid}/activity${query}`, { key: ada.key });
  const page = json as Page;
  return { status, page, ids: page.data?.map(({ id }) => id), headers };
};
const links = (header: string) =>
  Object.fromEntries(
    [...header.matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, href = "", rel = ""]) => [
      rel,
      href.replace(`https://stead.test/panel/api/v2/users/${ada.uid}/activity`, ""),
    ]),
  );

test("newest first, 20 on the first page unless asked otherwise", async () => {
  expect(await list()).toMatchObject({ status: 200, ids: ids.slice(0, 20), page: { total: 45, page: 1, limit: 20 } });
  expect(await list("?page=3")).toMatchObject({ ids: ids.slice(40), page: { total: 45, page: 3, limit: 20 } });
  expect(await list("?limit=100")).toMatchObject({ ids, page: { total: 45, page: 1, limit: 100 } });
  expect(await list("?limit=1&page=45")).toMatchObject({ ids: ids.slice(44), page: { total: 45, page: 45, limit: 1 } });
  expect(Object.keys((await list()).page)).toEqual(["data", "total", "page", "limit"]);
});

test("past the end is empty and still tells the truth", async () => {
  for (const page of [4, 1_000_000]) expect(await list(`?page=${page}`)).toMatchObject({ status: 200, ids: [], page: { total: 45, page, limit: 20 } });
  expect(await list("?page=1000000&limit=100")).toMatchObject({ status: 200, ids: [] });
});

const wrong = ["", "0", "-1", "+1", "01", "1.0", "1e1", "0x1", "1%20", "%201", "one", "1_000", "%D9%A1", "null", "99999999999999999999"];

test.each([
  ...wrong.map((value) => `page=${value}`),
  ...wrong.map((value) => `limit=${value}`),
  "page=1000001",
  "limit=101",
  "page",
  "limit",
  "page=1&page=2",
  "page=1&page=1",
  "limit=5&limit=5",
])("?%s is 400", async (query) => {
  expect(await list(`?${query}`)).toMatchObject({ status: 400, headers: { "x-error-code": "invalid_query" } });
});

test.each(["pages=0", "Page=0", "page[]=0", "x=1&x=2", "sort=asc", "%70age=2", ""])("?%s is not looked at, or is what it says", async (query) => {
  expect(await list(`?${query}`)).toMatchObject({ status: 200, page: { page: query === "%70age=2" ? 2 : 1 } });
});

test("lists without pages do not look at page and limit", async () => {
  for (const { op } of mounted.filter((each) => each.op.effect === "read" && !each.op.query && each.op.scope === "user")) {
    expect(await ask(world.url, `/api/v2${op.path.replace("{uid}", ada.uid)}?page=0&limit=1000`, { key: ada.key }), op.path).toMatchObject({ status: 200 });
  }
});

describe("Link", () => {
  test.each([
    ["", { next: "?page=2", first: "?page=1", last: "?page=3" }],
    ["?page=2", { next: "?page=3", prev: "?page=1", first: "?page=1", last: "?page=3" }],
    ["?page=3", { prev: "?page=2", first: "?page=1", last: "?page=3" }],
    ["?page=9", { prev: "?page=3", first: "?page=1", last: "?page=3" }],
    ["?limit=45", { first: "?limit=45&page=1", last: "?limit=45&page=1" }],
  ])("of %o leads to the neighbours that there are", async (query, expected) => {
    const found = links((await list(query)).headers.link as string);
    const numbers = (of: Record<string, string>) => Object.fromEntries(Object.entries(of).map(([rel, href]) => [rel, new URLSearchParams(href).get("page")]));
    expect(numbers(found)).toEqual(numbers(expected));
    for (const href of Object.values(found)) expect((await list(href)).page.limit).toBe((await list(query)).page.limit);
  });

  test("before an entry leads on as long as the page is full", async () => {
    expect(Object.keys(links((await list(`?limit=10&before=${ids[20]}`)).headers.link as string))).toEqual(["next", "first"]);
    expect(Object.keys(links((await list(`?limit=10&before=${ids[40]}`)).headers.link as string))).toEqual(["first"]);
  });

  test("keeps what steers the list and gives back nothing else that was sent", async () => {
    const { headers } = await list(`?limit=5&before=${ids[3]}&token=canary&x=<script>`);
    expect(headers.link).toContain("limit=5");
    expect(headers.link).toContain(`before=${ids[3]}`);
    expect(headers.link).not.toMatch(/canary|script/);
  });
});

describe("before", () => {
  test("gives what is older than an entry, and new entries do not shift it", async () => {
    const first = await list("?limit=10");
    const newest = await note(ada, "note.new");
    const next = await list(`?limit=10&before=${first.ids.at(-1)}`);
    expect(next).toMatchObject({ ids: ids.slice(10, 20), page: { total: 46, page: 1, limit: 10 } });
    expect((await list("?limit=10&page=2")).ids[0]).toBe(first.ids.at(-1));
    expect((await list(`?before=${ids.at(-1)}`)).ids).toEqual([]);
    ids.unshift(newest);
  });

  test("an entry that is gone, or of the far future, still has its place", async () => {
    expect((await list(`?before=${formatId("act", randomUUIDv7())}`)).ids).toEqual(ids.slice(0, 20));
    expect((await list("?before=act_7zzzzzzzzzzzzzzzzzzzzzzzzz")).ids).toEqual(ids.slice(0, 20));
    expect((await list("?before=act_00000000000000000000000000")).ids).toEqual([]);
  });

  test.each(["", "x", "act_", "act_8zzzzzzzzzzzzzzzzzzzzzzzzz", "act_01JCPV1W2N9W5EPH2J1V0A7Q3R", "0", "x".repeat(65)])(
    "=%s is no entry and is 400, so that a walk does not begin again",
    async (value) => {
      expect(await list(`?before=${value}`)).toMatchObject({
        status: 400,
        headers: { "x-error-code": "invalid_query" },
        page: { message: expect.stringContaining("`before`") },
      });
    },
  );

  test("walks through everything exactly once", async () => {
    const seen: string[] = [];
    for (;;) {
      const { ids: more } = await list(`?limit=7${seen.length > 0 ? `&before=${seen.at(-1)}` : ""}`);
      if (more.length === 0) break;
      seen.push(...more);
    }
    expect(seen).toEqual(ids);
  });
});

test("entries of one instant are in one order, on whichever page they fall", async () => {
  const bob = await world.person("bob");
  const created_at = new Date();
  const made = Array.from({ length: 9 }, () => randomUUIDv7());
  await world.db
    .insertInto("activity")
    .values(made.map((id) => ({ id, uid: bob.uuid, actor_uid: bob.uuid, action: "x.y", detail: "", created_at })))
    .execute();
  const seen: string[] = [];
  for (let page = 1; page <= 3; page++) seen.push(...(await bob.client.users.activity({ page, limit: 3 })).data.map(({ id }) => id));
  expect(seen).toEqual(
    made
      .map((id) => formatId("act", id))
      .sort()
      .reverse(),
  );
});
