/**
 * The public interface as data. An operation says everything about itself that router, validation,
 * serialisation, OpenAPI, the SDK, the CLI and the tests need, so that none of them repeats it.
 *
 * `effect` is not the method: five GETs of this interface change things, and retries, idempotency,
 * activity, HEAD and caching follow `effect`.
 */
import Type, { type Static, type TObject, type TSchema } from "typebox";
import type { Code } from "./codes.ts";
import { example } from "./example.ts";

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** What the path leads to: `open` needs no credential, `key` any valid one, the rest the path's own user and objects. */
export type Scope = "open" | "key" | "user" | "server" | "website" | "team" | "zone";

export type Effect = "read" | "change";

/** done: finished on return; queued: the agent makes it true; live: needs a connected agent; external: calls a provider. */
export type Class = "done" | "queued" | "live" | "external";

export type RateClass = "read" | "write" | "sensitive" | "acme" | "auth";

/** The least role on the server or team that may do this. */
export type Role = "viewer" | "member" | "owner";

export const grants = [
  "account:read",
  "account:write",
  "servers:read",
  "servers:write",
  "sites:read",
  "sites:write",
  "dns:read",
  "dns:write",
  "teams:write",
  "billing:read",
  "billing:write",
] as const;
export type Grant = (typeof grants)[number];

/** The scope that a scoped key must carry; `any` suits every key, `full` no scoped key at all. */
export type Needs = Grant | "any" | "full";

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamNames<Rest> : never;
export type Params<Path extends string> = { [Name in ParamNames<Path>]: string };

interface Definition<Path extends string, Body extends TObject, Query extends TObject, Reply extends TSchema, E extends Effect, S extends Scope> {
  method: Method;
  /** The path after `/api/v2`. */
  path: Path;
  scope: S;
  effect: E;
  needs: Needs;
  summary: string;
  reply: Reply;
  body?: Body;
  query?: Query;
  status?: 200 | 201;
  class?: Class;
  rate?: RateClass;
  role?: Role;
  /** Error codes beyond those that every operation may give. */
  faults?: readonly Code[];
  /** The reply carries a secret: it is never cached and never stored for replay. */
  secret?: boolean;
  /** May add `X-Warnings`: accepted, but something deserves a look. */
  warns?: boolean;
  /** Answers with server-sent events, and `reply` is the data of each. */
  stream?: boolean;
  /** Allowed while the e-mail address is not verified (reads always are). */
  unverified?: boolean;
  /** Allowed while the account is suspended. */
  suspended?: boolean;
  /** Honours `If-Match` against the ETag of this read operation. */
  match?: string;
  /** Takes away what its path names: a repeat finds it gone, and is given the first answer again. Every DELETE does. */
  consumes?: boolean;
}

export interface Operation<
  Path extends string = string,
  Body extends TObject = TObject,
  Query extends TObject = TObject,
  Reply extends TSchema = TSchema,
  E extends Effect = Effect,
  S extends Scope = Scope,
> extends Definition<Path, Body, Query, Reply, E, S> {
  status: 200 | 201;
  class: Class;
  rate: RateClass;
  role: Role;
  faults: readonly Code[];
  consumes: boolean;
  /** Ours, not one of the 70: lives under `/ext`. */
  extension: boolean;
}

export type None = TObject<Record<never, TSchema>>;

export function operation<
  const Path extends string,
  Reply extends TSchema,
  const E extends Effect,
  const S extends Scope,
  Body extends TObject = None,
  Query extends TObject = None,
>(definition: Definition<Path, Body, Query, Reply, E, S>): Operation<Path, Body, Query, Reply, E, S> {
  const reads = definition.effect === "read";
  return {
    ...definition,
    status: definition.status ?? 200,
    class: definition.class ?? "done",
    rate: definition.rate ?? (reads ? "read" : "write"),
    role: definition.role ?? (reads ? "viewer" : "member"),
    faults: definition.faults ?? [],
    consumes: definition.consumes ?? definition.method === "DELETE",
    extension: definition.path.startsWith("/ext/"),
  };
}

export type Area = Record<string, Operation>;
export type BodyOf<Op> = Op extends Operation<string, infer Body, TObject, TSchema> ? Static<Body> : never;
export type QueryOf<Op> = Op extends Operation<string, TObject, infer Query, TSchema> ? Static<Query> : never;
export type ReplyOf<Op> = Op extends Operation<string, TObject, TObject, infer Reply> ? Static<Reply> : never;
export type PathOf<Op> = Op extends Operation<infer Path, TObject, TObject, TSchema> ? Path : never;

/** The names in `{…}`, outermost last, as they stand in the path. */
export const paramsOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);

/** The three envelopes of the interface. */
export const data = <T extends TSchema>(record: T) => Type.Object({ data: record });
export const list = <T extends TSchema>(record: T) => Type.Object({ data: Type.Array(record) });
export const page = <T extends TSchema>(record: T) =>
  Type.Object({
    data: Type.Array(record),
    total: Type.Integer({ minimum: 0, description: "How many entries there are in all.", ...example(1) }),
    page: Type.Integer({ minimum: 1, ...example(1) }),
    limit: Type.Integer({ minimum: 1, maximum: 100, ...example(20) }),
  });
export const message = (text: string) => Type.Object({ message: Type.String({ ...example(text) }) });

/** The query of the three paginated lists. */
export const pageQuery = Type.Object({
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1, description: "Page number, from 1.", says: "must be a whole number from 1 to 1000000", ...example(1) }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 20, description: "Entries on a page, at most 100.", says: "must be a whole number from 1 to 100", ...example(20) }),
  ),
  before: Type.Optional(
    Type.String({ pattern: "^[a-z]{2,5}_[0-7][0-9a-hjkmnp-tv-z]{25}$", maxLength: 64, description: "Extension: only entries older than the one with this id, for a walk that new entries do not shift.", says: "must be the id of an entry", ...example("act_01jcpv1w2n9w5eph2j1v0a7q3r") }),
  ),
});

export const onUser = <const Path extends string>(path: Path) => `${path}/users/{uid}` as const;
export const onServer = <const Path extends string>(path: Path) => onUser(`${path}/servers/{sid}`);
export const onWebsite = <const Path extends string>(path: Path) => onServer(`${path}/websites/{wid}`);
export const onZone = <const Path extends string>(path: Path) => onUser(`${path}/dnsproviderzones/{zone_id}`);
