import { defineConfig } from "vitest/config";

const everywhere = ["packages", "tools", "bench"];

/**
 * Two projects: quick ones that need nothing, and those that need a database, which is started only
 * when one of them runs. Each file has a database of its own, so files run side by side.
 */
export default defineConfig({
  test: {
    reporters: ["default"],
    // As many as the smallest machine we promise has cores; more would only take the CPU from PostgreSQL.
    maxWorkers: 2,
    testTimeout: 10_000,
    hookTimeout: 30_000,
    projects: [
      {
        test: {
          name: "unit",
          include: everywhere.map((folder) => `${folder}/**/*.test.ts`),
          exclude: ["**/node_modules/**", "**/*.int.test.ts"],
          pool: "threads",
        },
      },
      {
        test: {
          name: "int",
          include: everywhere.map((folder) => `${folder}/**/*.int.test.ts`),
          exclude: ["**/node_modules/**"],
          globalSetup: ["packages/testkit/global-setup.ts"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
