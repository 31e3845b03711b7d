/** A database with 100,000 servers' worth of rows, so that PostgreSQL plans as it would for a full cell. */
import type { Db } from "@stead/control/db/pool.ts";
import { sql } from "kysely";

const users = 20_000;
const servers = 100_000;

/** uuid number n of a kind: the same everywhere, so that rows refer to each other without a lookup. */
const id = (kind: string, n: string) => sql.raw(`md5('${kind}' || (${n}))::uuid`);
const series = (most: number) => sql.raw(`generate_series(1, ${most}) n`);

export async function fillFleet(db: Db): Promise<void> {
  await db.connection().execute(async (one) => {
    // References are right by construction; checking each of two million would be most of the time.
    await sql`set session_replication_role = replica`.execute(one);
    await sql`set statement_timeout = 0`.execute(one);
    await sql`insert into users (uid, email, password_hash, plan_id, verified_at) select ${id("user", "n")}, n || '@fleet.test', 'none', (select plan_id from plans limit 1), now() from ${series(users)}`.execute(
      one,
    );
    await sql`insert into sessions (session_id, uid, refresh_hash, ip, user_agent, expires_at) select ${id("session", "n")}, ${id("user", "n")}, sha256(('s' || n)::bytea), '192.0.2.1', '', now() + interval '1 day' from ${series(users)}`.execute(
      one,
    );
    await sql`insert into credentials (key_id, uid, kind, hash, last4) select ${id("key", "n")}, ${id("user", "n")}, 'primary', sha256(('k' || n)::bytea), 'last' from ${series(users)}`.execute(
      one,
    );
    await sql`insert into credentials (key_id, uid, kind, hash, last4, session_id, expires_at) select ${id("token", "n")}, ${id("user", "n")}, 'session', sha256(('t' || n)::bytea), 'last', ${id("session", "n")}, now() + interval '1 hour' from ${series(users)}`.execute(
      one,
    );
    await sql`insert into one_time_tokens (hash, kind, uid, expires_at) select sha256(('o' || n)::bytea), 'verify', ${id("user", "n")}, now() + interval '1 day' from ${series(users)}`.execute(
      one,
    );
    await sql`insert into device_logins (device_hash, user_code, client_name, expires_at) select sha256(('d' || n)::bytea), 'code-' || n, '', now() + interval '1 hour' from ${series(users)}`.execute(
      one,
    );
    await sql`insert into teams (tid, owner_uid, name) select ${id("team", "n")}, ${id("user", "n")}, 'team' from ${series(users)}`.execute(one);
    await sql`insert into team_members (tid, uid, role) select ${id("team", "n")}, ${id("user", `(n + m * 37) % ${users} + 1`)}, case m when 0 then 'owner' else 'member' end from ${series(users)}, generate_series(0, 2) m on conflict do nothing`.execute(
      one,
    );
    await sql`insert into servers (sid, owner_uid, name, ip) select ${id("server", "n")}, ${id("user", `n % ${users} + 1`)}, 'web', '192.0.2.1' from ${series(servers)}`.execute(
      one,
    );
    await sql`insert into team_servers (tid, sid) select ${id("team", `n % ${users} + 1`)}, ${id("server", "n")} from ${series(servers)}`.execute(one);
    await sql`insert into pending (id, type, uid, asked_by, detail, tid, expires_at) select ${id("pending", "n")}, 'team_invite', ${id("user", `n % ${users} + 1`)}, ${id("user", "n")}, 'team', ${id("team", "n")}, now() + interval '7 days' from ${series(users)}`.execute(
      one,
    );
    await sql`insert into operations (oid, uid, sid, generation, type, resource_type, resource_id) select ${id("operation", "n")}, ${id("user", `n % ${users} + 1`)}, ${id("server", "n")}, 1, 'x', 'x', 'x' from ${series(servers)}`.execute(
      one,
    );
    await sql`insert into idempotency (uid, key_hash, request_hash, status, headers) select ${id("user", `n % ${users} + 1`)}, sha256(('i' || n)::bytea), '', 200, '{}' from ${series(servers)}`.execute(
      one,
    );
    await sql`insert into dns_zones (zone_id, uid, domain) select ${id("zone", "n")}, ${id("user", `n % ${users} + 1`)}, n || '.test' from ${series(users)}`.execute(
      one,
    );
    await sql`insert into activity (id, uid, actor_uid, sid, wid, action, detail, created_at)
      select ${id("activity", "n")}, ${id("user", `n % ${users} + 1`)}, ${id("user", `n % ${users} + 1 + (n % 10 = 0)::int`)}, ${id("server", `n % ${servers}`)}, ${id("website", `n % ${servers}`)}, 'x.y', 'z', now() - n * interval '10 seconds' from ${series(300_000)}`.execute(
      one,
    );
    await sql`insert into logins (id, uid, ip, created_at) select ${id("login", "n")}, ${id("user", `n % ${users} + 1`)}, '192.0.2.1', now() - n * interval '30 seconds' from ${series(100_000)}`.execute(
      one,
    );
    for (const [table, key, parent, of] of [
      ["websites", "wid", "sid", "server"],
      ["databases", "did", "sid", "server"],
      ["database_users", "dbuid", "sid", "server"],
      ["ssh_keys", "kid", "sid", "server"],
      ["system_users", "suid", "sid", "server"],
      ["crons", "cid", "sid", "server"],
      ["ftp_accounts", "fid", "wid", "websites"],
      ["email_accounts", "eid", "wid", "websites"],
      ["email_forwarders", "forwarder_id", "wid", "websites"],
      ["backups", "backup_id", "wid", "websites"],
    ] as const) {
      await sql`insert into ${sql.table(table)} (${sql.ref(key)}, ${sql.ref(parent)}, name, generation) select ${id(table, "n")}, ${id(of, "n")}, 'n' || n, 1 from ${series(servers)}`.execute(
        one,
      );
    }
    await sql`reset all`.execute(one);
    await sql`analyze`.execute(one);
  });
}
