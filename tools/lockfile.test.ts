import { expect, test } from "vitest";
import { complete } from "./lockfile.ts";

const biome = {
  version: "2.0.0",
  dev: true,
  optionalDependencies: { "@b/cli-linux-x64": "2.0.0", "@b/cli-linux-x64-musl": "2.0.0", "@b/cli-win32-arm64": "2.0.0", "@b/loose": "^2.0.0" },
};

test("the optional packages that the lockfile lacks are added with their version and platform, and nothing else changes", () => {
  const packages = { "": {}, "node_modules/@b/cli-linux-x64": { version: "2.0.0", optional: true }, "node_modules/biome": biome };
  const { lockfile, added } = complete({ packages });
  expect(added).toEqual(["@b/cli-linux-x64-musl@2.0.0", "@b/cli-win32-arm64@2.0.0"]);
  expect(lockfile.packages).toEqual({
    ...packages,
    "node_modules/@b/cli-linux-x64-musl": { version: "2.0.0", cpu: ["x64"], dev: true, libc: ["musl"], optional: true, os: ["linux"] },
    "node_modules/@b/cli-win32-arm64": { version: "2.0.0", cpu: ["arm64"], dev: true, optional: true, os: ["win32"] },
  });
  expect(complete(lockfile).added).toEqual([]);
});

test("a package in a folder of its own finds its optional ones there", () => {
  const nested = { version: "1.0.0", optionalDependencies: { x: "1.0.0" } };
  expect(complete({ packages: { "node_modules/a/node_modules/b": nested, "node_modules/a/node_modules/x": { version: "1.0.0" } } }).added).toEqual([]);
  expect(complete({ packages: { "node_modules/b": nested, "node_modules/a/node_modules/x": { version: "1.0.0" } } }).added).toEqual(["x@1.0.0"]);
});
