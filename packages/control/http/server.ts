/**
 * The public edge: every operation of the contract that an area handles becomes a route, and nothing else does.
 * A handler without an operation, or an operation half described, stops the boot.
 */
import type { RequestListener, Server } from "node:http";
import { Fault, tooManyRequests } from "@stead/base/fault.ts";
import { describeError } from "@stead/base/log.ts";
import { everyOperation } from "@stead/contract/index.ts";
import { type Operation, paramsOf } from "@stead/contract/operation.ts";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Deps } from "../deps.ts";
import { clientOf, limitKey, type Trusted, trusted } from "./address.ts";
import { acceptJsonBodies } from "./body.ts";
import { corsHeaders } from "./cors.ts";
import { asFault, hungUp, notFound, sendFault } from "./errors.ts";
import type { AnyHandler } from "./handler.ts";
import { Exchange, type Route } from "./route.ts";
import { type OnPlain, refuseBroken, requestIdOf, secureServer } from "./transport.ts";
import { type Format, validators } from "./validate.ts";

const apiPrefix = "/api/v2";

export interface Edge {
  /** `areas.users.get` handles the operation `users.get`. */
  readonly areas: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly formats: Readonly<Record<string, Format>>;
  readonly observe: Observe;
  readonly onPlain: OnPlain;
}

/** Told of every answer, for logs and metrics. */
export type Observe = (seen: {
  operation: string;
  method: string;
  status: number;
  code: string | null;
  duration_ms: number;
  uid: string | null;
  request_id: string;
  ip: string;
}) => void;

export function createEdge(deps: Deps, edge: Edge): FastifyInstance {
  const proxies = deps.config.tls.mode === "proxy" ? trusted(deps.config.tls.trusted) : null;
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    genReqId: (request) => requestIdOf(request),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 8192 },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    clientErrorHandler: refuseBroken as never,
    // Fastify would answer a path that cannot be decoded by itself, past the flood limit and the log. It names nothing, like this one.
    rewriteUrl: ({ url = "" }) => (isDecodable(url) ? url : "/"),
    serverFactory: (handler) => secureServer(deps.config, handler as RequestListener, edge.onPlain) as Server,
  });
  app.decorateRequest("client", "");
  app.decorateRequest("call", null);
  app.decorateRequest("spent", null);
  app.decorateRequest("bodyDigest", "");
  app.addHook("onRoute", ({ url, config }) => {
    if (!(config as { operation?: string } | undefined)?.operation) throw new Error(`the route ${url} has no operation, and so no policy`);
  });
  const routes = routesOf(edge.areas);
  acceptJsonBodies(app);
  observe(app, edge.observe);
  guard(app, deps, proxies);
  refuse(app, deps, knownPaths(routes));
  mount(app, deps, edge, routes);
  return app;
}

function isDecodable(url: string): boolean {
  if (!url.includes("%")) return true;
  try {
    decodeURIComponent(url.split("?")[0] as string);
    return true;
  } catch {
    return false;
  }
}

/** Step 2, and the headers that every answer carries. Paths with empty or dot segments name nothing. */
function guard(app: FastifyInstance, deps: Deps, proxies: Trusted | null): void {
  const cors = corsHeaders(deps.config.cors_origins);
  const strayPath = /^[^?]*?\/(?:\/|\.{1,2}(?:[/?]|$))/;
  app.addHook("onRequest", (request, reply, done) => {
    request.client = clientOf(request.raw, proxies);
    reply.header("x-request-id", request.id).header("x-content-type-options", "nosniff");
    cors(request.headers.origin, reply);
    const flood = deps.limiter.take("flood", limitKey(request.client));
    if (!flood.allowed) done(tooManyRequests(flood.retry_after_s));
    else if (strayPath.test(request.url)) done(notFound());
    else done();
  });
}

function observe(app: FastifyInstance, tell: Observe): void {
  app.addHook("onResponse", (request, reply, done) => {
    const code = reply.getHeader("x-error-code");
    tell({
      operation: (request.routeOptions.config as { operation?: string } | undefined)?.operation ?? "none",
      method: request.method,
      status: reply.statusCode,
      code: typeof code === "string" ? code : null,
      duration_ms: Math.round(reply.elapsedTime * 100) / 100,
      uid: request.spent?.uid ?? null,
      request_id: request.id,
      ip: request.client,
    });
    done();
  });
}

/** Step 3: a known path with an undeclared method is 405, OPTIONS is answered for every known path, all else is 404. */
function refuse(app: FastifyInstance, deps: Deps, paths: readonly KnownPath[]): void {
  app.setErrorHandler((error, request, reply) => {
    // Whoever hangs up in the middle of their body gets no answer, but it is not our accident.
    const fault = error === request.raw.errored ? hungUp() : asFault(error);
    if (!fault) deps.log.error("a request failed", { request_id: request.id, method: request.method, ...describeError(error) });
    return sendFault(request, reply, fault);
  });
  const leadNowhere = (request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split("?")[0] as string;
    const known = paths.find(({ pattern }) => pattern.test(path));
    if (!known) return sendFault(request, reply, notFound());
    const allowed = [...known.methods, "OPTIONS"].join(", ");
    reply.header("allow", allowed);
    if (request.method === "OPTIONS") return reply.code(204).header("cache-control", "no-store").send();
    return sendFault(request, reply, new Fault("method_not_allowed", "method_not_allowed", `${request.method} is not allowed here. Allowed: ${allowed}.`));
  };
  // Said before a body is read, whatever it is. The handler is there because Fastify wants one.
  app.addHook("onRequest", async (request, reply) => (request.is404 ? leadNowhere(request, reply) : undefined));
  app.setNotFoundHandler(leadNowhere);
}

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: ReadonlySet<string>;
}

/** HEAD is answered where GET only reads; on a GET that changes something it would be a way to do it by accident. */
const methodsOf = ({ op }: Route): string[] => (op.method === "GET" && op.effect === "read" ? ["GET", "HEAD"] : [op.method]);

function knownPaths(routes: readonly Route[]): KnownPath[] {
  // The one with fewer parameters first: `/ext/pending/outgoing/…` is not a pending confirmation named "outgoing".
  const byPath = [...Map.groupBy(routes, ({ op }) => op.path)].sort(([a], [b]) => paramsOf(a).length - paramsOf(b).length);
  return byPath.map(([path, group]) => ({
    pattern: new RegExp(`^${apiPrefix}${path.replace(/\{\w+\}/g, "[^/]+")}/?$`),
    methods: new Set(group.flatMap(methodsOf)),
  }));
}

/** Joins the areas' handlers with the contract. A handler that no operation describes has no policy, so the boot stops. */
export function routesOf(areas: Edge["areas"]): Route[] {
  const operations = new Map<string, Operation>(everyOperation.map(({ name, op }) => [name, op]));
  return Object.entries(areas).flatMap(([area, handlers]) =>
    Object.entries(handlers).map(([key, handler]) => {
      const name = `${area}.${key}`;
      const op = operations.get(name);
      if (!op) throw new Error(`the handler ${name} has no operation in the contract`);
      if (handler === undefined || handler === null) throw new Error(`the operation ${name} has no handler`);
      return { name, op, handler: handler as AnyHandler };
    }),
  );
}

function mount(app: FastifyInstance, deps: Deps, edge: Edge, routes: readonly Route[]): void {
  const validatorOf = validators(edge.formats);
  for (const route of routes) {
    const matched = route.op.match ? routes.find(({ name }) => name === route.op.match) : undefined;
    if (route.op.match && !matched) throw new Error(`${route.name} compares with ${route.op.match}, which is not mounted`);
    const exchange = new Exchange(deps, route, validatorOf(route.op), matched ?? null);
    app.route({
      method: methodsOf(route) as "GET"[],
      url: apiPrefix + route.op.path.replace(/\{(\w+)\}/g, ":$1"),
      config: { operation: route.name },
      onRequest: (request, reply) => exchange.admit(request, reply),
      handler: (request, reply) => exchange.answer(request, reply),
    });
  }
}
