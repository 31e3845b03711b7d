/** Forward only: a migration that has been released is never edited, and there is no way down. */
import type { Migration } from "kysely/migration";
import * as people from "./0001_people.ts";
import * as servers from "./0002_servers.ts";

export const migrations: Record<string, Migration> = {
  "0001_people": people,
  "0002_servers": servers,
};
