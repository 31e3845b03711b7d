/** The contract against the 70 operations of the interface, and against its own rules. */
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { exampleOf } from "./example.ts";
import { keywords } from "./fields.ts";
import { formats } from "./fields-hosting.ts";
import { everyOperation } from "./index.ts";
import { grants, type Operation, paramsOf } from "./operation.ts";

interface Row {
  operation: string;
  method: string;
  path: string;
  status: number;
  body: string;
  response: string;
}
const rows: Row[] = JSON.parse(readFileSync(new URL("../testkit/data/operations.json", import.meta.url), "utf8"));

interface Shape {
  type?: string;
  enum?: unknown[];
  examples?: unknown[];
  anyOf?: Shape[];
  items?: Shape;
  properties?: Record<string, Shape>;
  required?: string[];
  format?: string;
  pattern?: string;
  maxLength?: number;
  says?: string;
}

const find = (row: Row) => everyOperation.filter(({ op }) => op.method === row.method && `/api/v2${op.path}` === row.path);
const the = (row: Row): Operation => {
  const [found] = find(row);
  if (!found) throw new Error(`${row.method} ${row.path} is not in the contract`);
  return found.op;
};

/** Records by the words that the tables use for them. */
const records: Record<string, string> = {
  user: "uid, email, first_name, last_name, phone, role, plan, verified, created_at",
  "server list view": "sid, name, ip, status, php_cli_version",
  "server detail view": "sid, name, ip, os, status, timezone, php_cli_version, created_at",
  "login entries": "id, ip, country, created_at",
  "activity entries": "id, action, detail, created_at",
  "pending confirmation": "id, type, detail, created_at",
  certificate: "wid, type, status, domains, issuer, serial, fingerprint, not_before, not_after, auto_renew",
  "backup plan": "plan_id, name, description, frequencies, default_frequency, retention_count, storage, price, currency, available",
  "backup schedule": "wid, plan_id, frequency, status, next_run_at, created_at",
  backup: "backup_id, wid, kind, status, size_bytes, includes, created_at, completed_at, expires_at",
  "SSH key": "kid, label, public_key, type, fingerprint, user, created_at",
  "system user": "suid, username, home, shell, sudo, status, created_at",
  "cron job": "cid, schedule, command, user, enabled, next_run_at, last_run_at, last_exit_code, created_at",
  "FTP account": "fid, username, directory, status, created_at",
  "email account": "eid, email, quota_mb, used_mb, status, created_at",
  forwarder: "forwarder_id, source, destination, created_at",
  "DNS zone": "zone_id, domain, status, name_servers, created_at",
  "DNS record": "record_id, zone_id, type, name, content, priority, ttl, created_at",
  team: "tid, name, owner_uid, role, members, servers, created_at",
  "subscription plan": "plan_id, name, description, price, currency, interval, limits, features",
  invoice: "invoice_id, number, status, amount, amount_paid, currency, period_start, period_end, due_at, paid_at, pdf_url, created_at",
  subscription: "plan_id, status, current_period_start, current_period_end, pending_plan_id",
};

/** Replies that the tables do not show. */
const settled: Record<string, string> = {
  "Generate magic login link": "{data:{url, expires_at}}",
  "Upload custom certificate": "{data: certificate}",
  "Remove certificate": "{message}",
  "Renew free certificate": "{message}",
  "List backup plans": "{data:[backup plan]}",
  "Enable backups": "{data: backup schedule}",
  "Trigger manual backup": "{data: backup}",
  "Restore backup": "{message}",
  "List SSH keys": "{data:[SSH key]}",
  "Add SSH key": "{data: SSH key}",
  "Delete SSH key": "{message}",
  "Create system user": "{data: system user}",
  "List system users": "{data:[system user]}",
  "Delete system user": "{message}",
  "Create server cron": "{data: cron job}",
  "List server crons": "{data:[cron job]}",
  "Delete server cron": "{message}",
  "Create FTP account": "{data: FTP account}",
  "List FTP accounts": "{data:[FTP account]}",
  "Delete FTP account": "{message}",
  "Create email account": "{data: email account}",
  "List email accounts": "{data:[email account]}",
  "Delete email account": "{message}",
  "Add email forwarder": "{data: forwarder}",
  "Add zone": "{data: DNS zone}",
  "Create DNS record": "{data: DNS record}",
  "List DNS records": "{data:[DNS record]}",
  "Purge cache": "{message}",
  "Create team": "{data: team}",
  "List teams": "{data:[team]}",
  "Add member": "{message}",
  "Add server to team": "{message}",
  "List plans": "{data:[subscription plan]}",
  "List invoices": "{data:[invoice]}",
  "Upgrade plan": "{data: subscription}",
};

/** `{data:[…]}` or "paginated list of …" as envelope and field names. */
function expectedReply(row: Row): { envelope: string[]; isList: boolean; fields: string[] } {
  const shape = /`(\{.*\})`/.exec(row.response)?.[1] ?? /paginated list of .*/.exec(row.response)?.[0] ?? settled[row.operation];
  if (!shape) throw new Error(`No reply is known for "${row.operation}"`);
  if (shape === "{message}") return { envelope: ["message"], isList: false, fields: [] };
  const pageOf = /^paginated list of (.*)$/.exec(shape)?.[1];
  const inner = pageOf ?? shape.replace(/^\{data:\s*/, "").replace(/\}$/, "");
  const isList = pageOf !== undefined || inner.startsWith("[");
  const record = inner.replace(/^\[|\]$/g, "");
  const names = record.startsWith("{") ? record.slice(1, -1) : records[record];
  if (names === undefined) throw new Error(`No fields are known for "${record}"`);
  return { envelope: pageOf ? ["data", "total", "page", "limit"] : ["data"], isList, fields: names.split(",").map((name) => name.replace(/:.*/, "").trim()) };
}

/** `required: name (string), …; optional: …` as names and types. */
function expectedBody(row: Row) {
  const [required = "", optional = ""] = row.body.split("optional:");
  const fields = (part: string) => [...part.matchAll(/(\w+) \((string\[\]|string|integer|`)/g)].map(([, name, type]) => [name, type] as const);
  return { required: fields(required), optional: fields(optional) };
}

const typeOf = (schema: Shape): string => (schema.enum ? "`" : schema.type === "array" ? `${schema.items?.type}[]` : `${schema.type}`);

describe("the 70 operations", () => {
  test("there are 70, and each is in the contract once", () => {
    expect(rows).toHaveLength(70);
    for (const row of rows) expect(find(row), `${row.method} ${row.path}`).toHaveLength(1);
    expect(everyOperation.filter(({ op }) => !op.extension)).toHaveLength(70);
  });

  test.for(rows)("$operation: $method $path", (row) => {
    const op = the(row);
    expect(op.extension).toBe(false);
    expect(op.status).toBe(row.status);

    const { envelope, isList, fields } = expectedReply(row);
    const reply = op.reply as Shape;
    expect(Object.keys(reply.properties ?? {})).toEqual(envelope);
    expect(reply.required).toEqual(envelope);
    const inside = reply.properties?.data;
    if (fields.length > 0) {
      expect(inside?.type).toBe(isList ? "array" : "object");
      const record = isList ? inside?.items : inside;
      expect(Object.keys(record?.properties ?? {})).toEqual(fields);
      expect(record?.required).toEqual(fields);
    }

    const { required, optional } = expectedBody(row);
    const body = op.body as Shape | undefined;
    const properties = body?.properties ?? {};
    expect(Object.keys(properties)).toEqual([...required, ...optional].map(([name]) => name));
    expect(body?.required ?? []).toEqual(required.map(([name]) => name));
    for (const [name, type] of [...required, ...optional])
      expect([name, typeOf(properties[name as string] as Shape).replace("`", "string")]).toEqual([name, type?.replace("`", "string")]);

    const query = Object.keys(op.query?.properties ?? {});
    if (row.body === "query page, limit") expect(query.slice(0, 2)).toEqual(["page", "limit"]);
    else expect(query).toEqual([]);
  });

  test("confirmations use the settled texts", () => {
    const texts = [
      "Password changed.",
      "Account deleted.",
      "Server deleted.",
      "Reboot scheduled.",
      "Transfer started. The recipient has 7 days to accept.",
      "Domains removed.",
      "WordPress installation started.",
      "WordPress removal started.",
      "Database deleted.",
      "Database user deleted.",
      "User assigned to the database.",
      "Certificate issuance started.",
      "Certificate removed.",
      "Certificate renewal started.",
      "Restore started.",
      "SSH key deleted.",
      "System user deleted.",
      "Cron job deleted.",
      "FTP account deleted.",
      "Email account deleted.",
      "Cache purge started.",
      "Invitation sent.",
      "Server added to the team.",
    ];
    const used = everyOperation.filter(({ op }) => !op.extension).flatMap(({ op }) => (op.reply as Shape).properties?.message?.examples ?? []);
    expect(new Set(used)).toEqual(new Set(texts));
  });
});

describe("every operation", () => {
  const named = everyOperation.map(({ name, op }) => [name, op] as const);

  test("no two share method and path", () => {
    const addresses = everyOperation.map(({ op }) => `${op.method} ${op.path.replace(/\{\w+\}/g, "{}")}`);
    expect(addresses.filter((address, at) => addresses.indexOf(address) !== at)).toEqual([]);
  });

  test("five GETs change things, and every other method does", () => {
    expect(everyOperation.filter(({ op }) => op.method === "GET" && op.effect === "change").map(({ name }) => name)).toEqual([
      "servers.reboot",
      "wordpress.create",
      "wordpress.delete",
      "wordpress.magic_link",
      "dns.purge_cache",
    ]);
    expect(everyOperation.filter(({ op }) => op.method !== "GET" && op.effect !== "change")).toEqual([]);
  });

  test("the strict rate classes hold exactly what they should", () => {
    const of = (rate: string) => everyOperation.filter(({ op }) => op.rate === rate).map(({ name }) => name);
    expect(of("sensitive")).toEqual([
      "users.change_password",
      "users.delete",
      "users.regenerate_api_key",
      "servers.transfer",
      "wordpress.magic_link",
      "dns.purge_cache",
      "auth.device_approve",
    ]);
    expect(of("acme")).toEqual(["ssl.install_free", "ssl.renew"]);
    expect(of("auth")).toEqual(everyOperation.filter(({ op }) => op.scope === "open" && op.effect === "change").map(({ name }) => name));
    expect(of("read")).toEqual(everyOperation.filter(({ op }) => op.effect === "read").map(({ name }) => name));
  });

  test.for(named)("%s: what is not of the 70 lives under /ext", ([, op]) => {
    const listed = rows.some((row) => row.method === op.method && row.path === `/api/v2${op.path}`);
    expect(op.path.startsWith("/ext/")).toBe(!listed);
    expect(op.extension).toBe(!listed);
  });

  test.for(named)("%s: scope agrees with the path", ([, op]) => {
    const params = paramsOf(op.path);
    const leads: [string, string][] = [
      ["tid", "team"],
      ["zone_id", "zone"],
      ["wid", "website"],
      ["sid", "server"],
      ["uid", "user"],
    ];
    const lead = leads.find(([param]) => params.includes(param));
    if (lead) expect(op.scope).toBe(lead[1]);
    else expect(["open", "key"]).toContain(op.scope);
    expect(new Set(params).size).toBe(params.length);
  });

  test.for(named)("%s: rights, class and role fit its effect", ([name, op]) => {
    if (op.effect === "change") expect(op.needs).not.toMatch(/:read$/);
    else expect(op.class === "done" || op.class === "external").toBe(true);
    if (op.effect === "change" && ["server", "website"].includes(op.scope)) expect(op.role).not.toBe("viewer");
    expect(op.faults.includes("owner_only")).toBe(op.role === "owner");
    if (op.scope === "open") expect(op.needs).toBe("any");
    if (!["any", "full"].includes(op.needs)) expect(grants).toContain(op.needs);
    if (op.match) expect(everyOperation.map((other) => other.name)).toContain(op.match);
    if (op.secret && op.effect === "change" && op.scope !== "open") expect(op.faults, name).toContain("already_performed");
    expect(new Set(op.faults).size).toBe(op.faults.length);
  });
});

describe("every schema", () => {
  const ajv = new Ajv2020({ strict: true, allErrors: true, validateFormats: false, keywords: [...keywords] });

  interface Place {
    at: string;
    schema: Shape;
    input: boolean;
  }
  /** Every property and every list item, however deep; what has no parts of its own is a leaf. */
  function* places(at: string, schema: Shape, input: boolean): Generator<Place> {
    yield { at, schema, input };
    if (schema.items) yield* places(`${at}[]`, schema.items, input);
    for (const part of schema.anyOf ?? []) yield* places(at, part, input);
    for (const [name, part] of Object.entries(schema.properties ?? {})) yield* places(`${at}.${name}`, part, input);
  }
  const all = everyOperation.flatMap(({ name, op }) => [
    ...(op.body ? places(`${name} body`, op.body as Shape, true) : []),
    ...(op.query ? places(`${name} query`, op.query as Shape, true) : []),
    ...places(`${name} reply`, op.reply as Shape, false),
  ]);
  const leaves = all.filter(({ schema }) => !schema.properties && !schema.items && schema.type !== "null");

  test("shows an example in every leaf", () => {
    expect(leaves.length).toBeGreaterThan(500);
    expect(leaves.filter(({ schema }) => schema.examples?.length !== 1).map(({ at }) => at)).toEqual([]);
  });

  test("agrees with its own example", () => {
    const wrong = all.flatMap(({ at, schema }) => {
      const check = ajv.compile(schema);
      return [exampleOf(schema), ...(schema.examples ?? [])].flatMap((value) =>
        schema.type === "null" || check(value) ? [] : [`${at}: ${ajv.errorsText(check.errors)}`],
      );
    });
    expect(wrong).toEqual([]);
  });

  test("compiles as strictly as the service compiles it, and takes its own example", () => {
    const strict = new Ajv2020({
      strict: true,
      useDefaults: true,
      allErrors: true,
      formats: Object.fromEntries(Object.keys(formats).map((name) => [name, true])),
      keywords: [...keywords],
    });
    const refused = everyOperation.flatMap(({ name, op }) =>
      [op.body, op.query].filter((schema) => schema !== undefined && !strict.validate(schema, exampleOf(schema))).map(() => `${name}: ${strict.errorsText()}`),
    );
    expect(refused).toEqual([]);
  });

  const inputs = leaves.filter(({ input }) => input);

  test("bounds every text that comes in", () => {
    const unbounded = inputs.filter(
      ({ schema }) => schema.type === "string" && !schema.enum && schema.maxLength === undefined && !schema.pattern && !schema.format,
    );
    expect(unbounded.map(({ at }) => at)).toEqual([]);
  });

  test("puts the rule of every input in words", () => {
    expect(inputs.filter(({ schema }) => !schema.says).map(({ at }) => at)).toEqual([]);
  });

  test("uses only formats that are written down, and all of them", () => {
    const used = new Set(all.flatMap(({ schema }) => schema.format ?? []));
    expect(used).toEqual(new Set(Object.keys(formats)));
  });

  test("has patterns that engines without look-around understand", () => {
    expect(all.filter(({ schema }) => schema.pattern && /\(\?[=!<]/.test(schema.pattern)).map(({ at }) => at)).toEqual([]);
  });
});
