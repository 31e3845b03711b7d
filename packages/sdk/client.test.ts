/** The client against a real server on loopback: what goes into an address, what comes out of an answer. */
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createClient, SteadError, SteadUnreachable } from "./client.ts";

const uid = "usr_01jcpv1w2n9w5eph2j1v0a7q3r";
let server: Server;
let base_url: string;
let seen: { method: string; path: string; body: string }[] = [];

/** 45 entries of activity, one user, and an echo of everything else. */
function answer(path: string): { status: number; body: unknown } {
  const { pathname, searchParams } = new URL(path, "http://x");
  if (pathname === "/api/v2/ext/me") return { status: 200, body: { data: { uid } } };
  if (pathname.endsWith("/activity")) {
    const [page, limit] = [Number(searchParams.get("page") ?? 1), Number(searchParams.get("limit") ?? 20)];
    const data = Array.from({ length: 45 }, (_, id) => ({ id })).slice((page - 1) * limit, page * limit);
    return { status: 200, body: { data, total: 45, page, limit } };
  }
  if (pathname.endsWith("/adduser")) return { status: 200, body: { message: "Invitation sent." } };
  return { status: 200, body: { data: { path } } };
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      seen.push({ method: request.method ?? "", path: request.url ?? "", body: Buffer.concat(chunks).toString() });
      const { status, body } = answer(request.url ?? "");
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  base_url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen = [];
});

const newClient = () => createClient({ base_url, api_key: "stead_key", retries: 0 });

describe("the address of the service", () => {
  test.each([
    "https://panel.example.com",
    "https://panel.example.com/stead/",
    "http://localhost:8080",
    "http://127.0.0.1",
    "http://127.9.9.9:1",
    "http://[::1]:1",
    "http://127.1",
  ])("%s is taken", (address) => {
    expect(() => createClient({ base_url: address })).not.toThrow();
  });

  test.each([
    "http://panel.example.com",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com",
    "http://0.0.0.0",
    "http://[::2]",
    "http://user@example.com:80",
    "ftp://localhost",
    "file:///etc/passwd",
    "javascript:alert(1)",
  ])("%s is refused before a key is sent", (address) => {
    expect(() => createClient({ base_url: address, api_key: "stead_key" })).toThrow(expect.objectContaining({ code: "https_required" }));
  });

  test("what is no address at all is said so", () => {
    expect(() => createClient({ base_url: "panel.example.com" })).toThrow(TypeError);
  });
});

describe("arguments", () => {
  test("go to path, query and body by their names", async () => {
    const client = newClient();
    await client.users.activity({ page: 2, limit: 5 });
    await client.teams.add_member({ tid: "team_x", member_uid: "usr_y" });
    await client.teams.change_role({ tid: "team_x", member_uid: "usr_y", role: "viewer" });
    expect(seen.slice(1)).toEqual([
      { method: "GET", path: `/api/v2/users/${uid}/activity?page=2&limit=5`, body: "" },
      { method: "POST", path: `/api/v2/teams/team_x/adduser/users/${uid}`, body: '{"member_uid":"usr_y"}' },
      { method: "PATCH", path: `/api/v2/ext/teams/team_x/members/usr_y/users/${uid}`, body: '{"role":"viewer"}' },
    ]);
  });

  test("a misspelt field is sent, for the service to refuse; one that is undefined is not", async () => {
    await newClient().call("users.update", { frist_name: "Ada", last_name: undefined, uid });
    expect(seen).toEqual([{ method: "PATCH", path: `/api/v2/users/${uid}`, body: '{"frist_name":"Ada"}' }]);
  });

  test.each(["a/b", "a?b", "a#b", "%2e%2e", "a b", "ü", "$&", "a\\b"])("an id %s stays one part of the path", async (tid) => {
    await newClient().call("teams.get", { tid, uid });
    expect(seen.map(({ path }) => path)).toEqual([`/api/v2/ext/teams/${encodeURIComponent(tid)}/users/${uid}`]);
  });

  test.each([".", ".."])("an id %s would lead to another operation, and is refused here", async (did) => {
    await expect(newClient().databases.delete({ did, sid: "srv_x", uid })).rejects.toThrow(/`did`/);
    expect(seen).toEqual([]);
  });

  test("an id that is missing is told by name, and nothing is sent", async () => {
    await expect(newClient().call("teams.get", { uid })).rejects.toThrow("`tid` is required");
    await expect(newClient().call("teams.get", { tid: "", uid })).rejects.toThrow("`tid` is required");
    await expect(newClient().call("teams.frobnicate")).rejects.toThrow("there is no operation teams.frobnicate");
    expect(seen).toEqual([]);
  });
});

describe("the caller's own uid", () => {
  const asked = () => seen.filter(({ path }) => path === "/api/v2/ext/me").length;

  test("is asked for once, even by many at once", async () => {
    const client = newClient();
    await Promise.all([client.users.get(), client.teams.list(), client.users.pending()]);
    await client.users.get();
    expect(asked()).toBe(1);
  });

  test("is not asked for where it is given or not needed", async () => {
    await newClient().users.get({ uid: "usr_other" });
    await createClient({ base_url, api_key: "stead_key", uid }).users.get();
    await newClient().billing.plans();
    expect(asked()).toBe(0);
    expect(seen.map(({ path }) => path)).toEqual(["/api/v2/users/usr_other", `/api/v2/users/${uid}`, "/api/v2/plans"]);
  });

  test("is asked for again when it could not be told", async () => {
    let broken = true;
    const client = createClient({
      base_url,
      api_key: "stead_key",
      retries: 0,
      fetch: (...args) => (broken ? Promise.reject(new TypeError("fetch failed")) : fetch(...args)),
    });
    await expect(client.users.get()).rejects.toBeInstanceOf(SteadUnreachable);
    broken = false;
    await client.users.get();
    expect(asked()).toBe(1);
  });
});

describe("pages", () => {
  test("for await goes through all of them, and asks for no more than there are", async () => {
    const ids: unknown[] = [];
    for await (const { id } of await newClient().users.activity({ uid })) ids.push(id);
    expect(ids).toEqual(Array.from({ length: 45 }, (_, id) => id));
    expect(seen.map(({ path }) => new URL(path, base_url).search)).toEqual(["", "?page=2", "?page=3"]);
  });

  test("whoever stops early asks no further", async () => {
    for await (const { id } of await newClient().users.activity({ uid, limit: 10 })) if (String(id) === "12") break;
    expect(seen).toHaveLength(2);
  });

  test("starts where it was told to start", async () => {
    const page = await newClient().users.activity({ uid, page: 2, limit: 40 });
    expect(page).toMatchObject({ total: 45, page: 2, limit: 40, data: Array.from({ length: 5 }, (_, i) => ({ id: 40 + i })) });
  });
});

test("a service that is not there is told apart from one that says no", async () => {
  const gone = createClient({ base_url: "http://127.0.0.1:1", uid, retries: 0 });
  const error = await gone.users.get().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(SteadUnreachable);
  expect(error).not.toBeInstanceOf(SteadError);
  expect(error).toMatchObject({ message: "The service could not be reached.", cause: expect.any(TypeError) });
});

test("a redirect is not followed: the key is for this service only", async () => {
  const other = createServer((_, response) => void response.writeHead(302, { location: `${base_url}/api/v2/plans` }).end()).listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const client = createClient({ base_url: `http://127.0.0.1:${(other.address() as { port: number }).port}`, api_key: "stead_key", retries: 0 });
  await expect(client.billing.plans()).rejects.toBeInstanceOf(Error);
  expect(seen).toEqual([]);
  other.closeAllConnections();
  other.close();
});
