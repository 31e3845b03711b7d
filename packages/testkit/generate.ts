/**
 * Requests made up from the OpenAPI document: each part is mostly right, sometimes at the edge of a rule, sometimes
 * wrong in type, form or number. Values that must exist somewhere (ids, codes, cookies) are not generated but named
 * by a `Pick`, which whoever sends the request looks up at that moment; so the same seed gives the same requests
 * in every world.
 */
import fc, { type Arbitrary } from "fast-check";
import type { Declared, Schema } from "./judge.ts";

/** "The nth of what there is of this kind", the caller's own or anybody's. */
export class Pick {
  readonly kind: string;
  readonly whose: "own" | "any";
  readonly nth: number;
  constructor(kind: string, whose: "own" | "any", nth: number) {
    this.kind = kind;
    this.whose = whose;
    this.nth = nth;
  }
}

export interface Generated {
  readonly operation: Declared;
  readonly actor: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: readonly (readonly [string, unknown])[];
  readonly headers: Readonly<Record<string, unknown>>;
  /** Text goes as it is; anything else as JSON. */
  readonly body: unknown;
}

export interface Plan {
  readonly operations: readonly Declared[];
  /** How often an operation comes, where not as often as the others (100). */
  readonly weights: Readonly<Record<string, number>>;
  readonly actors: readonly string[];
  /** Fields and parameters whose values can be looked up: the kind by the name. */
  readonly kinds: Readonly<Record<string, string>>;
}

export function requests(plan: Plan): Arbitrary<Generated> {
  return fc.oneof(...plan.operations.map((operation) => ({ weight: plan.weights[operation.name] ?? 100, arbitrary: requestOf(operation, plan) })));
}

const often = <T>(weight: number, arbitrary: Arbitrary<T>) => ({ weight, arbitrary });

function requestOf(operation: Declared, plan: Plan): Arbitrary<Generated> {
  const inPath = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name as string);
  return fc.record({
    operation: fc.constant(operation),
    actor: fc.constantFrom(...plan.actors),
    params: fc.record(Object.fromEntries(inPath.map((name) => [name, idFor(name, plan)]))),
    query: queryFor(operation, plan),
    headers: headersFor(operation),
    body: bodyFor(operation, plan),
  });
}

// Ids

const base32 = "0123456789abcdefghjkmnpqrstvwxyz";
const someId = fc
  .tuple(
    fc.constantFrom("usr", "srv", "team", "pnd", "ak", "act", "lgn", "op", "zz"),
    fc.integer({ min: 0, max: 7 }),
    fc.string({ unit: fc.constantFrom(...base32), minLength: 25, maxLength: 25 }),
  )
  .map(([prefix, first, rest]) => `${prefix}_${first}${rest}`);
const pick = (kind: string, own = 9) =>
  fc
    .tuple(fc.oneof(often(own, fc.constant("own" as const)), often(1, fc.constant("any" as const))), fc.nat(49))
    .map(([whose, nth]) => new Pick(kind, whose, nth));
const strange = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 20 }),
  fc.constantFrom(".", "..", "null", "__proto__", "%00", "a/b", "x".repeat(300)),
);

function idFor(name: string, { kinds }: Plan): Arbitrary<unknown> {
  const kind = kinds[name] ?? name;
  const other = fc.constantFrom(...new Set(Object.values(kinds))).chain((each) => pick(each, 1));
  return fc.oneof(often(30, pick(kind)), often(1, someId), often(1, other), often(1, strange));
}

// Queries and headers

function queryFor(operation: Declared, { kinds }: Plan): Arbitrary<Generated["query"]> {
  const known = operation.parameters.filter((parameter) => parameter.in === "query");
  const pairs = known.map(({ name, schema }) =>
    fc.tuple(
      fc.constant(name as string),
      fc.oneof(
        often(6, valid(schema as Schema, kinds[name as string])),
        often(2, edges(schema as Schema)),
        often(1, fc.constantFrom("0", "-1", "1.5", "1e3", " 1", "１", "99999999999999999999")),
        often(1, strange),
      ),
    ),
  );
  const unknown = fc.tuple(fc.oneof(fc.constantFrom("x", "constructor", "__proto__", "page[]"), strange), strange);
  const some = pairs.length === 0 ? unknown : fc.oneof(often(5, fc.oneof(...pairs)), often(1, unknown));
  return fc.oneof(often(3, fc.constant([])), often(pairs.length === 0 ? 1 : 6, fc.array(some, { minLength: 1, maxLength: 3 })));
}

const visible = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), minLength: 1, maxLength: 40 });
const latin = fc.string({
  unit: fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })).map((code) => String.fromCharCode(code)),
  maxLength: 300,
});

const steering: Readonly<Record<string, Arbitrary<unknown>>> = {
  "idempotency-key": fc.oneof(often(4, visible), often(3, fc.constantFrom("a", "b", "c")), often(1, latin)),
  prefer: fc.oneof(fc.constantFrom("handling=strict", "handling=lenient", "wait=5, handling = Strict"), latin),
  "x-dry-run": fc.oneof(often(5, fc.constant("true")), often(2, fc.constant("false")), often(1, latin)),
  "if-match": fc.oneof(pick("etag"), fc.constantFrom("*", 'W/"x", "y"'), latin),
  "if-none-match": fc.oneof(pick("etag"), fc.constantFrom("*", 'W/"x", "y"'), latin),
  accept: fc.oneof(fc.constantFrom("application/problem+json", "application/json", "text/html, application/problem+json;q=0.9", "*/*"), latin),
  "accept-encoding": fc.oneof(fc.constantFrom("gzip", "br", "br;q=0, gzip", "gzip;q=0", "identity"), latin),
  "x-request-id": fc.oneof(visible, latin, fc.constant("r".repeat(64))),
  "user-agent": latin,
  cookie: fc.oneof(pick("cookie"), latin),
  "content-type": fc.constantFrom(
    "application/json",
    "application/json; charset=utf-8",
    "application/JSON;charset=UTF-8",
    "text/plain",
    "application/json; charset=latin1",
    "x",
    "",
  ),
};

/** Each header is rare, so that most requests still get to the operation itself; the cookie is what some operations live on. */
const headersFor = ({ name }: Declared): Arbitrary<Record<string, unknown>> => {
  const rare = fc
    .dictionary(fc.constantFrom("idempotency-key", "idempotency-key", "x-dry-run", ...Object.keys(steering)), fc.constant(null), {
      maxKeys: 2,
      noNullPrototype: true,
    })
    .chain((chosen) => fc.record(Object.fromEntries(Object.keys(chosen).map((header) => [header, steering[header] as Arbitrary<unknown>]))));
  const headers = fc.oneof(often(3, fc.constant({})), often(2, rare));
  return /^auth\.(refresh|logout)$/.test(name)
    ? fc.tuple(headers, fc.option(pick("cookie"), { freq: 4, nil: "x" })).map(([some, cookie]) => ({ ...some, cookie }))
    : headers;
};

// Bodies

const list = (schema: Schema) => Object.entries((schema.properties ?? {}) as Record<string, Schema>);

function bodyFor({ body, method }: Declared, plan: Plan): Arbitrary<unknown> {
  const anything = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ maxLength: 30 }),
    fc.constantFrom("{", "[]", "null", '{"a":', '{"__proto__":{}}', "\ufeff{}", "\u0000"),
  );
  if (!body) return method === "GET" ? fc.constant(undefined) : fc.oneof(often(8, fc.constant(undefined)), often(1, fc.constant({})), often(1, anything));
  const right = valid(body, undefined, plan);
  const wrongField = fc
    .constantFrom(...list(body))
    .chain(([name, schema]) =>
      fc
        .tuple(right, fc.oneof(often(3, edges(schema)), often(2, hostile), often(2, fc.jsonValue({ maxDepth: 2 }))))
        .map(([whole, value]) => ({ ...(whole as object), [name]: value })),
    );
  const less = fc
    .tuple(right, fc.constantFrom(...list(body).map(([name]) => name)))
    .map(([whole, name]) => Object.fromEntries(Object.entries(whole as object).filter(([key]) => key !== name)));
  const names = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.string({ unit: "binary", maxLength: 80 }),
    fc.constantFrom("__proto__", "constructor", "toString", "uid", "role", "plan", "verified", "email"),
  );
  const more = fc
    .tuple(right, fc.array(fc.tuple(names, fc.jsonValue({ maxDepth: 2 })), { minLength: 1, maxLength: 4 }))
    .map(([whole, extra]) => Object.fromEntries([...extra, ...Object.entries(whole as object)]));
  return fc.oneof(often(12, right), often(6, wrongField), often(2, less), often(2, more), often(1, anything), often(1, fc.constant(undefined)));
}

/** Broken Unicode, controls, and text that means something to somebody. */
const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 70 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    "'; drop table users; --",
    "$(id)",
    "\r\nx: y",
    "\u0000",
    "\ud800",
    "\u202e",
    "a".repeat(5000),
    "Ⱥ".repeat(64),
    "İ",
    "ß",
    "＠",
    " ".repeat(10),
  ),
);

/** Just inside and just outside of what the schema allows. */
function edges(schema: Schema): Arbitrary<unknown> {
  const {
    type,
    minLength = 0,
    maxLength = 64,
    minimum,
    maximum,
    minItems = 0,
    maxItems = 100,
  } = schema as { type?: unknown; minLength?: number; maxLength?: number; minimum?: number; maximum?: number; minItems?: number; maxItems?: number };
  if (type === "integer") return fc.constantFrom(...[minimum ?? 0, maximum ?? 0].flatMap((bound) => [bound - 1, bound, bound + 1]));
  if (type === "array")
    return fc
      .constantFrom(minItems - 1, minItems, maxItems, maxItems + 1)
      .chain((length) => fc.array(valid(schema.items as Schema, undefined), { minLength: Math.max(0, length), maxLength: Math.max(0, length) }));
  const lengths = [minLength - 1, minLength, maxLength, maxLength + 1, 2 * maxLength + 1].filter((length) => length >= 0);
  return fc.tuple(fc.constantFrom(...lengths), fc.constantFrom("a", "é", "😀", "e\u0301", " ")).map(([length, letter]) => letter.repeat(length));
}

const cidr = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 33 })).map(([ip, bits]) => `${ip}/${bits}`),
  fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 129 })).map(([ip, bits]) => `${ip}/${bits}`),
);
const moment = fc.oneof(
  often(
    6,
    fc.date({ min: new Date("2030-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }).map((date) => date.toISOString()),
  ),
  often(
    1,
    fc.constantFrom(
      "2000-01-01T00:00:00Z",
      "2090-12-31T23:59:60Z",
      "2090-01-01t00:00:00z",
      "2090-01-01T00:00:00+23:59",
      "9999-12-31T23:59:59-23:59",
      "2090-02-30T00:00:00Z",
      "2090-01-01 00:00:00Z",
      "2090-01-01T24:00:00Z",
    ),
  ),
);
const address = fc
  .tuple(
    fc.stringMatching(/^[a-z0-9!#$%&'*+/=?^_{|}~-]{1,20}$/),
    fc.stringMatching(/^[a-z0-9]{1,20}$/),
    fc.constantFrom("example.com", "example", "xn--p1ai", "c"),
  )
  .map(([local, label, rest]) => `${local}@${label}.${rest}`);

/** What the schema allows, as far as a generator can tell; looked up where only what exists would do. */
function valid(schema: Schema, kind: string | undefined, plan?: Plan): Arbitrary<unknown> {
  const made = fresh(schema, kind, plan);
  return kind === undefined ? made : fc.oneof(often(4, pick(kind, 3)), often(1, made));
}

function fresh(schema: Schema, kind: string | undefined, plan: Plan | undefined): Arbitrary<unknown> {
  const {
    enum: values,
    pattern,
    format,
    minLength = 0,
    maxLength = 64,
    minItems = 0,
    maxItems = 5,
    required = [],
  } = schema as {
    enum?: unknown[];
    pattern?: string;
    format?: string;
    minLength?: number;
    maxLength?: number;
    minItems?: number;
    maxItems?: number;
    required?: string[];
  };
  if (values) return fc.constantFrom(...values);
  if (format === "cidr") return cidr;
  if (format === "date-time") return moment;
  if (format === "mail-address") return address;
  if (pattern) return fc.stringMatching(new RegExp(pattern, "u"));
  if (schema.type === "integer") return fc.integer({ min: (schema.minimum as number) ?? 0, max: (schema.maximum as number) ?? 1e6 });
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "array") return fc.array(valid(schema.items as Schema, kind, plan), { minLength: minItems, maxLength: Math.min(maxItems, 5) });
  if (schema.type === "object")
    return fc.record(Object.fromEntries(list(schema).map(([name, property]) => [name, valid(property, plan?.kinds[name], plan)])), {
      requiredKeys: required as never[],
    });
  return fc.string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, 64) });
}
