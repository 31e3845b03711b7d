/**
 * Steps 4 to 8 of the order of checks, in one place and one statement: is the credential good, does it act for the
 * path's user, do all objects of the path exist in one chain (uid → sid → wid → child) that this user may see,
 * and is the caller's role enough? What a caller may not know of and what does not exist give the same answer.
 *
 * A read that is a query rides along: PostgreSQL evaluates it only where the chain holds, and one round trip is saved.
 */
import { Fault } from "@stead/base/fault.ts";
import { type IdName, prefixes } from "@stead/contract/fields.ts";
import { type Operation, paramsOf, type Role } from "@stead/contract/operation.ts";
import { type RawBuilder, sql } from "kysely";
import type { Db } from "../db/pool.ts";
import { placeholder, statement } from "../db/statement.ts";
import type { Actor, Query, ServerAccess, TeamAccess } from "./handler.ts";
import { riding } from "./riding.ts";

const hole = (name: string) => sql`${placeholder(name)}`;

/** What hangs below a server or a website: table and parent of each id that can stand in a path. */
const hosted = {
  wid: ["websites", "sid"],
  did: ["databases", "sid"],
  dbuid: ["database_users", "sid"],
  kid: ["ssh_keys", "sid"],
  suid: ["system_users", "sid"],
  cid: ["crons", "sid"],
  fid: ["ftp_accounts", "wid"],
  eid: ["email_accounts", "wid"],
  forwarder_id: ["email_forwarders", "wid"],
  backup_id: ["backups", "wid"],
} as const;

/** How a missing object is called, outermost first: the first one missing is the one that is told. */
const nouns: Record<string, string> = {
  tid: "Team",
  zone_id: "Zone",
  sid: "Server",
  wid: "Website",
  did: "Database",
  dbuid: "Database user",
  kid: "SSH key",
  suid: "System user",
  cid: "Cron job",
  fid: "FTP account",
  eid: "Email account",
  forwarder_id: "Forwarder",
  backup_id: "Backup",
  member_uid: "Member",
  key_id: "API key",
  pending_id: "Confirmation",
};

/** What stands directly below the caller or a team, and is only looked for. Who is invited is the owner's to know. */
const sought: Record<string, RawBuilder<unknown>> = {
  member_uid: sql`exists (select 1 from team_members x where x.tid = t.tid and x.uid = ${hole("member_uid")}::uuid)
    or m.role = 'owner' and exists (select 1 from pending x where x.tid = t.tid and x.uid = ${hole("member_uid")}::uuid)`,
  key_id: sql`exists (select 1 from credentials x where x.key_id = ${hole("key_id")}::uuid and x.uid = c.uid and x.kind <> 'session')`,
  pending_id: sql`exists (select 1 from pending x where x.id = ${hole("pending_id")}::uuid and c.uid in (x.uid, x.asked_by))`,
};

interface AccessRow {
  key_id: string;
  kind: "primary" | "scoped" | "session";
  uid: string;
  session_id: string | null;
  status: "active" | "suspended";
  verified: boolean;
  /** Null where the credential is not a scoped key. */
  scopes: string[] | null;
  ip_allowed: boolean;
  // Each only where the path or the operation has a use for it.
  found?: boolean[];
  sid_allowed?: boolean;
  server_owner?: string;
  server_role?: Role | null;
  team_name?: string;
  team_owner?: string;
  team_role?: Role | null;
  /** JSON, as `riding` wrote it. */
  data?: string | null;
}

export interface AccessRequest {
  readonly hash: Buffer;
  readonly ip: string;
  /** The path's ids as UUIDs; null where the text was not an id of that kind. */
  readonly ids: Readonly<Record<string, string | null>>;
  /** Values of the query that rides along. */
  readonly values: Readonly<Record<string, unknown>>;
}

export interface Admitted {
  readonly actor: Actor;
  readonly server: ServerAccess | undefined;
  readonly team: TeamAccess | undefined;
  /** What the query that rode along found; null where there was none. */
  readonly data: unknown;
  /** Some object of the path is not there, or not for this caller to see. */
  readonly missing: Fault | null;
}

export interface Access {
  readonly text: string;
  /** Refuses with a Fault, or admits. `spend` takes a token of the user's rate limit, between steps 4 and 6. */
  check(db: Db, request: AccessRequest, spend: (uid: string) => void): Promise<Admitted>;
}

const rank: Record<Role, number> = { viewer: 0, member: 1, owner: 2 };

const noCredential = (sent: boolean) =>
  new Fault("unauthenticated", "unauthenticated", "No valid API key was supplied.", {
    headers: { "www-authenticate": sent ? 'Bearer realm="api", error="invalid_token"' : 'Bearer realm="api"' },
  });
export const unauthenticated = { missing: () => noCredential(false), invalid: () => noCredential(true) };

/** The prefix of the id that a path parameter holds. */
export const prefixOf = (param: string): string => (param === "member_uid" ? prefixes.uid : prefixes[param as IdName]);

export function access(op: Operation, query: Query | null): Access {
  const params = paramsOf(op.path);
  const links = Object.keys(nouns).filter((param) => params.includes(param));
  const prepared = statement<AccessRow>(accessSql(params, links, query ? riding(op, query) : null));
  return {
    text: prepared.text,
    async check(on, request, spend) {
      const [row] = await prepared.run(on, { ...request.values, ...request.ids, hash: request.hash, ip: request.ip });
      if (!row) throw unauthenticated.invalid();
      spend(row.uid);
      admitAccount(op, row, request.ids.uid);
      const { ids } = request;
      const lost = links.find((_, index) => !row.found?.[index]);
      const missing =
        lost || params.some((param) => ids[param] === null) ? new Fault("not_found", "not_found", `${lost ? `${nouns[lost]} not` : "Not"} found.`) : null;
      if (!missing) admitRole(op, row);
      return {
        actor: { uid: row.uid, key_id: row.key_id, session_id: row.session_id },
        server: params.includes("sid") ? ({ sid: ids.sid, owner_uid: row.server_owner, role: row.server_role } as ServerAccess) : undefined,
        team: params.includes("tid") ? ({ tid: ids.tid, name: row.team_name, owner_uid: row.team_owner, role: row.team_role } as TeamAccess) : undefined,
        data: row.data ? JSON.parse(row.data) : null,
        missing,
      };
    },
  };
}

/** Step 6: the account, and what the key may do at all. Said before anything about the path's objects is. */
function admitAccount(op: Operation, row: AccessRow, uid: string | null | undefined): void {
  if (op.scope !== "key" && row.uid !== uid) throw new Fault("forbidden", "uid_mismatch", "This API key cannot act for that user.");
  if (!row.ip_allowed) throw new Fault("forbidden", "ip_not_allowed", "This API key may not be used from your address.");
  if (row.status === "suspended" && !op.suspended) throw new Fault("forbidden", "account_suspended", "The account is suspended.");
  if (!row.verified && op.effect === "change" && !op.unverified) throw new Fault("forbidden", "email_unverified", "Verify your e-mail address first.");
  if (row.kind === "scoped") admitScoped(op, row);
}

function admitScoped(op: Operation, row: AccessRow): void {
  if (op.needs === "full") throw new Fault("forbidden", "scope_missing", "A scoped key cannot do this. Use the primary key or sign in.");
  if (op.needs !== "any" && !row.scopes?.includes(op.needs)) throw new Fault("forbidden", "scope_missing", `This API key lacks the scope \`${op.needs}\`.`);
  if (row.sid_allowed === false) throw new Fault("forbidden", "scope_missing", "This API key may not act on that server.");
}

/** Step 8. */
function admitRole(op: Operation, row: AccessRow): void {
  for (const role of [row.server_role, row.team_role]) {
    if (role === undefined || role === null || rank[role] >= rank[op.role]) continue;
    if (op.role === "owner") throw new Fault("forbidden", "owner_only", "Only the owner can do this.");
    throw new Fault("forbidden", "role_insufficient", "Your role in the team only allows reading.");
  }
}

const yes = sql`true`;
const all = (conditions: RawBuilder<unknown>[]) => (conditions.length === 0 ? yes : sql.join(conditions, sql` and `));

/** True where the link of the chain holds; outer links are part of the joins of inner ones. */
function foundSql(param: string, params: readonly string[]): RawBuilder<unknown> {
  if (param === "sid") {
    const below = params.includes("tid") ? sql`exists (select 1 from team_servers x where x.tid = t.tid and x.sid = s.sid)` : yes;
    return sql`((s.owner_uid = c.uid or share.role is not null) and ${below})`;
  }
  if (sought[param]) return sql`(${sought[param]})`;
  if (param === "tid") return sql`(m.role is not null)`;
  if (param === "zone_id") return sql`(z.zone_id is not null)`;
  return sql`(${sql.ref(`${param}_.${param}`)} is not null)`;
}

function joinSql(param: string): RawBuilder<unknown> {
  if (sought[param]) return sql``;
  if (param === "sid") {
    // An owner is never looked up in teams; a member may reach a server through several, and the strongest role counts.
    return sql`
      left join servers s on s.sid = ${hole("sid")}::uuid and s.ensure = 'present'
      left join lateral (
        select case when bool_or(tm.role = 'member') then 'member' else 'viewer' end as role
        from team_servers ts join team_members tm on tm.tid = ts.tid and tm.uid = c.uid
        where ts.sid = s.sid and s.owner_uid <> c.uid having count(*) > 0
      ) share on true`;
  }
  if (param === "tid") return sql`left join teams t on t.tid = ${hole("tid")}::uuid left join team_members m on m.tid = t.tid and m.uid = c.uid`;
  if (param === "zone_id") return sql`left join dns_zones z on z.zone_id = ${hole("zone_id")}::uuid and z.uid = c.uid`;
  const [table, parent] = hosted[param as keyof typeof hosted];
  const alias = `${param}_`;
  const above = parent === "sid" ? "s.sid" : `${parent}_.${parent}`;
  return sql`left join ${sql.table(table)} ${sql.ref(alias)} on ${sql.ref(`${alias}.${param}`)} = ${hole(param)}::uuid
    and ${sql.ref(`${alias}.${parent}`)} = ${sql.ref(above)} and ${sql.ref(`${alias}.ensure`)} = 'present'`;
}

/** Only what the path can need is asked for: each column of the answer costs the driver more than it costs PostgreSQL. */
function accessSql(params: readonly string[], links: readonly string[], data: RawBuilder<unknown> | null): RawBuilder<unknown> {
  const found = links.map((param) => foundSql(param, params));
  const holds = all(params.includes("uid") ? [sql`c.uid = ${hole("uid")}::uuid`, ...found] : found);
  const columns = [
    sql`c.key_id, c.kind, c.uid, c.session_id, u.status, u.verified_at is not null as verified`,
    sql`case when c.kind = 'scoped' then c.scopes end as scopes`,
    sql`(c.cidrs is null or ${hole("ip")}::inet <<= any(c.cidrs)) as ip_allowed`,
    ...(found.length > 0 ? [sql`array[${sql.join(found)}] as found`] : []),
    ...(params.includes("sid")
      ? [
          sql`(c.sids is null or ${hole("sid")}::uuid = any(c.sids)) as sid_allowed, s.owner_uid as server_owner, case when s.owner_uid = c.uid then 'owner' else share.role end as server_role`,
        ]
      : []),
    ...(params.includes("tid") ? [sql`t.name as team_name, t.owner_uid as team_owner, m.role as team_role`] : []),
    ...(data ? [sql`case when ${holds} then (${data}) end as data`] : []),
  ];
  return sql`select ${sql.join(columns)} from credentials c join users u on u.uid = c.uid ${sql.join(links.map(joinSql), sql` `)}
    where c.hash = ${hole("hash")} and (c.expires_at is null or c.expires_at > now())`;
}
