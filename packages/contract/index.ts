/** The whole contract: every area by name, and every operation in one list for those who walk over all of them. */
import { auth } from "./auth.ts";
import { backups } from "./backups.ts";
import { billing } from "./billing.ts";
import { crons } from "./crons.ts";
import { databases } from "./databases.ts";
import { dns } from "./dns.ts";
import { emails } from "./emails.ts";
import { ftp } from "./ftp.ts";
import { keys } from "./keys.ts";
import { meta } from "./meta.ts";
import type { Area, Operation } from "./operation.ts";
import { operations } from "./operations.ts";
import { pending } from "./pending.ts";
import { servers } from "./servers.ts";
import { ssh_keys } from "./ssh_keys.ts";
import { ssl } from "./ssl.ts";
import { system_users } from "./system_users.ts";
import { teams } from "./teams.ts";
import { users } from "./users.ts";
import { websites } from "./websites.ts";
import { wordpress } from "./wordpress.ts";

/** In the order of the interface, then what is ours alone. */
export const contract = {
  users,
  servers,
  websites,
  wordpress,
  databases,
  ssl,
  backups,
  ssh_keys,
  system_users,
  crons,
  ftp,
  emails,
  dns,
  teams,
  billing,
  auth,
  keys,
  pending,
  operations,
  meta,
};

export type AreaName = keyof typeof contract;

export interface NamedOperation {
  /** `area.key`, such as `users.get`; also the operation id of the OpenAPI document. */
  name: string;
  area: AreaName;
  key: string;
  op: Operation;
}

export const everyOperation: readonly NamedOperation[] = Object.entries<Area>(contract).flatMap(([area, operations]) =>
  Object.entries(operations).map(([key, op]) => ({ name: `${area}.${key}`, area: area as AreaName, key, op })),
);
