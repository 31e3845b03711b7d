/** What an operator does on the machine itself, with the database as the only authority. */
import { Fault } from "@stead/base/fault.ts";
import { formatId } from "@stead/base/id.ts";
import { sql } from "kysely";
import type { Config } from "./config.ts";
import { type Db, openDatabase, type Tx } from "./db/pool.ts";
import { inHours, newToken } from "./identity/one-time.ts";

const setup_hours = 24;

export interface FirstRun {
  /** Null when one was made before: it is shown only once. */
  readonly token: string | null;
}

/** Under the lock of the first sign-up, so that of several processes that start at once only one makes a token. */
const alone = <T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('first user'))`.execute(tx);
    return work(tx);
  });

async function newSetupToken(db: Tx, now: Date): Promise<string> {
  await db.deleteFrom("one_time_tokens").where("kind", "=", "setup").execute();
  return newToken(db, "setup", {}, inHours(now, setup_hours));
}

const hasUsers = async (db: Db): Promise<boolean> =>
  (await sql<{ any: boolean }>`select (select uid from users order by uid limit 1) is not null as any`.execute(db)).rows[0]?.any === true;

async function change(db: Db, email: string, columns: { role?: "user" | "admin"; status?: "active" | "suspended" }): Promise<string> {
  const changed = await db
    .updateTable("users")
    .set(columns)
    .where(sql<string>`lower(email)`, "=", email.toLowerCase())
    .returning(["email", "role", "status"])
    .executeTakeFirst();
  if (!changed) throw new Fault("not_found", "not_found", `No account has the address ${email}.`);
  return `${changed.email}: role ${changed.role}, ${changed.status}`;
}

async function listUsers(db: Db): Promise<string> {
  const users = await db.selectFrom("users").select(["uid", "email", "role", "status", "plan_id"]).orderBy("created_at").execute();
  return (
    users.map(({ uid, email, role, status, plan_id }) => [formatId("usr", uid), email, role, status, plan_id].join("\t")).join("\n") ||
    "There are no accounts yet."
  );
}

async function act(db: Db, args: readonly string[], usage: string): Promise<string> {
  const [noun, verb, email, role] = args;
  if (noun === "setup-token" && verb === undefined) {
    return alone(db, async (tx) => {
      if (await hasUsers(tx)) throw new Fault("conflict", "in_use", "There are accounts already; a set-up token is for the first one only.");
      return newSetupToken(tx, new Date());
    });
  }
  if (noun === "user" && args.length === 2 && verb === "list") return listUsers(db);
  if (noun === "user" && args.length === 4 && verb === "role" && email && (role === "admin" || role === "user")) return change(db, email, { role });
  if (noun === "user" && args.length === 3 && verb === "suspend" && email) return change(db, email, { status: "suspended" });
  if (noun === "user" && args.length === 3 && verb === "resume" && email) return change(db, email, { status: "active" });
  throw new Fault("invalid", "usage", usage);
}

export const admin = {
  async run(config: Config, args: readonly string[], usage: string): Promise<string> {
    const { db, close } = openDatabase({ url: config.database_url, connections: 2, onIdleError: () => {} });
    try {
      return await act(db, args, usage);
    } finally {
      await close();
    }
  },

  /** What to tell while nobody is there: a new token, or that an earlier one still works. */
  async firstRun(db: Db, now: Date): Promise<FirstRun | null> {
    if (await hasUsers(db)) return null;
    return alone(db, async (tx) => {
      if (await hasUsers(tx)) return null;
      const earlier = await tx.selectFrom("one_time_tokens").select("kind").where("kind", "=", "setup").where("expires_at", ">", now).executeTakeFirst();
      return { token: earlier ? null : await newSetupToken(tx, now) };
    });
  },
};
