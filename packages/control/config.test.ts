import { expect, test } from "vitest";
import { ConfigProblems, readConfig } from "./config.ts";

const right = {
  DATABASE_URL: "postgres://stead:secret@127.0.0.1:5432/stead",
  STEAD_BASE_URL: "https://panel.example.com",
  STEAD_TLS: "proxy",
  STEAD_TRUST_PROXY: "127.0.0.1",
};

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigProblems) return error.problems;
    throw error;
  }
}

test("the least that is needed gives the documented defaults", () => {
  const { quotas, ...config } = readConfig(right);
  expect(config).toEqual({
    database_url: right.DATABASE_URL,
    database_connections: 10,
    bind: { host: "0.0.0.0", port: 8443 },
    internal_bind: { host: "127.0.0.1", port: 9090 },
    http_bind: null,
    base_url: "https://panel.example.com",
    tls: { mode: "proxy", trusted: ["127.0.0.1"] },
    cors_origins: [],
    mail: null,
    signup: "open",
    plans: "self-hosted",
    revoke_exposed_keys: false,
    commit: null,
  });
  expect(quotas.read).toEqual({ quota: 1200, window_s: 60 });
});

test("nothing at all names everything that is required, at once", () => {
  expect(problemsOf({}).map((problem) => problem.split(" ")[0])).toEqual(["DATABASE_URL", "STEAD_BASE_URL", "STEAD_TLS"]);
});

test("every problem of a bad environment is told at once", () => {
  const bad = {
    DATABASE_URL: "mysql://x",
    STEAD_DATABASE_CONNECTIONS: "many",
    STEAD_BIND: "everywhere",
    STEAD_INTERNAL_BIND: "127.0.0.1",
    STEAD_HTTP_BIND: "localhost:80",
    STEAD_BASE_URL: "panel.example.com",
    STEAD_TLS: "yes",
    STEAD_CORS_ORIGINS: "*",
    STEAD_RATE_PROFILE: "loose",
    STEAD_RATE_LIMITS: "everything=1/1",
    STEAD_SMTP_URL: "mail.example.com",
    STEAD_SIGNUP: "closed",
    STEAD_PLANS: "free",
    STEAD_REVOKE_EXPOSED_KEYS: "maybe",
  };
  const named = new Set(problemsOf(bad).map((problem) => problem.split(" ")[0]));
  expect(named).toEqual(new Set([...Object.keys(bad), "STEAD_MAIL_FROM"]));
  expect(new ConfigProblems(problemsOf(bad)).message).not.toContain("undefined");
});

/** Each setting with a value that works and what becomes of it, or one that is refused and what is said. */
test.each<[Record<string, string>, object]>([
  [{ DATABASE_URL: "postgresql://stead@db/stead" }, { database_url: "postgresql://stead@db/stead" }],
  [{ STEAD_DATABASE_CONNECTIONS: "2" }, { database_connections: 2 }],
  [{ STEAD_DATABASE_CONNECTIONS: " 500 " }, { database_connections: 500 }],
  [{ STEAD_BIND: "[::]:443" }, { bind: { host: "::", port: 443 } }],
  [{ STEAD_INTERNAL_BIND: "10.0.0.1:0" }, { internal_bind: { host: "10.0.0.1", port: 0 } }],
  [{ STEAD_HTTP_BIND: "0.0.0.0:80" }, { http_bind: { host: "0.0.0.0", port: 80 } }],
  [{ STEAD_HTTP_BIND: "  " }, { http_bind: null }],
  [{ STEAD_BASE_URL: "https://example.com/panel/" }, { base_url: "https://example.com/panel" }],
  [{ STEAD_TLS: "direct", STEAD_TLS_CERT: "/c.pem", STEAD_TLS_KEY: "/k.pem" }, { tls: { mode: "direct", cert_file: "/c.pem", key_file: "/k.pem" } }],
  [{ STEAD_TRUST_PROXY: "10.0.0.0/8, 2001:db8::/32,192.0.2.1" }, { tls: { mode: "proxy", trusted: ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"] } }],
  [{ STEAD_CORS_ORIGINS: "https://app.example.com, http://localhost:5173" }, { cors_origins: ["https://app.example.com", "http://localhost:5173"] }],
  [
    { STEAD_SMTP_URL: "smtps://u:p@mail.example.com:465", STEAD_MAIL_FROM: "Stead <stead@example.com>" },
    { mail: { url: "smtps://u:p@mail.example.com:465", from: "Stead <stead@example.com>" } },
  ],
  [{ STEAD_SIGNUP: "invited" }, { signup: "invited" }],
  [{ STEAD_PLANS: "service" }, { plans: "service" }],
  [{ STEAD_REVOKE_EXPOSED_KEYS: "true" }, { revoke_exposed_keys: true }],
  [{ STEAD_COMMIT: "abc123" }, { commit: "abc123" }],
  [
    { STEAD_RATE_PROFILE: "strict", STEAD_RATE_LIMITS: "write=7/9" },
    { quotas: expect.objectContaining({ read: { quota: 240, window_s: 60 }, write: { quota: 7, window_s: 9 } }) },
  ],
  [{ STEAD_INSECURE_HTTP: "1", STEAD_BIND: "127.0.0.1:8080" }, { tls: { mode: "insecure" } }],
  [{ STEAD_BASE_URL: "http://localhost:8080" }, { base_url: "http://localhost:8080" }],
  [{ STEAD_INSECURE_HTTP: "1", STEAD_BIND: "[::1]:8080" }, { tls: { mode: "insecure" } }],
])("%j is taken", (env, expected) => {
  expect(readConfig({ ...right, ...env })).toMatchObject(expected);
});

test.each<[Record<string, string>, string]>([
  [{ DATABASE_URL: "" }, "DATABASE_URL must be a PostgreSQL address"],
  [{ DATABASE_URL: "postgres://stead:a/b@db/stead" }, "write special characters of the password as %XX"],
  [{ STEAD_DATABASE_CONNECTIONS: "1" }, "STEAD_DATABASE_CONNECTIONS must be a whole number from 2 to 500"],
  [{ STEAD_DATABASE_CONNECTIONS: "501" }, "STEAD_DATABASE_CONNECTIONS"],
  [{ STEAD_DATABASE_CONNECTIONS: "2.5" }, "STEAD_DATABASE_CONNECTIONS"],
  [{ STEAD_BIND: "0.0.0.0:65536" }, "STEAD_BIND must be an address and a port"],
  [{ STEAD_BIND: "stead.example.com:443" }, 'it is "stead.example.com:443"'],
  [{ STEAD_BASE_URL: "https://panel.example.com/?a=b" }, "STEAD_BASE_URL must be the public address"],
  [{ STEAD_BASE_URL: "ftp://panel.example.com" }, "STEAD_BASE_URL"],
  [{ STEAD_BASE_URL: "https://me:secret@panel.example.com" }, "STEAD_BASE_URL"],
  [{ STEAD_BASE_URL: "http://panel.example.com" }, "STEAD_BASE_URL"],
  [{ STEAD_TLS: "direct" }, "STEAD_TLS_CERT and STEAD_TLS_KEY must name the PEM files"],
  [{ STEAD_TLS: "direct", STEAD_TLS_CERT: "/c.pem" }, "STEAD_TLS_CERT and STEAD_TLS_KEY"],
  [{ STEAD_TRUST_PROXY: "" }, "STEAD_TRUST_PROXY must list the addresses of your proxy"],
  [{ STEAD_TRUST_PROXY: "10.0.0.0/8,proxy" }, '"proxy" is not one'],
  [{ STEAD_TRUST_PROXY: "10.0.0.0/33" }, "STEAD_TRUST_PROXY"],
  [{ STEAD_CORS_ORIGINS: "https://app.example.com/" }, "STEAD_CORS_ORIGINS must list exact origins"],
  [{ STEAD_CORS_ORIGINS: "https://app.example.com,null" }, '"null" is not one'],
  [{ STEAD_SMTP_URL: "smtp://mail.example.com" }, "STEAD_MAIL_FROM must be set"],
  [{ STEAD_SMTP_URL: "http://mail.example.com", STEAD_MAIL_FROM: "a@example.com" }, "STEAD_SMTP_URL"],
  [{ STEAD_MAIL_FROM: "a@example.com" }, "STEAD_SMTP_URL"],
  [{ STEAD_RATE_LIMITS: "read=0/60" }, "STEAD_RATE_LIMITS must be a list such as"],
  [{ STEAD_RATE_LIMITS: "read=10" }, "STEAD_RATE_LIMITS"],
  [{ STEAD_RATE_LIMITS: "constructor=10/1" }, "STEAD_RATE_LIMITS"],
  [{ STEAD_SIGNUP: "Open" }, "STEAD_SIGNUP must be one of open, invited"],
  [{ STEAD_INSECURE_HTTP: "1" }, "STEAD_INSECURE_HTTP is honoured only for development"],
  [{ STEAD_INSECURE_HTTP: "1", STEAD_BIND: "127.0.0.1:1", NODE_ENV: "production" }, "STEAD_INSECURE_HTTP"],
  [{ STEAD_INSECURE_HTTP: "yes" }, "STEAD_INSECURE_HTTP"],
])("%j is refused, by name", (env, said) => {
  expect(problemsOf({ ...right, ...env }).join("\n")).toContain(said);
});

test("a problem never quotes a secret", () => {
  const said = problemsOf({ ...right, DATABASE_URL: "postgre://stead:hunter2@db/stead", STEAD_SMTP_URL: "smpt://u:hunter2@mail" }).join("\n");
  expect(said).not.toContain("hunter2");
});
