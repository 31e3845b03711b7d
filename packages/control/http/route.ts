/**
 * One operation, from the request to the answer, in the fixed order of checks (decisions 2.8). HTTPS, the flood limit
 * and the path are behind us; here follow the credential with the whole id chain, the body, and the work.
 */
import { createHmac } from "node:crypto";
import { Fault, tooManyRequests } from "@stead/base/fault.ts";
import { formatId, parseId, timeOf } from "@stead/base/id.ts";
import type { Operation } from "@stead/contract/operation.ts";
import { paramsOf } from "@stead/contract/operation.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { NoResultError, sql } from "kysely";
import type { Tx } from "../db/pool.ts";
import type { ActivityRecord, OperationRecord } from "../db/records.ts";
import { statement } from "../db/statement.ts";
import type { Deps } from "../deps.ts";
import { hashOf, tokenOf } from "../identity/credential.ts";
import { type Access, type Admitted, access, prefixOf, unauthenticated } from "./access.ts";
import { limitKey } from "./address.ts";
import { type Idempotency, replay, runChange } from "./change.ts";
import { type Encode, encoder } from "./encode.ts";
import type { AnyHandler, Prepared, Query, Sender } from "./handler.ts";
import type { Verdict } from "./limits.ts";
import { type Answer, sendJson, sendRead, tagOf } from "./reply.ts";
import { riding } from "./riding.ts";
import { isPrefetch, type Steering, steering, tagListed } from "./steer.ts";
import type { Validator } from "./validate.ts";

export interface Route {
  readonly name: string;
  readonly op: Operation;
  readonly handler: AnyHandler;
}

type Json = Record<string, unknown>;

/** What the first half of a request finds out for the second. */
export interface Call {
  readonly admitted: Admitted | null;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Json;
  readonly ip: string;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The address it came from, past our own proxies. */
    client: string;
    call: Call | null;
    /** Whose rate limit this request was counted against, for the log and for refunds. */
    spent: { readonly who: string; readonly uid: string | null } | null;
    bodyDigest: string;
  }
}

/** A reference that leads nowhere any more, or a row that was there when access was checked. */
const isVanished = (error: unknown): boolean => error instanceof NoResultError || (error as { code?: unknown }).code === "23503";

const isQuery = (handler: AnyHandler): handler is Query => typeof handler === "object" && "shape" in handler;
const isPrepared = (handler: AnyHandler): handler is Prepared<Operation> => typeof handler === "object" && "prepare" in handler;

const farFuture = { before_at: "infinity", before_id: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

export class Exchange {
  readonly #deps: Deps;
  readonly #route: Route;
  readonly #access: Access | null;
  readonly #encode: Encode;
  readonly #validator: Validator;
  readonly #represent: ((tx: Tx, ids: Json) => Promise<string>) | null;

  constructor(deps: Deps, route: Route, validator: Validator, matched: Route | null) {
    this.#deps = deps;
    this.#route = route;
    this.#validator = validator;
    this.#access = route.op.scope === "open" ? null : access(route.op, isQuery(route.handler) ? route.handler : null);
    this.#encode = encoder(route.op.reply);
    this.#represent = matched ? representation(matched) : null;
  }

  /** Steps 4 to 8. The query is read early because a read rides along with the access check, but refused only after it. */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { op } = this.#route;
    if (op.effect === "change" && op.method === "GET" && isPrefetch(request.headers)) {
      throw new Fault("forbidden", "prefetch_refused", "A prefetch must not run an operation that changes something.");
    }
    const ip = request.client;
    const query = this.#readQuery(request);
    const ids = this.#ids(request.params as Record<string, string>);
    const admitted = this.#access ? await this.#admitted(this.#access, request, reply, ip, ids, query) : null;
    if (!this.#access) this.#spend(request, reply, limitKey(ip), null);
    if (admitted?.missing && !mayReplay(op, request)) throw admitted.missing;
    if (query instanceof Fault) throw query;
    request.call = { admitted, params: ids as Record<string, string>, query, ip };
  }

  async #admitted(
    check: Access,
    request: FastifyRequest,
    reply: FastifyReply,
    ip: string,
    ids: Record<string, string | null>,
    query: Json | Fault,
  ): Promise<Admitted> {
    const token = tokenOf(request.raw);
    if (token === null) throw unauthenticated.missing();
    if (token === "bad") throw unauthenticated.invalid();
    const values = this.#pageValues(query);
    return check.check(this.#deps.db, { hash: hashOf(token), ip, ids, values }, (uid) => {
      this.#spend(request, reply, this.#route.op.rate === "sensitive" ? `${uid} ${this.#route.name}` : uid, uid);
    });
  }

  /** Steps 9 to 14. */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const call = request.call as Call;
    if (this.#route.op.effect === "read") await this.#read(request, reply, call);
    else await this.#change(request, reply, call).catch((error: unknown) => this.#againIfVanished(request, reply, error));
    return reply;
  }

  /** Something that the change stands on was removed while it ran, so it did nothing: it gets the answer of a moment later. */
  async #againIfVanished(request: FastifyRequest, reply: FastifyReply, error: unknown): Promise<void> {
    if (!isVanished(error)) throw error;
    await this.admit(request, reply);
    await this.#change(request, reply, request.call as Call);
  }

  async #read(request: FastifyRequest, reply: FastifyReply, call: Call): Promise<void> {
    const { handler, op } = this.#route;
    const found = isQuery(handler)
      ? call.admitted?.data
      : await (handler as (context: unknown) => unknown)({ ...this.#context(request, call), db: this.#deps.db });
    if (isQuery(handler) && handler.shape === "one" && !found) throw new Fault("not_found", "not_found", "Not found.");
    if (isQuery(handler) && handler.shape === "page")
      reply.header("link", pageLinks(this.#deps.config.base_url + (request.url.split("?")[0] as string), call.query, found as PageCounts));
    const body = this.#encode(found);
    if (op.secret) return sendJson(request, reply.header("cache-control", "no-store"), { status: op.status, body, headers: {} });
    await sendRead(request, reply, body, () => this.#giveBack(reply, request.spent?.who as string));
  }

  async #change(request: FastifyRequest, reply: FastifyReply, call: Call): Promise<void> {
    const { op, handler } = this.#route;
    const steer = steering(request.headers);
    const { value: body, ignored } = this.#validator.body(request.body, steer.strict);
    const context = { ...this.#context(request, call), body };
    const actor_uid = call.admitted?.actor.uid ?? null;
    const once = actor_uid && !steer.dry_run ? idempotency(op, call.params, request.bodyDigest, steer) : null;
    const tell = (answer: Answer) => {
      reply.header("cache-control", "no-store");
      if (ignored.length > 0)
        reply.header(
          "x-ignored-fields",
          ignored
            .slice(0, 20)
            .map((field) => encodeURIComponent(field.slice(0, 64).toWellFormed()))
            .join(", "),
        );
      return sendJson(request, reply, answer);
    };
    // The transaction looks for an earlier answer by itself. But a repeat may find its object gone, and must not pay again for being prepared.
    if (once && (call.admitted?.missing || isPrepared(handler))) {
      const earlier = await replay(this.#deps.db, actor_uid as string, once);
      if (earlier) return tell(earlier);
    }
    if (call.admitted?.missing) throw call.admitted.missing;
    const before = isPrepared(handler) ? await handler.prepare({ ...context, db: this.#deps.db } as never) : undefined;
    const answer = await runChange(this.#deps.db, { actor_uid, idempotency: once, dry_run: steer.dry_run, secret: op.secret === true }, async (tx, trail) => {
      if (steer.if_match !== null && this.#represent) await this.#requireMatch(tx, call.params, steer.if_match);
      const headers: Record<string, string> = {};
      const full = {
        ...context,
        tx,
        headers,
        record: (entry: ActivityRecord) => void trail.activity.push(entry),
        begin(operation: OperationRecord) {
          trail.operation = operation;
        },
      };
      const outcome = isPrepared(handler) ? await handler.run(full as never, before) : await (handler as (context: unknown) => unknown)(full);
      if (outcome instanceof Fault) return outcome;
      if (trail.operation && actor_uid) {
        headers["operation-location"] = `/api/v2/ext/operations/${formatId("op", trail.operation.oid)}/users/${formatId("usr", actor_uid)}`;
        headers["operation-status"] = "queued";
      }
      return { status: op.status, body: this.#encode(outcome), headers };
    });
    await tell(answer);
  }

  async #requireMatch(tx: Tx, ids: Json, listed: string): Promise<void> {
    const tag = (await this.#represent?.(tx, ids)) ?? "";
    if (!tagListed(listed, tag))
      throw new Fault("precondition_failed", "precondition_failed", "The object changed since you read it. Read it again and retry.");
  }

  #context(request: FastifyRequest, call: Call): Json {
    const sender: Sender = { ip: call.ip, user_agent: String(request.headers["user-agent"] ?? "").slice(0, 512), cookies: cookiesOf(request.headers.cookie) };
    return {
      deps: this.#deps,
      params: call.params,
      query: call.query,
      sender,
      actor: call.admitted?.actor,
      server: call.admitted?.server,
      team: call.admitted?.team,
    };
  }

  /** Takes one token and tells the caller how the bucket stands. */
  #spend(request: FastifyRequest, reply: FastifyReply, who: string, uid: string | null): void {
    request.spent = { who, uid };
    const verdict = this.#deps.limiter.take(this.#route.op.rate, who);
    this.#tellRate(reply, verdict);
    if (!verdict.allowed) throw tooManyRequests(verdict.retry_after_s);
  }

  #giveBack(reply: FastifyReply, who: string): void {
    const { limiter } = this.#deps;
    limiter.refund(this.#route.op.rate, who);
    this.#tellRate(reply, limiter.peek(this.#route.op.rate, who));
  }

  #tellRate(reply: FastifyReply, { remaining, reset_s }: Verdict): void {
    const { rate } = this.#route.op;
    const { quota, window_s } = this.#deps.limiter.quotas[rate];
    reply.header("ratelimit-policy", `"${rate}";q=${quota};w=${window_s}`).header("ratelimit", `"${rate}";r=${remaining};t=${reset_s}`);
  }

  #ids(params: Record<string, string>): Record<string, string | null> {
    return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, parseId(prefixOf(name), text)]));
  }

  #readQuery(request: FastifyRequest): Json | Fault {
    try {
      return this.#validator.query(request.query as Json);
    } catch (error) {
      if (error instanceof Fault) return error;
      throw error;
    }
  }

  #pageValues(query: Json | Fault): Json {
    const { handler } = this.#route;
    if (!isQuery(handler) || handler.shape !== "page") return {};
    if (query instanceof Fault) return { page: 1, limit: 1, offset: 0, ...farFuture };
    const { page, limit, before } = query as { page: number; limit: number; before?: string };
    return { page, limit, offset: (page - 1) * limit, ...(before === undefined ? farFuture : position(before)) };
  }
}

/** Where in a list an entry's id stands: an entry's time is inside its id. */
function position(before: string): Json {
  const uuid = parseId(before.split("_")[0] ?? "", before);
  return uuid === null ? farFuture : { before_at: timeOf(uuid), before_id: uuid };
}

/** A repeat finds its object gone because the first one worked: then the first answer is looked for before "not found" is said. */
const mayReplay = (op: Operation, request: FastifyRequest): boolean => op.consumes && request.headers["idempotency-key"] !== undefined;

/** The request as far as it counts: the same operation on the same objects, whichever way its path was spelt, with the same body. */
function idempotency(op: Operation, ids: Json, bodyDigest: string, { idempotency_key }: Steering): Idempotency | null {
  if (idempotency_key === null) return null;
  const request_hash = createHmac("sha256", idempotency_key)
    .update(`${op.method} ${op.path} ${JSON.stringify(ids)} ${bodyDigest}`)
    .digest();
  return { key_hash: hashOf(idempotency_key), request_hash };
}

/** The entity tag of what a read would give now, inside the transaction and with the row held still. */
function representation({ op, handler }: Route): (tx: Tx, ids: Json) => Promise<string> {
  if (!isQuery(handler)) throw new Error(`If-Match needs a query to compare with, and ${op.path} has none`);
  const params = paramsOf(op.path);
  const read = statement<{ data: string }>(sql`select (${riding(op, handler)}) as data`);
  const encode = encoder(op.reply);
  const [table, column] = params.includes("sid") ? (["servers", "sid"] as const) : (["users", "uid"] as const);
  return async (tx, ids) => {
    await sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} = ${ids[column]}::uuid for update`.execute(tx);
    const [row] = await read.run(tx, ids);
    return tagOf(encode(JSON.parse(row?.data ?? "null")));
  };
}

interface PageCounts {
  readonly data: readonly unknown[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
}

/** Only with parameters that the operation knows: a link is never longer than what was asked for. Before an entry nobody has counted the pages. */
function pageLinks(url: string, query: Json, { data, total, page, limit }: PageCounts): string {
  const last = Math.max(1, Math.ceil(total / limit));
  const at = (number: number, rel: string) =>
    `<${url}?${new URLSearchParams({ ...(query as Record<string, string>), page: String(number) }).toString()}>; rel="${rel}"`;
  const next = page < last && data.length === limit ? [at(page + 1, "next")] : [];
  const prev = page > 1 ? [at(Math.min(page - 1, last), "prev")] : [];
  return [...next, ...prev, at(1, "first"), ...(query.before === undefined ? [at(last, "last")] : [])].join(", ");
}

function cookiesOf(header: string | undefined): Record<string, string> {
  return Object.fromEntries(
    (header ?? "").split(";").flatMap((pair) => {
      const at = pair.indexOf("=");
      return at < 1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()]];
    }),
  );
}
