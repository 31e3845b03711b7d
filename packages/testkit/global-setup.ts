/**
 * Runs once before all integration tests: one PostgreSQL for the run, and in it a template that has
 * every migration. Migrating once and copying is far quicker than migrating for each test file.
 */
import type { TestProject } from "vitest/node";
import { createDatabase, startPostgres } from "./postgres.ts";
import "./database.ts";

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Nothing here has to outlive a power cut; tests about durability start a server of their own.
  const server = await startPostgres({ durable: false });
  const template = await createDatabase(server.url);
  const end = async () => {
    await template.drop();
    await server.stop();
  };
  try {
    const module = "@stead/control/migrate.ts";
    const { migrate } = (await import(module)) as { migrate?(url: string): Promise<string[]> };
    await migrate?.(template.url);
  } catch (error) {
    await end();
    throw error;
  }
  project.provide("postgres_url", server.url);
  project.provide("postgres_template", template.name);
  return end;
}
