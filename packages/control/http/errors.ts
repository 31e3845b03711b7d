/** Refusals as the caller sees them: `{message}` and a code in a header, or RFC 9457 for those who ask. Accidents reveal nothing. */
import { Fault, type FaultKind, statusOf } from "@stead/base/fault.ts";
import { codes } from "@stead/contract/codes.ts";
import type { FastifyReply, FastifyRequest } from "fastify";

export const hungUp = () => new Fault("invalid", "invalid_body", "The body ended too early.");

export const notFound = () => new Fault("not_found", "not_found", "Not found.");

/** Fastify's own errors, folded into the statuses of the interface. */
export function asFault(error: unknown): Fault | null {
  if (error instanceof Fault) return error;
  const code = (error as { code?: unknown }).code;
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return new Fault("invalid", "body_too_large", "The request body must not be larger than 256 KiB.", { headers: { connection: "close" } });
  }
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return new Fault("invalid", "invalid_body", "Send the body as `Content-Type: application/json`.");
  if (code === "FST_ERR_CTP_INVALID_CONTENT_LENGTH")
    return new Fault("invalid", "invalid_body", "The body's length differs from `Content-Length`.", { headers: { connection: "close" } });
  return null;
}

const internal = { kind: "unavailable" as FaultKind, code: "internal", message: "Internal server error.", fields: [], headers: {} };

export function sendFault(request: FastifyRequest, reply: FastifyReply, fault: Fault | null): FastifyReply {
  const { kind, code, message, fields, headers } = fault ?? internal;
  const status = statusOf[kind];
  reply.code(status).headers(headers).header("x-error-code", code).header("cache-control", "no-store");
  if (!String(request.headers.accept ?? "").includes("application/problem+json")) {
    return reply.header("content-type", "application/json; charset=utf-8").send(JSON.stringify({ message }));
  }
  const [, title] = codes[code as keyof typeof codes];
  const problem = { type: `/docs/errors#${code}`, title, status, detail: message, instance: request.id, message, code, errors: fields };
  return reply.header("content-type", "application/problem+json; charset=utf-8").send(JSON.stringify(problem));
}
