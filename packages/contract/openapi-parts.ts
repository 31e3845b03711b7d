/** The parts of the OpenAPI document that operations share: parameters, headers, error responses and tags. */
import type { Code } from "./codes.ts";
import { type IdName, prefixes } from "./fields.ts";
import type { AreaName } from "./index.ts";

export type Json = Record<string, unknown>;

const text = (example: string, rules: Json = {}): Json => ({ schema: { type: "string", ...rules }, example });
const number = (example: number): Json => ({ schema: { type: "integer", minimum: 0 }, example });
const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

export const tags: Record<AreaName, readonly [name: string, description: string]> = {
  users: ["Users", "The account: profile, password, primary key, history."],
  servers: ["Servers", "Connected machines."],
  websites: ["Websites", "Domains, PHP version and web server of each site."],
  wordpress: ["WordPress", "WordPress on a website."],
  databases: ["Databases", "Databases and database users."],
  ssl: ["SSL", "Certificates of websites."],
  backups: ["Backups", "Backup plans, schedules and copies."],
  ssh_keys: ["SSH keys", "Public keys that may sign in to a server."],
  system_users: ["System users", "Linux accounts on a server."],
  crons: ["Cron jobs", "Commands by the clock."],
  ftp: ["FTP", "FTP accounts of a website."],
  emails: ["Email", "Mailboxes and forwarders of a website."],
  dns: ["DNS", "Zones and records at the linked provider."],
  teams: ["Teams", "Sharing servers with others."],
  billing: ["Billing", "Plans, invoices and the subscription."],
  auth: ["Sign-in", "Sign-up, sign-in and lost passwords."],
  keys: ["API keys", "Keys beside the primary one."],
  pending: ["Confirmations", "Answers to server transfers and team invitations."],
  operations: ["Operations", "Progress of long work."],
  meta: ["Installation", "What this installation offers."],
};

const pathNames: Record<string, readonly [of: IdName, description: string]> = {
  uid: ["uid", "The acting user, who must own the credential."],
  sid: ["sid", "The server."],
  wid: ["wid", "The website."],
  did: ["did", "The database."],
  dbuid: ["dbuid", "The database user."],
  kid: ["kid", "The SSH key."],
  suid: ["suid", "The system user."],
  cid: ["cid", "The cron job."],
  fid: ["fid", "The FTP account."],
  eid: ["eid", "The email account."],
  zone_id: ["zone_id", "The DNS zone."],
  record_id: ["record_id", "The DNS record."],
  tid: ["tid", "The team."],
  member_uid: ["uid", "The member."],
  backup_id: ["backup_id", "The backup."],
  forwarder_id: ["forwarder_id", "The forwarder."],
  pending_id: ["pending_id", "The pending confirmation."],
  key_id: ["key_id", "The API key."],
  oid: ["oid", "The operation."],
};

/** Identifiers are opaque to clients, so the schema does not repeat their form. */
export const pathParameters: Json = Object.fromEntries(
  Object.entries(pathNames).map(([name, [of, description]]) => [
    name,
    { name, in: "path", required: true, description, ...text(`${prefixes[of]}_01jcpv1w2n9w5eph2j1v0a7q3r`, { maxLength: 64 }) },
  ]),
);

export const headerParameters = {
  IdempotencyKey: {
    name: "Idempotency-Key", in: "header", ...text("1c5f7b0e-3d0c-4a5e-9d53-0b6f0a1f2c77", { minLength: 1, maxLength: 255, pattern: "^[!-~]+$" }),
    description: "The same key with the same request gives the first answer again for 24 hours, and does nothing twice.",
  },
  Prefer: {
    name: "Prefer", in: "header", ...text("handling=strict, wait=10"),
    description: "`handling=strict` refuses unknown fields; `wait=N` (1 to 30) holds the answer up to N seconds until the operation ends.",
  },
  DryRun: {
    name: "X-Dry-Run", in: "header", ...text("true", { enum: ["true", "false"] }),
    description: "`true` checks everything, does nothing, and answers 200 with a message or the error that would have come.",
  },
  IfNoneMatch: { name: "If-None-Match", in: "header", ...text('W/"5f0c1d7e"'), description: "The ETag of an earlier answer: 304 when nothing changed." },
  IfMatch: { name: "If-Match", in: "header", ...text('W/"5f0c1d7e"'), description: "The ETag that was read: 412 when the object changed since." },
} satisfies Record<string, Json>;

export const headers = {
  "X-Request-Id": { description: "Names this request in logs.", ...text("req_01jcpv1w2n9w5eph2j1v0a7q3r") },
  "X-Error-Code": { description: "The error for programs.", ...text("validation_failed") },
  "RateLimit-Policy": { description: "The limit that counts this request.", ...text('"read";q=1200;w=60') },
  RateLimit: { description: "What is left of it, and seconds until it is full again.", ...text('"read";r=1171;t=34') },
  "Retry-After": { description: "Seconds to wait.", ...number(34) },
  "WWW-Authenticate": { description: "How to authenticate.", ...text('Bearer realm="api"') },
  "Cache-Control": { description: "`no-store` on changes and secrets, otherwise `private, no-cache`.", ...text("private, no-cache") },
  ETag: { description: "The version of what was read.", ...text('W/"5f0c1d7e"') },
  Link: { description: "Where the first, previous, next and last page are.", ...text('</api/v2/users/usr_01jcpv1w2n9w5eph2j1v0a7q3r/activity?page=2&limit=20>; rel="next"') },
  Location: { description: "The address of what was created.", ...text("/api/v2/servers/srv_01jcpv1w2n9w5eph2j1v0a7q3r/users/usr_01jcpv1w2n9w5eph2j1v0a7q3r") },
  "Operation-Location": { description: "Where progress can be read.", ...text("/api/v2/ext/operations/op_01jcpv1w2n9w5eph2j1v0a7q3r/users/usr_01jcpv1w2n9w5eph2j1v0a7q3r") },
  "Operation-Status": { description: "How far the work is.", ...text("queued", { enum: ["queued", "running", "succeeded", "failed"] }) },
  "Preference-Applied": { description: "The preferences that were honoured.", ...text("wait=10") },
  "Idempotent-Replayed": { description: "The answer of an earlier request with the same key.", ...text("true", { enum: ["true"] }) },
  "X-Ignored-Fields": { description: "Fields of the body that this operation does not know.", ...text("colour") },
  "X-Warnings": { description: "Accepted, but look at this.", ...text("The certificate does not cover shop.example.com.") },
} satisfies Record<string, Json>;
export type HeaderName = keyof typeof headers;

export const headerRefs = (names: readonly HeaderName[]): Json => Object.fromEntries(names.map((name) => [name, ref("headers", name)]));

export const problemSchemas: Json = {
  Message: {
    type: "object", required: ["message"], description: "The body of every error, and of a dry run that would succeed.",
    properties: { message: { type: "string", description: "For people; programs read `X-Error-Code`.", examples: ["`name` is required."] } },
  },
  Problem: {
    type: "object", required: ["type", "title", "status", "detail", "instance", "message", "code", "errors"],
    description: "RFC 9457, for callers that send `Accept: application/problem+json`.",
    properties: {
      type: { type: "string", examples: ["about:blank"] },
      title: { type: "string", examples: ["Bad Request"] },
      status: { type: "integer", examples: [400] },
      detail: { type: "string", examples: ["`name` is required."] },
      instance: { type: "string", examples: ["req_01jcpv1w2n9w5eph2j1v0a7q3r"] },
      message: { type: "string", examples: ["`name` is required."] },
      code: { type: "string", examples: ["validation_failed"] },
      errors: {
        type: "array", description: "One entry for each wrong field.",
        items: {
          type: "object", required: ["field", "code", "message"],
          properties: {
            field: { type: "string", examples: ["name"] },
            code: { type: "string", examples: ["required"] },
            message: { type: "string", examples: ["`name` is required."] },
          },
        },
      },
    },
  },
};

interface Failure {
  name: string;
  title: string;
  response: Json;
}

const failure = (status: number, title: string, code: Code, message: string, more: readonly HeaderName[] = []): Failure => ({
  name: title.replaceAll(" ", ""),
  title,
  response: {
    description: title,
    headers: headerRefs(["X-Request-Id", "X-Error-Code", "Cache-Control", ...more]),
    content: {
      "application/json": { schema: ref("schemas", "Message"), example: { message } },
      "application/problem+json": {
        schema: ref("schemas", "Problem"),
        example: { type: "about:blank", title, status, detail: message, instance: "req_01jcpv1w2n9w5eph2j1v0a7q3r", message, code, errors: [] },
      },
    },
  },
});

const counted = ["RateLimit-Policy", "RateLimit"] as const;

/** With `X-Dry-Run`, where the operation itself would answer with another status. */
export const dryRun: Json = {
  description: "Dry run: the request would succeed.",
  headers: headerRefs(["X-Request-Id", ...counted, "Cache-Control"]),
  content: { "application/json": { schema: ref("schemas", "Message"), example: { message: "Dry run: the request would succeed." } } },
};

/** One for each status that an operation may answer besides success. */
export const failures: Record<string, Failure> = {
  304: { name: "NotModified", title: "Not Modified", response: { description: "Not Modified", headers: headerRefs(["X-Request-Id", "ETag", "Cache-Control"]) } },
  400: failure(400, "Bad Request", "validation_failed", "`name` is required.", counted),
  401: failure(401, "Unauthorized", "unauthenticated", "No valid API key was supplied.", ["WWW-Authenticate"]),
  403: failure(403, "Forbidden", "uid_mismatch", "This API key cannot act for that user.", counted),
  404: failure(404, "Not Found", "not_found", "Server not found.", counted),
  409: failure(409, "Conflict", "name_taken", "A database named `shop` already exists on this server.", [...counted, "Retry-After"]),
  412: failure(412, "Precondition Failed", "precondition_failed", "The object changed since it was read.", counted),
  429: failure(429, "Too Many Requests", "rate_limited", "Too many requests", [...counted, "Retry-After"]),
  500: failure(500, "Internal Server Error", "internal", "Internal server error.", ["Retry-After"]),
};
