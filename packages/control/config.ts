/**
 * Configuration, from the environment, checked once at the start. Every problem is told at once,
 * with the name of the setting and what to do, so that a person fixes it in one go.
 */
import { isIP } from "node:net";
import { isAddressRange } from "@stead/base/address.ts";
import { type LimitClass, profiles, type Quotas } from "./http/limits.ts";

export interface Config {
  readonly database_url: string;
  readonly database_connections: number;
  readonly bind: Bind;
  readonly internal_bind: Bind;
  /** A plain port that refuses the API and sends browsers to HTTPS. */
  readonly http_bind: Bind | null;
  readonly base_url: string;
  readonly tls: Tls;
  readonly cors_origins: readonly string[];
  readonly quotas: Quotas;
  readonly mail: { readonly url: string; readonly from: string } | null;
  readonly signup: "open" | "invited";
  readonly plans: "self-hosted" | "service";
  readonly revoke_exposed_keys: boolean;
  readonly commit: string | null;
}

export interface Bind {
  readonly host: string;
  readonly port: number;
}

export type Tls =
  | { readonly mode: "direct"; readonly cert_file: string; readonly key_file: string }
  | { readonly mode: "proxy"; readonly trusted: readonly string[] }
  | { readonly mode: "insecure" };

export class ConfigProblems extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

type Env = Readonly<Record<string, string | undefined>>;

export function readConfig(env: Env): Config {
  const problems: string[] = [];
  const bad = (name: string, what: string) => void problems.push(`${name} ${what}`);
  const read = (name: string) => {
    const value = env[name]?.trim();
    return value === "" ? undefined : value;
  };
  const choice = <const V extends string>(name: string, values: readonly V[], otherwise: V): V => {
    const value = read(name) ?? otherwise;
    if (!values.includes(value as V)) bad(name, `must be one of ${values.join(", ")}; it is "${value}".`);
    return value as V;
  };
  const bind = (name: string, otherwise: string): Bind => {
    const value = read(name) ?? otherwise;
    const match = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(value);
    const port = Number(match?.[2]);
    if (!match || isIP(match[1] as string) === 0 || port > 65535)
      bad(name, `must be an address and a port such as 0.0.0.0:8443 or [::]:8443; it is "${value}".`);
    return { host: match?.[1] ?? "", port };
  };

  const database_url = read("DATABASE_URL") ?? "";
  if (!/^postgres(ql)?:\/\//.test(database_url) || !URL.canParse(database_url))
    bad("DATABASE_URL", "must be a PostgreSQL address such as postgres://stead:secret@127.0.0.1:5432/stead; write special characters of the password as %XX.");
  const database_connections = Number(read("STEAD_DATABASE_CONNECTIONS") ?? "10");
  if (!Number.isInteger(database_connections) || database_connections < 2 || database_connections > 500)
    bad("STEAD_DATABASE_CONNECTIONS", "must be a whole number from 2 to 500.");

  const main = bind("STEAD_BIND", "0.0.0.0:8443");
  const base_url = (read("STEAD_BASE_URL") ?? "").replace(/\/+$/, "");
  if (!isBaseUrl(base_url)) bad("STEAD_BASE_URL", "must be the public address of this service, such as https://panel.example.com.");

  const cors_origins = words(read("STEAD_CORS_ORIGINS"));
  for (const origin of cors_origins)
    if (origin === "*" || !isOrigin(origin))
      bad("STEAD_CORS_ORIGINS", `must list exact origins such as https://app.example.com, without *; "${origin}" is not one.`);

  const mailUrl = read("STEAD_SMTP_URL");
  const mailFrom = read("STEAD_MAIL_FROM");
  if (mailUrl && !/^smtps?:\/\//.test(mailUrl)) bad("STEAD_SMTP_URL", "must be an address such as smtps://user:secret@mail.example.com:465.");
  if (mailFrom && !mailUrl)
    bad("STEAD_SMTP_URL", "must be set when STEAD_MAIL_FROM is: without a mail server nothing is sent, and every address counts as verified.");
  if (mailUrl && !mailFrom) bad("STEAD_MAIL_FROM", "must be set when STEAD_SMTP_URL is: it is the sender of every message.");

  const config: Config = {
    database_url,
    database_connections,
    bind: main,
    internal_bind: bind("STEAD_INTERNAL_BIND", "127.0.0.1:9090"),
    http_bind: read("STEAD_HTTP_BIND") ? bind("STEAD_HTTP_BIND", "") : null,
    base_url,
    tls: readTls(read, bad, main),
    cors_origins,
    quotas: readQuotas(choice("STEAD_RATE_PROFILE", ["default", "strict"], "default"), read("STEAD_RATE_LIMITS"), bad),
    mail: mailUrl && mailFrom ? { url: mailUrl, from: mailFrom } : null,
    signup: choice("STEAD_SIGNUP", ["open", "invited"], "open"),
    plans: choice("STEAD_PLANS", ["self-hosted", "service"], "self-hosted"),
    revoke_exposed_keys: choice("STEAD_REVOKE_EXPOSED_KEYS", ["true", "false"], "false") === "true",
    commit: read("STEAD_COMMIT") ?? null,
  };
  if (problems.length > 0) throw new ConfigProblems(problems);
  return config;
}

type Read = (name: string) => string | undefined;
type Bad = (name: string, what: string) => void;

function readTls(read: Read, bad: Bad, bind: Bind): Tls {
  const loopback = bind.host === "::1" || bind.host.startsWith("127.");
  const insecure = read("STEAD_INSECURE_HTTP") ?? "0";
  if (insecure !== "0" && insecure !== "1") bad("STEAD_INSECURE_HTTP", `must be 1, or not set; it is "${insecure}".`);
  if (insecure === "1") {
    if (!loopback || read("NODE_ENV") === "production")
      bad("STEAD_INSECURE_HTTP", "is honoured only for development: STEAD_BIND must be a loopback address and NODE_ENV not production.");
    return { mode: "insecure" };
  }
  const mode = read("STEAD_TLS");
  if (mode === "direct") {
    const cert_file = read("STEAD_TLS_CERT") ?? "";
    const key_file = read("STEAD_TLS_KEY") ?? "";
    if (!cert_file || !key_file)
      bad("STEAD_TLS_CERT and STEAD_TLS_KEY", "must name the PEM files of the certificate chain and its private key when STEAD_TLS is direct.");
    return { mode, cert_file, key_file };
  }
  if (mode === "proxy") {
    const trusted = words(read("STEAD_TRUST_PROXY"));
    if (trusted.length === 0) bad("STEAD_TRUST_PROXY", "must list the addresses of your proxy, such as 127.0.0.1,10.0.0.0/8, when STEAD_TLS is proxy.");
    for (const cidr of trusted) if (!isAddressRange(cidr)) bad("STEAD_TRUST_PROXY", `must list addresses or CIDR ranges; "${cidr}" is not one.`);
    return { mode, trusted };
  }
  bad("STEAD_TLS", 'must be "direct" (this process has the certificate) or "proxy" (a proxy in front has it).');
  return { mode: "insecure" };
}

/** `read=1200/60,flood=500/1` over the profile. */
function readQuotas(profile: "default" | "strict", overrides: string | undefined, bad: Bad): Quotas {
  const quotas: Record<string, { quota: number; window_s: number }> = { ...(profiles[profile] ?? profiles.default) };
  for (const word of words(overrides)) {
    const match = /^([a-z]+)=([1-9]\d{0,8})\/([1-9]\d{0,5})$/.exec(word);
    if (!match || !Object.hasOwn(quotas, match[1] as string))
      bad("STEAD_RATE_LIMITS", `must be a list such as read=1200/60,write=300/60 of the classes ${Object.keys(quotas).join(", ")}; "${word}" does not fit.`);
    else quotas[match[1] as LimitClass] = { quota: Number(match[2]), window_s: Number(match[3]) };
  }
  return quotas as Record<LimitClass, { quota: number; window_s: number }>;
}

const words = (text: string | undefined): string[] =>
  (text ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

/** Mails link to it, so it is HTTPS, except for a service that only this machine reaches. */
function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, search, hash } = new URL(text);
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return (protocol === "https:" || (protocol === "http:" && loopback)) && `${username}${search}${hash}` === "" && !/[?#]$/.test(text);
}
