/**
 * The contract as an OpenAPI 3.1 document. Our own small builder, because the contract already is
 * JSON Schema and says more than generators know: effect, class, rate class, scopes, codes.
 */
import type { TObject, TSchema } from "typebox";
import { type Code, codes } from "./codes.ts";
import { exampleOf } from "./example.ts";
import { keywords } from "./fields.ts";
import type { AreaName, NamedOperation } from "./index.ts";
import { dryRun, failures, type HeaderName, headerParameters, headerRefs, headers, type Json, pathParameters, problemSchemas, tags } from "./openapi-parts.ts";
import { type Operation, paramsOf } from "./operation.ts";

const interfaceVersion = "2.3.0";

const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` });

type Names = ReadonlyMap<unknown, string>;

/** A schema for the document: records by reference, our own keywords taken out, rules of inputs in words. */
function show(schema: TSchema, names: Names, input: boolean): Json {
  const name = names.get(schema);
  return name ? ref("schemas", name) : spell(schema, names, input);
}

function spell(schema: TSchema, names: Names, input: boolean): Json {
  const own = keywords as readonly string[];
  const shown: Json = Object.fromEntries(Object.entries(schema).filter(([key]) => !own.includes(key)));
  const { says, description } = schema as { says?: string; description?: string };
  if (input && says && !shown.enum) shown.description = [description, `${says.charAt(0).toUpperCase()}${says.slice(1)}.`].filter(Boolean).join(" ");
  if (shown.enum) shown.type = "string";
  if (shown.items) shown.items = show(shown.items as TSchema, names, input);
  if (shown.properties) shown.properties = mapValues(shown.properties as Record<string, TSchema>, (part) => show(part, names, input));
  if (shown.anyOf) {
    const parts = (shown.anyOf as TSchema[]).map((part) => show(part, names, input));
    const [first, second] = parts as [Json, Json | undefined];
    // "a string or null" is easier to read, and to generate code from, than a union of two schemas.
    if (parts.length === 2 && second?.type === "null" && typeof first.type === "string" && !first.enum) {
      const { anyOf: _, ...rest } = shown;
      return { ...first, ...rest, type: [first.type, "null"] };
    }
    shown.anyOf = parts;
  }
  return shown;
}

const mapValues = <In, Out>(record: Record<string, In>, change: (value: In, key: string) => Out): Record<string, Out> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));

const hasBody = (op: Operation): op is Operation & { body: TObject } => op.body !== undefined;
const isLong = (op: Operation) => op.class === "queued" || op.class === "live";
const changes = (op: Operation) => op.effect === "change";
/** An answer that may be asked for again with its ETag. */
const isCacheable = (op: Operation) => op.effect === "read" && !op.secret && !op.stream;
/** Idempotency records belong to a user, so they need one. */
const isIdempotent = (op: Operation) => changes(op) && op.scope !== "open";

/** The answer of a dry run has this shape, whatever the operation. */
const isMessage = (reply: TSchema): boolean => Object.keys((reply as TObject).properties ?? {}).join() === "message";

/** Every code that the operation can give. */
export function codesOf(op: Operation): Code[] {
  const params = paramsOf(op.path);
  const signedIn = op.scope !== "open";
  const possible: [boolean, ...Code[]][] = [
    [true, "https_required", "invalid_header", "rate_limited", "internal"],
    [op.method !== "GET", "invalid_json", "invalid_body", "body_too_large"],
    [hasBody(op), "validation_failed"],
    [op.query !== undefined, "invalid_query"],
    [signedIn, "unauthenticated", "ip_not_allowed"],
    [signedIn && !op.suspended, "account_suspended"],
    [signedIn && changes(op) && !op.unverified, "email_unverified"],
    [signedIn && op.needs !== "any", "scope_missing"],
    [params.includes("uid"), "uid_mismatch"],
    [params.length > 0, "not_found"],
    [op.role === "member" && ["server", "website", "team"].includes(op.scope), "role_insufficient"],
    [op.method === "GET" && changes(op), "prefetch_refused"],
    [isIdempotent(op), "idempotency_key_reused", "idempotency_in_progress"],
    [op.match !== undefined, "precondition_failed"],
    [true, ...op.faults],
  ];
  const found = new Set(possible.flatMap(([when, ...these]) => (when ? these : [])));
  return (Object.keys(codes) as Code[]).filter((code) => found.has(code));
}

function parametersOf(op: Operation, names: Names): Json[] {
  const wanted: [boolean, keyof typeof headerParameters][] = [
    [isIdempotent(op), "IdempotencyKey"],
    [changes(op) && (hasBody(op) || isLong(op)), "Prefer"],
    [changes(op), "DryRun"],
    [isCacheable(op), "IfNoneMatch"],
    [op.match !== undefined, "IfMatch"],
  ];
  const query = Object.entries(op.query?.properties ?? {}).map(([name, schema]) => {
    const { description, examples: _, ...rest } = spell(schema, names, true);
    return { name, in: "query", required: false, description, schema: rest, example: exampleOf(schema) };
  });
  return [...paramsOf(op.path).map((name) => ref("parameters", name)), ...query, ...wanted.filter(([when]) => when).map(([, name]) => ref("parameters", name))];
}

function success(op: Operation, names: Names): Json {
  const wanted: [boolean, ...HeaderName[]][] = [
    [true, "X-Request-Id", "RateLimit-Policy", "RateLimit", "Cache-Control"],
    [isCacheable(op), "ETag"],
    [op.query !== undefined, "Link"],
    [op.status === 201, "Location"],
    [changes(op) && isLong(op), "Operation-Location", "Operation-Status", "Preference-Applied"],
    [isIdempotent(op), "Idempotent-Replayed"],
    [hasBody(op), "X-Ignored-Fields"],
    [op.warns === true, "X-Warnings"],
  ];
  const example = exampleOf(op.reply);
  const reply = show(op.reply, names, false);
  return {
    description: op.status === 201 ? "Created" : "OK",
    headers: headerRefs(wanted.flatMap(([when, ...these]) => (when ? these : []))),
    content: op.stream
      ? { "text/event-stream": { schema: { type: "string", description: "Each event's data is the record as JSON." }, example: `data: ${JSON.stringify(example)}\n\n` } }
      : { "application/json": { schema: changes(op) && op.status === 200 && !isMessage(op.reply) ? { anyOf: [reply, ref("schemas", "Message")] } : reply, example } },
  };
}

function responsesOf(op: Operation, names: Names): Json {
  const byStatus = Object.groupBy(codesOf(op), (code) => String(codes[code][0]));
  const responses: Json = { [op.status]: success(op, names) };
  if (changes(op) && op.status !== 200) responses[200] = ref("responses", "DryRun");
  if (isCacheable(op)) responses[304] = ref("responses", "NotModified");
  for (const [status, these = []] of Object.entries(byStatus)) {
    const { name, title } = failures[status] as (typeof failures)[string];
    responses[status] = { ...ref("responses", name), description: `${title}: ${these.map((code) => `\`${code}\``).join(", ")}.` };
  }
  return responses;
}

const inWords: Record<Operation["class"], string> = {
  done: "Finished when the answer comes.",
  queued: "Recorded when the answer comes, and made true by the server's agent; the operation tells when.",
  live: "Needs a connected server; the operation tells when it is done.",
  external: "Asks the provider before it answers.",
};

const rightsOf = (op: Operation): string =>
  op.scope === "open" ? "Needs no credential." : op.needs === "any" ? "Any credential." : op.needs === "full" ? "Not with a scoped key." : `A scoped key needs \`${op.needs}\`.`;

function describe({ name, area, op }: NamedOperation, names: Names): Json {
  return {
    operationId: name,
    summary: op.summary,
    description: [...(changes(op) || op.class === "external" ? [inWords[op.class]] : []), rightsOf(op)].join(" "),
    tags: [tags[area][0], ...(op.extension ? ["Extensions"] : [])],
    ...(op.scope === "open" ? { security: [] } : {}),
    ...(op.extension ? { "x-extension": true } : {}),
    "x-effect": op.effect,
    "x-class": op.class,
    "x-rate-class": op.rate,
    "x-needs": op.needs,
    parameters: parametersOf(op, names),
    ...(hasBody(op)
      ? {
          requestBody: {
            required: (op.body.required?.length ?? 0) > 0,
            content: { "application/json": { schema: show(op.body, names, true), example: exampleOf(op.body) } },
          },
        }
      : {}),
    responses: responsesOf(op, names),
  };
}

export function openapi(operations: readonly NamedOperation[], records: Record<string, TSchema>): Json {
  const names: Names = new Map(Object.entries(records).map(([name, schema]) => [schema, name]));
  const paths: Record<string, Json> = {};
  for (const named of operations) {
    paths[named.op.path] = { ...paths[named.op.path], [named.op.method.toLowerCase()]: describe(named, names) };
  }
  const sorted = mapValues(paths, (at) => Object.fromEntries(["get", "post", "put", "patch", "delete"].filter((method) => method in at).map((method) => [method, at[method]])));
  const areas = [...new Set(operations.map(({ area }) => area))];
  return {
    openapi: "3.1.0",
    info: {
      title: "Stead",
      version: interfaceVersion,
      summary: "Hosting control service",
      description:
        "Servers, websites, WordPress, databases, certificates, backups, mail, DNS, teams and billing over JSON and HTTPS. " +
        "Operations under `/ext` are additions to the interface and are marked `x-extension`.",
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "{base_url}/api/v2", variables: { base_url: { default: "https://localhost:8443", description: "Where the installation answers." } } }],
    security: [{ bearer: [] }],
    tags: [...areas.map((area: AreaName) => ({ name: tags[area][0], description: tags[area][1] })), { name: "Extensions", description: "Additions to the interface, all under `/ext`." }],
    paths: sorted,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "An API key or a session token." } },
      parameters: { ...pathParameters, ...headerParameters },
      headers,
      responses: { DryRun: dryRun, ...Object.fromEntries(Object.values(failures).map(({ name, response }) => [name, response])) },
      schemas: { ...mapValues(records, (schema) => spell(schema, names, false)), ...problemSchemas },
    },
  };
}
