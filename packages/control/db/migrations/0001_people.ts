/** Accounts, credentials, teams, history, and the records that every change leaves. */
import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table plans (
      plan_id text primary key,
      name text not null,
      description text not null,
      price integer not null,
      currency text not null,
      interval text not null check (interval in ('month', 'year', 'none')),
      limits jsonb not null,
      features text[] not null default '{}',
      is_default boolean not null default false
    );
    create unique index plans_default on plans (is_default) where is_default;

    create table users (
      uid uuid primary key,
      email text not null,
      password_hash text not null,
      first_name text not null default '',
      last_name text not null default '',
      phone text not null default '',
      role text not null default 'user' check (role in ('user', 'admin')),
      plan_id text not null references plans,
      status text not null default 'active' check (status in ('active', 'suspended')),
      verified_at timestamptz,
      created_at timestamptz not null default now()
    );
    create unique index users_email on users (lower(email));
    create index users_plan on users (plan_id);
    create index users_admins on users (uid) where role = 'admin';

    create table sessions (
      session_id uuid primary key,
      uid uuid not null references users on delete cascade,
      refresh_hash bytea not null unique,
      ip inet not null,
      user_agent text not null,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    );
    create index sessions_uid on sessions (uid);
    create index sessions_expiry on sessions (expires_at);

    -- Everything that may stand after "Bearer": the primary key, scoped keys, and session tokens.
    create table credentials (
      key_id uuid primary key,
      uid uuid not null references users on delete cascade,
      kind text not null check (kind in ('primary', 'scoped', 'session')),
      hash bytea not null unique,
      last4 text not null,
      name text not null default '',
      scopes text[] not null default '{}',
      sids uuid[],
      cidrs inet[],
      session_id uuid references sessions on delete cascade,
      created_at timestamptz not null default now(),
      expires_at timestamptz,
      exposed_at timestamptz
    );
    create unique index credentials_primary on credentials (uid) where kind = 'primary';
    create index credentials_uid on credentials (uid, created_at);
    create index credentials_session on credentials (session_id) where session_id is not null;
    create index credentials_expiry on credentials (expires_at) where expires_at is not null;

    -- Secrets that are mailed or printed once: verification, password reset, set-up and invitation.
    create table one_time_tokens (
      hash bytea primary key,
      kind text not null check (kind in ('verify', 'reset', 'setup', 'invite')),
      uid uuid references users on delete cascade,
      email text,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    );
    create index one_time_tokens_uid on one_time_tokens (uid) where uid is not null;
    create index one_time_tokens_expiry on one_time_tokens (expires_at);

    create table device_logins (
      device_hash bytea primary key,
      user_code text not null unique,
      uid uuid references users on delete cascade,
      client_name text not null,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    );
    create index device_logins_uid on device_logins (uid) where uid is not null;
    create index device_logins_expiry on device_logins (expires_at);

    create table teams (
      tid uuid primary key,
      owner_uid uuid not null references users on delete cascade,
      name text not null,
      created_at timestamptz not null default now()
    );
    create unique index teams_owner_name on teams (owner_uid, lower(name));

    -- The owner is a member too, with the role "owner", so that one lookup answers what a caller is to a team.
    create table team_members (
      tid uuid not null references teams on delete cascade,
      uid uuid not null references users on delete cascade,
      role text not null check (role in ('owner', 'member', 'viewer')),
      created_at timestamptz not null default now(),
      primary key (tid, uid)
    );
    create index team_members_uid on team_members (uid, tid);

    create table activity (
      id uuid not null,
      uid uuid not null,
      actor_uid uuid not null,
      sid uuid,
      wid uuid,
      action text not null,
      detail text not null,
      created_at timestamptz not null default now(),
      primary key (created_at, id)
    ) partition by range (created_at);
    create index activity_uid on activity (uid, created_at desc, id desc);
    create index activity_actor on activity (actor_uid, created_at desc, id desc) where actor_uid <> uid;
    create index activity_sid on activity (sid, created_at desc, id desc) where sid is not null;
    create index activity_wid on activity (wid, created_at desc, id desc) where wid is not null;
    create table activity_default partition of activity default;

    create table logins (
      id uuid not null,
      uid uuid not null,
      ip inet not null,
      country text not null default 'ZZ',
      created_at timestamptz not null default now(),
      primary key (created_at, id)
    ) partition by range (created_at);
    create index logins_uid on logins (uid, created_at desc, id desc);
    create table logins_default partition of logins default;

    -- No reference to users: the answer to "delete this account" must outlive the account for its last day.
    create table idempotency (
      uid uuid not null,
      -- Neither the client's key nor the body is kept: the body's digest is keyed with the client's key,
      -- so a stolen table does not help to guess a password that a body held.
      key_hash bytea not null,
      request_hash bytea not null,
      status smallint not null,
      -- Null where the reply held a secret: then only the fact is kept.
      body text,
      headers jsonb not null,
      created_at timestamptz not null default now(),
      primary key (uid, key_hash)
    );
    create index idempotency_age on idempotency (created_at);
  `.execute(db);
}
