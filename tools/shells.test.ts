import { expect, test } from "vitest";
import { findShells } from "./shells.ts";
import { listSources } from "./source.ts";

const find = (text: string) => findShells({ path: "packages/agent/host/run.ts", text }).map(({ line, message }) => `${line} ${message}`);
const spawnImport = 'import { spawn } from "node:child_process";\n';

test.each([
  'import { exec } from "node:child_process";',
  'import { execSync as run } from "child_process";',
  'import {\n  spawn,\n  exec,\n} from "node:child_process";',
  'import * as children from "node:child_process";',
  'import children from "node:child_process";',
  'const { exec } = await import("node:child_process");',
  'const { exec } = require("child_process");',
  "const options = { shell: true };",
  `${spawnImport}spawn("ls", [], { shell: "/bin/bash" });`,
  `${spawnImport}spawn("ls", [], { shell: wanted });`,
  `${spawnImport}spawn("sh", ["-c", line]);`,
  `${spawnImport}spawn("/bin/bash", ["-lc", line]);`,
  `${spawnImport}spawn("ssh", ["host", "sh -c ls"]);`,
  `${spawnImport}spawn("ssh", ["host", \`/bin/sh -c ls\`]);`,
])("a shell is refused: %s", (text) => {
  expect(find(text)).toHaveLength(1);
});

test.each([
  `${spawnImport}spawn("postgres", ["-c", "fsync=off"], { shell: false });`,
  'import { execFile, type ChildProcess } from "node:child_process";',
  'import type { ChildProcess } from "node:child_process";',
  'const User = { shell: Type.String({ examples: ["/bin/sh"] }) };',
  '// never { shell: true }, never "sh -c"',
  "const found = /x/.exec(text);",
])("what is no shell is let be: %s", (text) => {
  expect(find(text)).toEqual([]);
});

test("the tree is clean", () => {
  expect(
    listSources(process.cwd())
      .filter(({ path }) => path.startsWith("packages/"))
      .flatMap(findShells),
  ).toEqual([]);
});
