/**
 * The vocabulary of what runs on servers: the other half of `fields.ts`.
 *
 * A pattern gives the grammar, and no pattern looks ahead or behind, so that engines without that
 * (Go, Rust) can use it. Lists of reserved names and everything else a pattern cannot say is a format.
 */
import Type from "typebox";
import { example } from "./example.ts";
import { count, oneOf, text } from "./fields.ts";

/** Every named format of the contract, and what the process that checks it must hold true. */
export const formats = {
  "date-time": "RFC 3339 date and time",
  date: "RFC 3339 full date",
  cidr: "IPv4 or IPv6 network with prefix length, host bits zero",
  "public-ipv4": "dotted quad without leading zeros, outside every private, shared, loopback, link-local, benchmark, multicast and reserved range; documentation ranges are allowed unless the installation says otherwise",
  "iana-timezone": "exact name of a Zone or Link of the bundled tzdata, or `UTC`",
  "domain-name": "after UTS 46 (non-transitional): at most 253 characters, two labels or more, each a letter-digit-hyphen label; not an IP address, not a public suffix, no wildcard; one trailing dot may be there",
  "registrable-domain": "a domain-name that is exactly one label below a public suffix",
  "database-name": "not one of `reservedDatabaseNames`, in any case",
  "database-username": "not one of `reservedDatabaseUsers`, in any case",
  "system-username": "not one of `reservedSystemUsers`, and not beginning with `systemd-`",
  "cron-user": "a system-username, or `root`",
  "cron-schedule": "five fields, or an @-word, of numbers, names, ranges, lists and steps; no seconds, years, `L`, `W`, `#`, `?` or `H`; a date that never comes is refused",
  "ssh-public-key": "one line of type, base64 blob and optional comment; a known type, the blob parses fully and names the same type, RSA of 2048 bits or more",
  "pem-certificate": "one to ten PEM blocks CERTIFICATE that parse",
  "pem-private-key": "one unencrypted PEM block, PKCS#8, PKCS#1 or SEC 1, that parses",
  "mail-address": "local part of at most 64 characters, and a domain with a dot",
  "mail-source": "a mail-address, or `@` and a domain for every address of it",
} as const;

// Servers

export const Ip = text({ maxLength: 15, format: "public-ipv4", says: "must be a public IPv4 address" }, "203.0.113.10");
export const knownProviders = ["digitalocean", "hetzner", "linode", "vultr", "aws", "gcp", "azure", "ovh", "upcloud", "scaleway", "custom", "sandbox"] as const;
export const ProviderSlug = text(
  { pattern: "^[a-z0-9][a-z0-9-]{0,31}$", says: "must be 1 to 32 lower-case letters, digits and hyphens, such as hetzner" },
  "hetzner",
);
/** What can be provisioned; any other well-formed slug is taken, and provisioning then says why it failed. */
export const supportedSystems = ["ubuntu-22.04", "ubuntu-24.04", "ubuntu-26.04", "debian-12", "debian-13"] as const;
export const OsSlug = text({ pattern: "^[a-z0-9][a-z0-9.-]{0,31}$", says: "must be 1 to 32 lower-case letters, digits, dots and hyphens, such as debian-13" }, "debian-13");
export const Timezone = text({ minLength: 1, maxLength: 64, format: "iana-timezone", says: "must be an IANA time zone such as Europe/Berlin" }, "Europe/Berlin");

/** Versions and the last day of their support, or null while that day is not set. */
export const phpVersions = {
  "7.4": "2022-11-28",
  "8.0": "2023-11-26",
  "8.1": "2025-12-31",
  "8.2": "2026-12-31",
  "8.3": "2027-12-31",
  "8.4": "2028-12-31",
  "8.5": "2029-12-31",
} as const;
export type PhpVersionName = keyof typeof phpVersions;
export const defaultPhpVersion: PhpVersionName = "8.4";
const phpVersionNames = Object.keys(phpVersions) as [PhpVersionName, ...PhpVersionName[]];
export const PhpVersion = oneOf(phpVersionNames, defaultPhpVersion);

// Websites

export const stacks = ["nginx", "apache", "ols"] as const;
export const Stack = oneOf(stacks);
export const DomainName = text({ minLength: 1, maxLength: 254, format: "domain-name", says: "must be a domain name such as www.example.com" }, "www.example.com");
export const Domains = Type.Array(DomainName, { minItems: 1, maxItems: 50, says: "must be a list of 1 to 50 domain names" });

// Accounts on the server

/** Passwords of services: what every daemon and client program takes. */
export const ServicePassword = text(
  { pattern: "^[!-~][ -~]{6,126}[!-~]$", says: "must be 8 to 128 printable ASCII characters without a space at either end" },
  "Tangy-Orbit-41-walnut",
);
export const reservedDatabaseNames = ["mysql", "information_schema", "performance_schema", "sys", "test", "lost+found"] as const;
export const DatabaseName = text(
  { pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$", format: "database-name", says: "must be 1 to 64 letters, digits, underscores and hyphens, begin with a letter or digit, and not be a reserved name" },
  "shop",
);
export const reservedDatabaseUsers = ["root", "mysql", "mariadb.sys", "mysql.sys", "mysql.session", "mysql.infoschema", "debian-sys-maint", "stead", "stead-agent"] as const;
export const DatabaseUsername = text(
  { pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$", format: "database-username", says: "must be 1 to 32 letters, digits, underscores and hyphens, begin with a letter or digit, and not be a reserved name" },
  "shop_app",
);
export const reservedSystemUsers = [
  "root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data", "backup", "list", "irc", "nobody",
  "messagebus", "sshd", "mysql", "postgres", "redis", "nginx", "apache", "lsadm", "vmail", "postfix", "dovecot", "ubuntu", "debian", "admin",
  "stead", "stead-agent",
] as const;
const systemUserPattern = "^[a-z_][a-z0-9_-]{0,30}$";
export const SystemUsername = text(
  { pattern: systemUserPattern, format: "system-username", says: "must be 1 to 31 lower-case letters, digits, underscores and hyphens, begin with a letter or underscore, and not be a reserved name" },
  "deploy",
);
export const FtpUsername = text(
  { pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$", says: "must be 1 to 32 letters, digits, dots, underscores and hyphens, and begin with a letter or digit" },
  "shop-ftp",
);
export const SshPublicKey = text(
  { minLength: 1, maxLength: 16_384, format: "ssh-public-key", says: "must be one line in OpenSSH form: an Ed25519, ECDSA, security-key or RSA (2048 bits or more) public key" },
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHnJVGQ4Ssd7188s8AdWxtjDwzPQoKtMmVDNkBp09m9t ada@laptop",
);

// Schedules

export const CronSchedule = text(
  { minLength: 1, maxLength: 120, format: "cron-schedule", trim: true, says: "must be five cron fields such as 30 4 * * 1, or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @reboot, on a date that exists" },
  "30 4 * * 1",
);
export const CronCommand = text({ minLength: 1, maxLength: 4096, says: "must be one line of 1 to 4096 characters" }, "/usr/bin/php /home/deploy/report.php");
export const CronUser = text({ pattern: systemUserPattern, format: "cron-user", says: "must be root or the name of a system user" }, "deploy");
export const Frequency = oneOf(["daily", "weekly"]);

// Certificates

export const CertificatePem = text(
  { minLength: 1, maxLength: 65_536, format: "pem-certificate", multiline: true, says: "must be one to ten certificates in PEM form, the website's own first" },
  "-----BEGIN CERTIFICATE-----\nMIIBtjCCAVugAwIBAgITBmyf…\n-----END CERTIFICATE-----\n",
);
export const PrivateKeyPem = text(
  { minLength: 1, maxLength: 16_384, format: "pem-private-key", multiline: true, says: "must be one unencrypted private key in PEM form" },
  "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n",
);

// Mail

const localPart = "[A-Za-z0-9!#$%&'*+/=?^_{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_{|}~-]+)*";
export const MailAddress = text({ maxLength: 254, pattern: `^${localPart}@[^@ ]+$`, format: "mail-address", says: "must be an e-mail address" }, "info@example.com");
export const MailSource = text(
  { maxLength: 254, pattern: `^(${localPart})?@[^@ ]+$`, format: "mail-source", says: "must be an e-mail address, or @ and a domain for all its addresses" },
  "sales@example.com",
);
export const QuotaMb = count(2048, { minimum: 1, maximum: 1_048_576, default: 1024, says: "must be a whole number from 1 to 1048576" });

// DNS

export const dnsTypes = ["A", "AAAA", "CNAME", "MX", "TXT"] as const;
export const DnsType = oneOf(dnsTypes);
export const ZoneDomain = text({ minLength: 1, maxLength: 254, format: "registrable-domain", says: "must be a root domain such as example.com" }, "example.com");
const dnsLabel = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?";
export const RecordName = text(
  { maxLength: 253, pattern: `^(@|(\\*|${dnsLabel})(\\.${dnsLabel})*)$`, says: "must be @, a name relative to the zone, or a full name inside it" },
  "www",
);
/** The rule depends on the type and is checked with it; two characters more than a TXT may have are for its quotes. */
export const RecordContent = text(
  { minLength: 1, maxLength: 2050, description: "A: an IPv4 address. AAAA: an IPv6 address. CNAME: a host name. MX: priority and host name. TXT: up to 2048 bytes.", says: "must fit the record's type" },
  "203.0.113.10",
);
/** Without a default: a change that does not name the time to live must not reset it. */
export const Ttl = Type.Integer({ minimum: 1, maximum: 86_400, not: { type: "integer", minimum: 2, maximum: 59 }, description: "Seconds; 1 is automatic.", says: "must be 1 (automatic) or 60 to 86400", ...example(300) });
