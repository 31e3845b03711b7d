import { describe, expect, test } from "vitest";
import { findViolations, rooms } from "./boundaries.ts";
import { listSources } from "./source.ts";

const check = (path: string, text: string): string[] => findViolations([{ path, text }]).map((found) => `${found.path}:${found.line} ${found.message}`);
const imports = (path: string, specifier: string): string[] => check(path, `import { it } from "${specifier}";\n`);

/** For each row of the table: a file of the room, what it may import, and what it may not. */
const table: Record<string, { file: string; good: string[]; bad: string[] }> = {
  base: {
    file: "packages/base/id.ts",
    good: ["./fault.ts", "node:crypto"],
    bad: ["node:fs", "node:net", "fs", "@stead/contract/users.ts", "../contract/users.ts", "typebox", "@stead/testkit/ca.ts"],
  },
  contract: {
    file: "packages/contract/users.ts",
    good: ["@stead/base/id.ts", "./operation.ts", "typebox"],
    bad: ["@stead/state/document.ts", "node:fs/promises", "@stead/control/db/pool.ts", "ajv"],
  },
  state: {
    file: "packages/state/kinds/database.ts",
    good: ["@stead/base/id.ts", "../document.ts"],
    bad: ["@stead/contract/users.ts", "node:http", "@stead/agent/host/run.ts"],
  },
  sdk: {
    file: "packages/sdk/client.ts",
    good: ["@stead/base/fault.ts", "@stead/contract/users.ts"],
    bad: ["node:crypto", "crypto", "@stead/state/document.ts", "undici"],
  },
  cli: {
    file: "packages/cli/main.ts",
    good: ["@stead/sdk/client.ts", "node:fs", "commander"],
    bad: ["@stead/control/main.ts", "@stead/agent/main.ts", "@stead/state/document.ts"],
  },
  web: {
    file: "packages/web/areas/teams/page.tsx",
    good: ["@stead/sdk/client.ts", "react"],
    bad: ["@stead/control/http/server.ts", "node:path", "@stead/state/document.ts"],
  },
  "control/main": {
    file: "packages/control/main.ts",
    good: ["./outside/mail.ts", "./http/server.ts", "node:fs"],
    bad: ["@stead/sdk/client.ts", "@stead/agent/main.ts", "@stead/testkit/smtp.ts"],
  },
  "control/config": { file: "packages/control/config.ts", good: ["@stead/base/fault.ts"], bad: ["./db/pool.ts", "node:fs"] },
  "control/deps": { file: "packages/control/deps.ts", good: ["@stead/base/clock.ts"], bad: ["./outside/mail.ts", "./db/pool.ts"] },
  "control/areas": { file: "packages/control/areas/index.ts", good: ["./teams/handlers.ts"], bad: ["../http/server.ts", "../outside/mail.ts"] },
  "control/areas/common": {
    file: "packages/control/areas/confirmation.ts",
    good: ["../db/pool.ts", "../jobs/jobs.ts", "../http/handler.ts"],
    bad: ["./teams/store.ts", "./index.ts", "../http/server.ts", "../outside/mail.ts"],
  },
  "control/areas/X": {
    file: "packages/control/areas/teams/handlers.ts",
    good: [
      "./store.ts",
      "../confirmation.ts",
      "../../db/pool.ts",
      "../../http/handler.ts",
      "../../identity/password.ts",
      "../../jobs/job.ts",
      "@stead/contract/teams.ts",
      "@stead/state/document.ts",
      "node:crypto",
    ],
    bad: [
      "../users/store.ts",
      "../index.ts",
      "../../outside/mail.ts",
      "../../http/server.ts",
      "../../fleet/bell.ts",
      "../../main.ts",
      "nodemailer",
      "pg-boss",
      "node:child_process",
      "@stead/sdk/client.ts",
    ],
  },
  "control/fleet": {
    file: "packages/control/fleet/compile.ts",
    good: ["../db/pool.ts", "../areas/index.ts", "@stead/state/document.ts"],
    bad: ["../areas/teams/store.ts", "../http/server.ts", "../outside/mail.ts"],
  },
  "control/handler": {
    file: "packages/control/http/handler.ts",
    good: ["../db/pool.ts", "@stead/contract/operation.ts"],
    bad: ["./server.ts", "../areas/index.ts", "node:http"],
  },
  "control/identity": {
    file: "packages/control/identity/password.ts",
    good: ["../db/pool.ts", "node:crypto"],
    bad: ["../http/server.ts", "../areas/auth/store.ts", "node:fs"],
  },
  "control/http": {
    file: "packages/control/http/server.ts",
    good: ["./access.ts", "../areas/index.ts", "fastify"],
    bad: ["../areas/teams/handlers.ts", "../outside/mail.ts", "../main.ts"],
  },
  "control/jobs": {
    file: "packages/control/jobs/engine.ts",
    good: ["../db/pool.ts", "pg-boss"],
    bad: ["../areas/users/jobs.ts", "../outside/mail.ts", "nodemailer"],
  },
  "control/db": { file: "packages/control/db/pool.ts", good: ["./schema.ts", "pg"], bad: ["../http/server.ts", "../areas/index.ts", "../jobs/job.ts"] },
  "control/outside": {
    file: "packages/control/outside/mail.ts",
    good: ["nodemailer", "@stead/base/fault.ts"],
    bad: ["../db/pool.ts", "../areas/users/store.ts"],
  },
  "control/root": { file: "packages/control/boot.ts", good: ["./http/server.ts", "./areas/index.ts"], bad: ["./outside/mail.ts", "@stead/sdk/client.ts"] },
  "agent/drivers/X": {
    file: "packages/agent/drivers/database/driver.ts",
    good: ["./mariadb.ts", "../conformance.ts", "@stead/state/document.ts"],
    bad: ["../website/driver.ts", "node:fs", "node:child_process", "node:https", "../../host/run.ts", "@stead/contract/users.ts"],
  },
  "agent/drivers": {
    file: "packages/agent/drivers/conformance.ts",
    good: ["./database/driver.ts", "@stead/state/document.ts"],
    bad: ["../host/run.ts", "node:fs"],
  },
  "agent/host": {
    file: "packages/agent/host/run.ts",
    good: ["node:child_process", "./files.ts"],
    bad: ["../drivers/database/driver.ts", "../main.ts", "@stead/control/db/pool.ts"],
  },
  "agent/root": {
    file: "packages/agent/reconcile.ts",
    good: ["./host/run.ts", "./drivers/index.ts", "@stead/state/report.ts"],
    bad: ["./drivers/database/driver.ts", "@stead/control/db/pool.ts", "@stead/contract/users.ts"],
  },
};

const free = ["testkit", "tools", "bench", "e2e", "lab", "repository"];

test("every row of the table is tried here", () => {
  expect(Object.keys(table)).toEqual(rooms.map((room) => room.name).filter((name) => !free.includes(name)));
});

describe.each(Object.entries(table))("%s", (_, { file, good, bad }) => {
  test.each(good)("may import %s", (specifier) => expect(imports(file, specifier)).toEqual([]));
  test.each(bad)("may not import %s", (specifier) => expect(imports(file, specifier)).toEqual([expect.stringContaining(`${file}:1 imports ${specifier}: `)]));
});

test("a refusal names the line and both rooms", () => {
  const text = 'import { Fault } from "@stead/base/fault.ts";\n\n/** import "../users/a.ts" */\nexport * from "../users/store.ts";\n';
  expect(check("packages/control/areas/teams/store.ts", text)).toEqual([
    "packages/control/areas/teams/store.ts:4 imports ../users/store.ts: room control/areas/teams may not import control/areas/users",
  ]);
});

test("of some rooms only the types may be imported", () => {
  const area = "packages/control/areas/teams/handlers.ts";
  expect(check(area, 'import type { Edge } from "../../http/server.ts";\nimport type { Deps } from "../../deps.ts";')).toEqual([]);
  expect(check(area, 'import { type Edge } from "../../http/server.ts";')).toEqual([
    `${area}:1 imports ../../http/server.ts: room control/areas/teams may import only types of control/http`,
  ]);
  expect(check("packages/agent/drivers/database/driver.ts", 'import type { Host } from "../../host/host.ts";')).toEqual([]);
});

test.each([
  ["import", 'import x from "node:fs";'],
  ["side effect", 'import "node:fs";'],
  ["type", 'import type { Stats } from "node:fs";'],
  ["many lines", 'import {\n  a,\n  b,\n} from "node:fs";'],
  ["export", 'export * as files from "node:fs";'],
  ["dynamic", 'const fs = await import("node:fs");'],
  ["dynamic template", "const fs = await import(`node:fs`);"],
  ["require", 'const fs = require("node:fs");'],
  ["type query", 'let stats: import("node:fs").Stats;'],
  ["after a regular expression with quotes", 'const quote = /["\'`/]/;\nimport x from "node:fs";'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
  ["in a template's placeholder", 'const t = `a ${"`"} ${await import("node:fs")} b`;'],
])("an import is seen in every form: %s", (_, text) => {
  expect(check("packages/base/id.ts", text)).toHaveLength(1);
});

test("what only looks like an import is none", () => {
  const text = [
    '// import "node:fs"',
    '/* import "node:fs" */',
    "const a = 'import \"node:fs\"';",
    'const b = `import "node:fs"`;',
    'const c = /import "node:fs"/;',
    'x.import("node:fs");',
  ].join("\n");
  expect(check("packages/base/id.ts", text)).toEqual([]);
});

test("testkit is for tests, tools, bench and e2e", () => {
  for (const path of ["packages/control/http/server.test.ts", "packages/base/id.int.test.ts", "tools/dev.ts", "bench/run.ts", "e2e/users.test.ts"])
    expect(imports(path, "@stead/testkit/smtp.ts")).toEqual([]);
  for (const path of ["packages/control/main.ts", "packages/control/http/server.ts", "packages/sdk/client.ts", "packages/cli/main.ts"])
    expect(imports(path, "@stead/testkit/smtp.ts")).toHaveLength(1);
});

test("a folder that the table does not know is refused", () => {
  expect(check("packages/control/helpers/x.ts", "")).toEqual(["packages/control/helpers/x.ts:1 is in no room of the table in tools/boundaries.ts"]);
  expect(imports("packages/control/main.ts", "./helpers/x.ts")).toHaveLength(1);
});

test("a package is imported by its name from outside and relatively from inside", () => {
  expect(imports("packages/contract/users.ts", "../base/id.ts")[0]).toContain("by name");
  expect(imports("packages/contract/users.ts", "@stead/contract/operation.ts")[0]).toContain("relatively");
});

test.each([
  "process.env.HOME",
  'process.env["HOME"]',
  'process["env"]',
  "const { env } = process;",
  'import { env } from "node:process";',
  'import process from "node:process";',
  "process.loadEnvFile()",
])("the environment is read by main only: %s", (text) => {
  expect(check("packages/control/db/pool.ts", text)).toHaveLength(1);
  for (const path of ["packages/control/main.ts", "packages/control/db/pool.int.test.ts", "tools/dev.ts", "bench/run.ts", "packages/testkit/postgres.ts"])
    expect(check(path, text)).toEqual([]);
});

test("the tree is clean", () => {
  const files = listSources(process.cwd());
  expect(files.length).toBeGreaterThan(10);
  expect(findViolations(files)).toEqual([]);
});
