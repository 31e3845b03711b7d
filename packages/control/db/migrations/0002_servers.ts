/**
 * Servers and what stands on them: the id chain that every request is checked against, and the order of each list.
 * Columns that only one area reads come with that area.
 */
import { type Kysely, sql } from "kysely";

/** [table, id, parent column, parent table] of everything that hangs below a server or a website. */
const hosted = [
  ["websites", "wid", "sid", "servers"],
  ["databases", "did", "sid", "servers"],
  ["database_users", "dbuid", "sid", "servers"],
  ["ssh_keys", "kid", "sid", "servers"],
  ["system_users", "suid", "sid", "servers"],
  ["crons", "cid", "sid", "servers"],
  ["ftp_accounts", "fid", "wid", "websites"],
  ["email_accounts", "eid", "wid", "websites"],
  ["email_forwarders", "forwarder_id", "wid", "websites"],
  ["backups", "backup_id", "wid", "websites"],
] as const;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table servers (
      sid uuid primary key,
      -- Null once the account is gone: the agent still has to be told to leave.
      owner_uid uuid references users on delete set null,
      name text not null,
      ip inet not null,
      ensure text not null default 'present' check (ensure in ('present', 'absent')),
      wanted_generation bigint not null default 0,
      applied_generation bigint not null default 0,
      created_at timestamptz not null default now()
    );
    create index servers_owner on servers (owner_uid, created_at);
    create index servers_lagging on servers (sid) where wanted_generation <> applied_generation;

    create table team_servers (
      tid uuid not null references teams on delete cascade,
      sid uuid not null references servers on delete cascade,
      created_at timestamptz not null default now(),
      primary key (tid, sid)
    );
    create index team_servers_sid on team_servers (sid);

    -- What waits for somebody's word. An invitation by e-mail has no uid until that address is proven by an account.
    create table pending (
      id uuid primary key,
      type text not null check (type in ('server_transfer', 'team_invite')),
      uid uuid references users on delete cascade,
      email text,
      asked_by uuid not null references users on delete cascade,
      -- The public id of the server or team, as the interface shows it.
      detail text not null,
      sid uuid references servers on delete cascade,
      tid uuid references teams on delete cascade,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      check (uid is not null or email is not null),
      check ((type = 'server_transfer') = (sid is not null) and (type = 'team_invite') = (tid is not null))
    );
    create index pending_uid on pending (uid, created_at);
    create index pending_asked_by on pending (asked_by, created_at);
    create index pending_email on pending (email) where uid is null;
    create unique index pending_transfer on pending (sid) where sid is not null;
    create unique index pending_invite on pending (tid, uid) where tid is not null;
    create unique index pending_invite_email on pending (tid, email) where tid is not null and uid is null;
    create index pending_expiry on pending (expires_at);

    create table operations (
      oid uuid primary key,
      uid uuid not null,
      sid uuid not null references servers on delete cascade,
      generation bigint not null,
      type text not null,
      resource_type text not null,
      resource_id text not null,
      created_at timestamptz not null default now(),
      started_at timestamptz,
      finished_at timestamptz,
      error_code text,
      error_message text
    );
    create index operations_sid on operations (sid, generation);
    create index operations_uid on operations (uid, created_at desc);

    create table dns_zones (
      zone_id uuid primary key,
      uid uuid not null references users on delete cascade,
      domain text not null,
      created_at timestamptz not null default now(),
      unique (uid, domain)
    );
    create index dns_zones_uid on dns_zones (uid, created_at);
  `.execute(db);

  for (const [table, id, parent, parentTable] of hosted) {
    await sql`
      create table ${sql.table(table)} (
        ${sql.ref(id)} uuid primary key,
        ${sql.ref(parent)} uuid not null references ${sql.table(parentTable)} on delete cascade,
        name text not null,
        ensure text not null default 'present' check (ensure in ('present', 'absent')),
        generation bigint not null,
        created_at timestamptz not null default now()
      )`.execute(db);
    await sql`create index ${sql.ref(`${table}_${parent}`)} on ${sql.table(table)} (${sql.ref(parent)}, created_at) where ensure = 'present'`.execute(db);
  }
  await sql`
    create unique index databases_name on databases (sid, name) where ensure = 'present';
    create unique index database_users_name on database_users (sid, name) where ensure = 'present';
    create unique index system_users_name on system_users (sid, name) where ensure = 'present';
  `.execute(db);
}
