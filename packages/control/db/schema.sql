-- What the migrations make. Written by "npm run schema"; do not edit.

create table activity (
  id uuid not null,
  uid uuid not null,
  actor_uid uuid not null,
  sid uuid,
  wid uuid,
  action text not null,
  detail text not null,
  created_at timestamp with time zone not null default now(),
  constraint activity_pkey PRIMARY KEY (created_at, id)
) partition by RANGE (created_at);
CREATE INDEX activity_actor ON public.activity USING btree (actor_uid, created_at DESC, id DESC) WHERE (actor_uid <> uid);
CREATE INDEX activity_sid ON public.activity USING btree (sid, created_at DESC, id DESC) WHERE (sid IS NOT NULL);
CREATE INDEX activity_uid ON public.activity USING btree (uid, created_at DESC, id DESC);
CREATE INDEX activity_wid ON public.activity USING btree (wid, created_at DESC, id DESC) WHERE (wid IS NOT NULL);

create table backups (
  backup_id uuid not null,
  wid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint backups_pkey PRIMARY KEY (backup_id),
  constraint backups_wid_fkey FOREIGN KEY (wid) REFERENCES websites(wid) ON DELETE CASCADE,
  constraint backups_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX backups_wid ON public.backups USING btree (wid, created_at) WHERE (ensure = 'present'::text);

create table credentials (
  key_id uuid not null,
  uid uuid not null,
  kind text not null,
  hash bytea not null,
  last4 text not null,
  name text not null default ''::text,
  scopes text[] not null default '{}'::text[],
  sids uuid[],
  cidrs inet[],
  session_id uuid,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone,
  exposed_at timestamp with time zone,
  constraint credentials_pkey PRIMARY KEY (key_id),
  constraint credentials_hash_key UNIQUE (hash),
  constraint credentials_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(session_id) ON DELETE CASCADE,
  constraint credentials_uid_fkey FOREIGN KEY (uid) REFERENCES users(uid) ON DELETE CASCADE,
  constraint credentials_kind_check CHECK ((kind = ANY (ARRAY['primary'::text, 'scoped'::text, 'session'::text])))
);
CREATE INDEX credentials_expiry ON public.credentials USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX credentials_session ON public.credentials USING btree (session_id) WHERE (session_id IS NOT NULL);
CREATE INDEX credentials_uid ON public.credentials USING btree (uid, created_at);
CREATE UNIQUE INDEX credentials_primary ON public.credentials USING btree (uid) WHERE (kind = 'primary'::text);

create table crons (
  cid uuid not null,
  sid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint crons_pkey PRIMARY KEY (cid),
  constraint crons_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE,
  constraint crons_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX crons_sid ON public.crons USING btree (sid, created_at) WHERE (ensure = 'present'::text);

create table database_users (
  dbuid uuid not null,
  sid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint database_users_pkey PRIMARY KEY (dbuid),
  constraint database_users_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE,
  constraint database_users_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX database_users_sid ON public.database_users USING btree (sid, created_at) WHERE (ensure = 'present'::text);
CREATE UNIQUE INDEX database_users_name ON public.database_users USING btree (sid, name) WHERE (ensure = 'present'::text);

create table databases (
  did uuid not null,
  sid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint databases_pkey PRIMARY KEY (did),
  constraint databases_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE,
  constraint databases_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX databases_sid ON public.databases USING btree (sid, created_at) WHERE (ensure = 'present'::text);
CREATE UNIQUE INDEX databases_name ON public.databases USING btree (sid, name) WHERE (ensure = 'present'::text);

create table device_logins (
  device_hash bytea not null,
  user_code text not null,
  uid uuid,
  client_name text not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint device_logins_pkey PRIMARY KEY (device_hash),
  constraint device_logins_user_code_key UNIQUE (user_code),
  constraint device_logins_uid_fkey FOREIGN KEY (uid) REFERENCES users(uid) ON DELETE CASCADE
);
CREATE INDEX device_logins_expiry ON public.device_logins USING btree (expires_at);
CREATE INDEX device_logins_uid ON public.device_logins USING btree (uid) WHERE (uid IS NOT NULL);

create table dns_zones (
  zone_id uuid not null,
  uid uuid not null,
  domain text not null,
  created_at timestamp with time zone not null default now(),
  constraint dns_zones_pkey PRIMARY KEY (zone_id),
  constraint dns_zones_uid_domain_key UNIQUE (uid, domain),
  constraint dns_zones_uid_fkey FOREIGN KEY (uid) REFERENCES users(uid) ON DELETE CASCADE
);
CREATE INDEX dns_zones_uid ON public.dns_zones USING btree (uid, created_at);

create table email_accounts (
  eid uuid not null,
  wid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint email_accounts_pkey PRIMARY KEY (eid),
  constraint email_accounts_wid_fkey FOREIGN KEY (wid) REFERENCES websites(wid) ON DELETE CASCADE,
  constraint email_accounts_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX email_accounts_wid ON public.email_accounts USING btree (wid, created_at) WHERE (ensure = 'present'::text);

create table email_forwarders (
  forwarder_id uuid not null,
  wid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint email_forwarders_pkey PRIMARY KEY (forwarder_id),
  constraint email_forwarders_wid_fkey FOREIGN KEY (wid) REFERENCES websites(wid) ON DELETE CASCADE,
  constraint email_forwarders_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX email_forwarders_wid ON public.email_forwarders USING btree (wid, created_at) WHERE (ensure = 'present'::text);

create table ftp_accounts (
  fid uuid not null,
  wid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint ftp_accounts_pkey PRIMARY KEY (fid),
  constraint ftp_accounts_wid_fkey FOREIGN KEY (wid) REFERENCES websites(wid) ON DELETE CASCADE,
  constraint ftp_accounts_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX ftp_accounts_wid ON public.ftp_accounts USING btree (wid, created_at) WHERE (ensure = 'present'::text);

create table idempotency (
  uid uuid not null,
  key_hash bytea not null,
  request_hash bytea not null,
  status smallint not null,
  body text,
  headers jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_pkey PRIMARY KEY (uid, key_hash)
);
CREATE INDEX idempotency_age ON public.idempotency USING btree (created_at);

create table logins (
  id uuid not null,
  uid uuid not null,
  ip inet not null,
  country text not null default 'ZZ'::text,
  created_at timestamp with time zone not null default now(),
  constraint logins_pkey PRIMARY KEY (created_at, id)
) partition by RANGE (created_at);
CREATE INDEX logins_uid ON public.logins USING btree (uid, created_at DESC, id DESC);

create table one_time_tokens (
  hash bytea not null,
  kind text not null,
  uid uuid,
  email text,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint one_time_tokens_pkey PRIMARY KEY (hash),
  constraint one_time_tokens_uid_fkey FOREIGN KEY (uid) REFERENCES users(uid) ON DELETE CASCADE,
  constraint one_time_tokens_kind_check CHECK ((kind = ANY (ARRAY['verify'::text, 'reset'::text, 'setup'::text, 'invite'::text])))
);
CREATE INDEX one_time_tokens_expiry ON public.one_time_tokens USING btree (expires_at);
CREATE INDEX one_time_tokens_uid ON public.one_time_tokens USING btree (uid) WHERE (uid IS NOT NULL);

create table operations (
  oid uuid not null,
  uid uuid not null,
  sid uuid not null,
  generation bigint not null,
  type text not null,
  resource_type text not null,
  resource_id text not null,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  error_code text,
  error_message text,
  constraint operations_pkey PRIMARY KEY (oid),
  constraint operations_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE
);
CREATE INDEX operations_sid ON public.operations USING btree (sid, generation);
CREATE INDEX operations_uid ON public.operations USING btree (uid, created_at DESC);

create table pending (
  id uuid not null,
  type text not null,
  uid uuid,
  email text,
  asked_by uuid not null,
  detail text not null,
  sid uuid,
  tid uuid,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint pending_pkey PRIMARY KEY (id),
  constraint pending_asked_by_fkey FOREIGN KEY (asked_by) REFERENCES users(uid) ON DELETE CASCADE,
  constraint pending_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE,
  constraint pending_tid_fkey FOREIGN KEY (tid) REFERENCES teams(tid) ON DELETE CASCADE,
  constraint pending_uid_fkey FOREIGN KEY (uid) REFERENCES users(uid) ON DELETE CASCADE,
  constraint pending_check CHECK (((uid IS NOT NULL) OR (email IS NOT NULL))),
  constraint pending_check1 CHECK ((((type = 'server_transfer'::text) = (sid IS NOT NULL)) AND ((type = 'team_invite'::text) = (tid IS NOT NULL)))),
  constraint pending_type_check CHECK ((type = ANY (ARRAY['server_transfer'::text, 'team_invite'::text])))
);
CREATE INDEX pending_asked_by ON public.pending USING btree (asked_by, created_at);
CREATE INDEX pending_email ON public.pending USING btree (email) WHERE (uid IS NULL);
CREATE INDEX pending_expiry ON public.pending USING btree (expires_at);
CREATE INDEX pending_uid ON public.pending USING btree (uid, created_at);
CREATE UNIQUE INDEX pending_invite ON public.pending USING btree (tid, uid) WHERE (tid IS NOT NULL);
CREATE UNIQUE INDEX pending_invite_email ON public.pending USING btree (tid, email) WHERE ((tid IS NOT NULL) AND (uid IS NULL));
CREATE UNIQUE INDEX pending_transfer ON public.pending USING btree (sid) WHERE (sid IS NOT NULL);

create table plans (
  plan_id text not null,
  name text not null,
  description text not null,
  price integer not null,
  currency text not null,
  interval text not null,
  limits jsonb not null,
  features text[] not null default '{}'::text[],
  is_default boolean not null default false,
  constraint plans_pkey PRIMARY KEY (plan_id),
  constraint plans_interval_check CHECK (("interval" = ANY (ARRAY['month'::text, 'year'::text, 'none'::text])))
);
CREATE UNIQUE INDEX plans_default ON public.plans USING btree (is_default) WHERE is_default;

create table servers (
  sid uuid not null,
  owner_uid uuid,
  name text not null,
  ip inet not null,
  ensure text not null default 'present'::text,
  wanted_generation bigint not null default 0,
  applied_generation bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  constraint servers_pkey PRIMARY KEY (sid),
  constraint servers_owner_uid_fkey FOREIGN KEY (owner_uid) REFERENCES users(uid) ON DELETE SET NULL,
  constraint servers_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX servers_lagging ON public.servers USING btree (sid) WHERE (wanted_generation <> applied_generation);
CREATE INDEX servers_owner ON public.servers USING btree (owner_uid, created_at);

create table sessions (
  session_id uuid not null,
  uid uuid not null,
  refresh_hash bytea not null,
  ip inet not null,
  user_agent text not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint sessions_pkey PRIMARY KEY (session_id),
  constraint sessions_refresh_hash_key UNIQUE (refresh_hash),
  constraint sessions_uid_fkey FOREIGN KEY (uid) REFERENCES users(uid) ON DELETE CASCADE
);
CREATE INDEX sessions_expiry ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_uid ON public.sessions USING btree (uid);

create table ssh_keys (
  kid uuid not null,
  sid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint ssh_keys_pkey PRIMARY KEY (kid),
  constraint ssh_keys_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE,
  constraint ssh_keys_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX ssh_keys_sid ON public.ssh_keys USING btree (sid, created_at) WHERE (ensure = 'present'::text);

create table system_users (
  suid uuid not null,
  sid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint system_users_pkey PRIMARY KEY (suid),
  constraint system_users_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE,
  constraint system_users_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX system_users_sid ON public.system_users USING btree (sid, created_at) WHERE (ensure = 'present'::text);
CREATE UNIQUE INDEX system_users_name ON public.system_users USING btree (sid, name) WHERE (ensure = 'present'::text);

create table team_members (
  tid uuid not null,
  uid uuid not null,
  role text not null,
  created_at timestamp with time zone not null default now(),
  constraint team_members_pkey PRIMARY KEY (tid, uid),
  constraint team_members_tid_fkey FOREIGN KEY (tid) REFERENCES teams(tid) ON DELETE CASCADE,
  constraint team_members_uid_fkey FOREIGN KEY (uid) REFERENCES users(uid) ON DELETE CASCADE,
  constraint team_members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text, 'viewer'::text])))
);
CREATE INDEX team_members_uid ON public.team_members USING btree (uid, tid);

create table team_servers (
  tid uuid not null,
  sid uuid not null,
  created_at timestamp with time zone not null default now(),
  constraint team_servers_pkey PRIMARY KEY (tid, sid),
  constraint team_servers_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE,
  constraint team_servers_tid_fkey FOREIGN KEY (tid) REFERENCES teams(tid) ON DELETE CASCADE
);
CREATE INDEX team_servers_sid ON public.team_servers USING btree (sid);

create table teams (
  tid uuid not null,
  owner_uid uuid not null,
  name text not null,
  created_at timestamp with time zone not null default now(),
  constraint teams_pkey PRIMARY KEY (tid),
  constraint teams_owner_uid_fkey FOREIGN KEY (owner_uid) REFERENCES users(uid) ON DELETE CASCADE
);
CREATE UNIQUE INDEX teams_owner_name ON public.teams USING btree (owner_uid, lower(name));

create table users (
  uid uuid not null,
  email text not null,
  password_hash text not null,
  first_name text not null default ''::text,
  last_name text not null default ''::text,
  phone text not null default ''::text,
  role text not null default 'user'::text,
  plan_id text not null,
  status text not null default 'active'::text,
  verified_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint users_pkey PRIMARY KEY (uid),
  constraint users_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES plans(plan_id),
  constraint users_role_check CHECK ((role = ANY (ARRAY['user'::text, 'admin'::text]))),
  constraint users_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text])))
);
CREATE INDEX users_admins ON public.users USING btree (uid) WHERE (role = 'admin'::text);
CREATE INDEX users_plan ON public.users USING btree (plan_id);
CREATE UNIQUE INDEX users_email ON public.users USING btree (lower(email));

create table websites (
  wid uuid not null,
  sid uuid not null,
  name text not null,
  ensure text not null default 'present'::text,
  generation bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint websites_pkey PRIMARY KEY (wid),
  constraint websites_sid_fkey FOREIGN KEY (sid) REFERENCES servers(sid) ON DELETE CASCADE,
  constraint websites_ensure_check CHECK ((ensure = ANY (ARRAY['present'::text, 'absent'::text])))
);
CREATE INDEX websites_sid ON public.websites USING btree (sid, created_at) WHERE (ensure = 'present'::text);
