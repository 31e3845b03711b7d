/** CORS: off unless exact origins are configured; never with credentials, because no cookie authenticates the API. */
import type { FastifyReply } from "fastify";

const request = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Prefer, X-Dry-Run, X-Request-Id";
const exposed = "Deprecation, ETag, Link, Operation-Location, Operation-Status, RateLimit, RateLimit-Policy, Retry-After, Sunset, X-Error-Code, X-Request-Id";
const methods = "GET, HEAD, POST, PUT, PATCH, DELETE";

export function corsHeaders(origins: readonly string[]): (origin: string | undefined, reply: FastifyReply) => void {
  if (origins.length === 0) return () => {};
  return (origin, reply) => {
    reply.header("vary", "origin");
    if (origin === undefined || !origins.includes(origin)) return;
    reply.headers({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": request,
      "access-control-allow-methods": methods,
      "access-control-expose-headers": exposed,
      "access-control-max-age": "600",
    });
  };
}
