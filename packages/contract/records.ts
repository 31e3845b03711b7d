/** The records of the interface by name, as the OpenAPI document shows them. */
import { DeviceGrant, Session } from "./auth.ts";
import { Backup, BackupPlan, BackupSchedule } from "./backups.ts";
import { Invoice, Plan, Subscription } from "./billing.ts";
import { Cron } from "./crons.ts";
import { Database, DatabaseUser } from "./databases.ts";
import { DnsIntegration, DnsRecord, Zone } from "./dns.ts";
import { EmailAccount, Forwarder } from "./emails.ts";
import { FtpAccount } from "./ftp.ts";
import { Key } from "./keys.ts";
import { Catalog, Version } from "./meta.ts";
import { LongOperation } from "./operations.ts";
import { DeployKey, Install, Server, ServerDescription, Service } from "./servers.ts";
import { SshKey } from "./ssh_keys.ts";
import { Certificate } from "./ssl.ts";
import { SystemUser } from "./system_users.ts";
import { Team, TeamMember } from "./teams.ts";
import { ActivityEntry, LoginEntry, Pending, User } from "./users.ts";
import { Website, WebsiteDescription } from "./websites.ts";
import { MagicLink, WordPress } from "./wordpress.ts";

export const records = {
  User,
  LoginEntry,
  ActivityEntry,
  Pending,
  Server,
  ServerDescription,
  Service,
  Install,
  DeployKey,
  Website,
  WebsiteDescription,
  WordPress,
  MagicLink,
  Database,
  DatabaseUser,
  Certificate,
  BackupPlan,
  BackupSchedule,
  Backup,
  SshKey,
  SystemUser,
  Cron,
  FtpAccount,
  EmailAccount,
  Forwarder,
  Zone,
  DnsRecord,
  DnsIntegration,
  Team,
  TeamMember,
  Plan,
  Invoice,
  Subscription,
  Session,
  DeviceGrant,
  Key,
  Operation: LongOperation,
  Catalog,
  Version,
};
