/**
 * A database for a test file: a copy of the migrated template, made before its first test and dropped
 * after its last. Files so run side by side, and none sees what another wrote.
 */
import { afterAll, beforeAll, inject } from "vitest";
import { createDatabase, type OwnDatabase } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgres_url: string;
    postgres_template: string;
  }
}

/** Call it at the top of a `*.int.test.ts`; the address is there from the file's first hook or test on. */
export function testDatabase(): { readonly url: string } {
  let database: OwnDatabase | undefined;
  beforeAll(async () => {
    database = await createDatabase(inject("postgres_url"), inject("postgres_template"));
  });
  afterAll(() => database?.drop());
  return {
    get url() {
      if (!database) throw new Error("The database is made in beforeAll: read its url in a hook or a test.");
      return database.url;
    },
  };
}
