import { PhpVersion, Stack } from "@stead/contract/fields-hosting.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mostBody } from "../../http/body.ts";
import { version } from "../../version.ts";

const database = testDatabase();
let world: World;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url, env: { STEAD_COMMIT: "3f6d0a9c4b1e" } });
});
afterAll(() => world.stop());

test("the catalogue is open to all and names what the other operations take", async () => {
  const catalog = await world.client().meta.catalog();
  expect(Object.keys(catalog)).toEqual(["os", "providers", "php", "stacks", "dns_types", "limits"]);
  expect(catalog.os).toEqual(["ubuntu-22.04", "ubuntu-24.04", "ubuntu-26.04", "debian-12", "debian-13"]);
  expect(catalog.providers).toContain("sandbox");
  expect(catalog.php.map((php) => php.version)).toEqual((PhpVersion as unknown as { enum: string[] }).enum);
  expect(catalog.php.find((php) => php.version === "8.2")).toEqual({ version: "8.2", end_of_life: "2026-12-31" });
  expect(catalog.stacks).toEqual((Stack as unknown as { enum: string[] }).enum);
  expect(catalog.dns_types).toEqual(["A", "AAAA", "CNAME", "MX", "TXT"]);
  expect(catalog.limits).toMatchObject({
    page_limit_default: 20,
    page_limit_maximum: 100,
    body_bytes: mostBody,
    transfer_days: 7,
    team_invite_days: 14,
    idempotency_hours: 24,
  });
});

test("the version says what runs", async () => {
  expect(await world.client().meta.version()).toEqual({ version, api_version: "2.3.0", commit: "3f6d0a9c4b1e" });
});

test("answers are the same every time, and kept by clients until they change", async () => {
  const { headers } = await world.client().call("meta.catalog");
  const again = await fetch(`${world.url}/api/v2/ext/catalog`, { headers: { "if-none-match": headers.get("etag") as string } });
  expect(again.status).toBe(304);
});
