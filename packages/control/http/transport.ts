/**
 * The listeners. HTTPS is checked on the bare request, before Fastify sees it: a plain request is refused the same way
 * whatever its path, method or key. In direct mode this process holds the certificate; in proxy mode a trusted proxy
 * vouches for it.
 */
import { randomUUIDv7 } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer as createHttp, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import type { Socket } from "node:net";
import { formatId } from "@stead/base/id.ts";
import type { Config } from "../config.ts";
import { saidHttps, type Trusted, trusted } from "./address.ts";

const mostHeaders = 16 * 1024;
const mostUrl = 8 * 1024;

// Node's own refusal of a request without Host has no body; ours below has.
const limits = { maxHeaderSize: mostHeaders, requireHostHeader: false, requestTimeout: 60_000, headersTimeout: 20_000, keepAliveTimeout: 75_000 };

const refusal = JSON.stringify({ message: "HTTPS is required. Plain HTTP requests are rejected." });

/** Told of every request that was refused because it came in clear. */
export type OnPlain = (request: IncomingMessage, request_id: string) => void;

const clientRequestId = /^[A-Za-z0-9_-]{1,64}$/;

/** The caller's own name for the request where it is a fit one, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers["x-request-id"];
  return typeof sent === "string" && clientRequestId.test(sent) ? sent : formatId("req", randomUUIDv7());
}

/** The main listener of a configuration around Fastify's own handler. */
export function secureServer({ tls }: Config, handler: RequestListener, onPlain: OnPlain): Server {
  const guarded: RequestListener = (request, response) => {
    if (request.headers.host === undefined && request.httpVersion === "1.1")
      return answer(response, 400, JSON.stringify({ message: "The header `Host` is missing." }));
    if ((request.url ?? "").length > mostUrl) return answer(response, 414, JSON.stringify({ message: "The address is too long." }));
    handler(request, response);
  };
  const listener =
    tls.mode === "insecure" ? guarded : tls.mode === "direct" ? withHsts(guarded) : onlySecured(trusted(tls.trusted), withHsts(guarded), onPlain);
  const server =
    tls.mode === "direct"
      ? createHttps({ ...limits, minVersion: "TLSv1.2", cert: readFileSync(tls.cert_file), key: readFileSync(tls.key_file) }, listener)
      : createHttp(limits, listener);
  // `Expect: something` that nobody knows is no reason to refuse; Node would, with an empty 417.
  return server.on("checkExpectation", listener);
}

const onlySecured =
  (proxies: Trusted, secured: RequestListener, onPlain: OnPlain): RequestListener =>
  (request, response) => {
    if (saidHttps(request, proxies)) return secured(request, response);
    refusePlain(request, response, onPlain);
  };

/** The optional plain port of direct mode: the API is refused, people's browsers are sent to HTTPS. */
export function plainServer(base_url: string, onPlain: OnPlain): Server {
  return createHttp(limits, (request, response) => {
    // After our own name and a slash nothing can lead to another host, whatever it is.
    const path = (request.url ?? "").replace(/^[/\\]+/, "");
    if (/^api(\/|$|\?)/.test(path)) return refusePlain(request, response, onPlain);
    response.writeHead(308, { location: new URL(`${base_url}/${path}`).href, connection: "close" }).end();
  });
}

const withHsts =
  (handler: RequestListener): RequestListener =>
  (request, response) => {
    response.setHeader("strict-transport-security", "max-age=31536000");
    handler(request, response);
  };

function refusePlain(request: IncomingMessage, response: ServerResponse, onPlain: OnPlain): void {
  const request_id = requestIdOf(request);
  onPlain(request, request_id);
  response.setHeader("x-request-id", request_id);
  response.setHeader("x-error-code", "https_required");
  answer(response, 403, refusal);
}

function answer(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, {
      "content-type": "application/json; charset=utf-8",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      connection: "close",
    })
    .end(body);
}

/** What Node itself could not parse: an answer in our own form, and the end of the connection. */
export function refuseBroken(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const [status, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "The request headers are too large."]
      : ["400 Bad Request", "The request is not valid HTTP."];
  const body = JSON.stringify({ message });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
