/** The tables as TypeScript sees them. `schema.sql` beside this file is what the migrations really make. */
import type { ColumnType, Generated, JSONColumnType } from "kysely";

type Time = ColumnType<Date, Date | string, Date | string>;
type MadeTime = ColumnType<Date, Date | string | undefined, Date | string>;
type Ensure = Generated<"present" | "absent">;

export interface PlanLimits {
  servers: number | null;
  websites: number | null;
  team_members: number | null;
  backups_per_website: number | null;
}

interface Plans {
  plan_id: string;
  name: string;
  description: string;
  price: number;
  currency: string;
  interval: "month" | "year" | "none";
  limits: JSONColumnType<PlanLimits>;
  features: string[];
  is_default: boolean;
}

interface Users {
  uid: string;
  email: string;
  password_hash: string;
  first_name: Generated<string>;
  last_name: Generated<string>;
  phone: Generated<string>;
  role: Generated<"user" | "admin">;
  plan_id: string;
  status: Generated<"active" | "suspended">;
  verified_at: Time | null;
  created_at: MadeTime;
}

interface Sessions {
  session_id: string;
  uid: string;
  refresh_hash: Buffer;
  ip: string;
  user_agent: string;
  created_at: MadeTime;
  expires_at: Time;
}

interface Credentials {
  key_id: string;
  uid: string;
  kind: "primary" | "scoped" | "session";
  hash: Buffer;
  last4: string;
  name: Generated<string>;
  scopes: Generated<string[]>;
  sids: string[] | null;
  cidrs: string[] | null;
  session_id: string | null;
  created_at: MadeTime;
  expires_at: Time | null;
  exposed_at: Time | null;
}

interface OneTimeTokens {
  hash: Buffer;
  kind: "verify" | "reset" | "setup" | "invite";
  uid: string | null;
  email: string | null;
  created_at: MadeTime;
  expires_at: Time;
}

interface DeviceLogins {
  device_hash: Buffer;
  user_code: string;
  uid: string | null;
  client_name: string;
  created_at: MadeTime;
  expires_at: Time;
}

interface Teams {
  tid: string;
  owner_uid: string;
  name: string;
  created_at: MadeTime;
}

interface TeamMembers {
  tid: string;
  uid: string;
  role: "owner" | "member" | "viewer";
  created_at: MadeTime;
}

interface TeamServers {
  tid: string;
  sid: string;
  created_at: MadeTime;
}

interface Activity {
  id: string;
  uid: string;
  actor_uid: string;
  sid: string | null;
  wid: string | null;
  action: string;
  detail: string;
  created_at: MadeTime;
}

interface Logins {
  id: string;
  uid: string;
  ip: string;
  country: Generated<string>;
  created_at: MadeTime;
}

interface Idempotency {
  uid: string;
  key_hash: Buffer;
  request_hash: Buffer;
  status: number;
  body: string | null;
  headers: JSONColumnType<Record<string, string>>;
  created_at: MadeTime;
}

interface Servers {
  sid: string;
  owner_uid: string | null;
  name: string;
  ip: string;
  ensure: Ensure;
  wanted_generation: Generated<string>;
  applied_generation: Generated<string>;
  created_at: MadeTime;
}

interface Pending {
  id: string;
  type: "server_transfer" | "team_invite";
  uid: string | null;
  email: string | null;
  asked_by: string;
  detail: string;
  sid: string | null;
  tid: string | null;
  created_at: MadeTime;
  expires_at: Time;
}

interface Operations {
  oid: string;
  uid: string;
  sid: string;
  generation: string;
  type: string;
  resource_type: string;
  resource_id: string;
  created_at: MadeTime;
  started_at: Time | null;
  finished_at: Time | null;
  error_code: string | null;
  error_message: string | null;
}

interface DnsZones {
  zone_id: string;
  uid: string;
  domain: string;
  created_at: MadeTime;
}

/** What every thing on a server or website has before its own area adds to it. */
interface Hosted {
  name: string;
  ensure: Ensure;
  generation: string;
  created_at: MadeTime;
}

export interface Schema {
  plans: Plans;
  users: Users;
  sessions: Sessions;
  credentials: Credentials;
  one_time_tokens: OneTimeTokens;
  device_logins: DeviceLogins;
  teams: Teams;
  team_members: TeamMembers;
  team_servers: TeamServers;
  activity: Activity;
  logins: Logins;
  idempotency: Idempotency;
  servers: Servers;
  pending: Pending;
  operations: Operations;
  dns_zones: DnsZones;
  websites: Hosted & { wid: string; sid: string };
  databases: Hosted & { did: string; sid: string };
  database_users: Hosted & { dbuid: string; sid: string };
  ssh_keys: Hosted & { kid: string; sid: string };
  system_users: Hosted & { suid: string; sid: string };
  crons: Hosted & { cid: string; sid: string };
  ftp_accounts: Hosted & { fid: string; wid: string };
  email_accounts: Hosted & { eid: string; wid: string };
  email_forwarders: Hosted & { forwarder_id: string; wid: string };
  backups: Hosted & { backup_id: string; wid: string };
}
