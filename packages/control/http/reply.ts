/** Sending an answer: entity tags and 304 on safe reads, compression where it pays. */
import { hash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { tagListed } from "./steer.ts";

const compressFrom = 1024;
const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Weak: the same data may be sent with and without compression. */
export const tagOf = (body: string): string => `W/"${hash("sha1", body, "base64url")}"`;

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** `onUnchanged` is told before a 304 goes out: what the caller already had costs them nothing. */
export async function sendRead(request: FastifyRequest, reply: FastifyReply, body: string, onUnchanged: () => void): Promise<void> {
  const tag = tagOf(body);
  reply.header("etag", tag).header("cache-control", "private, no-cache");
  const known = request.headers["if-none-match"];
  if (known === undefined || !tagListed(known, tag)) return sendJson(request, reply, { status: 200, body, headers: {} });
  onUnchanged();
  reply.code(304).send();
}

export async function sendJson(request: FastifyRequest, reply: FastifyReply, { status, body, headers }: Answer): Promise<void> {
  reply.code(status).headers(headers).header("content-type", "application/json; charset=utf-8");
  const coding = body.length > compressFrom ? codingFor(String(request.headers["accept-encoding"] ?? "")) : null;
  if (body.length > compressFrom) reply.header("vary", [reply.getHeader("vary"), "accept-encoding"].filter(Boolean).join(", "));
  if (coding === null) reply.send(body);
  else if (coding === "br") reply.header("content-encoding", "br").send(await brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }));
  else reply.header("content-encoding", "gzip").send(await zip(body));
}

function codingFor(accepted: string): "br" | "gzip" | null {
  if (accepted === "") return null;
  const offers = accepted
    .toLowerCase()
    .split(",")
    .map((offer) => offer.trim().split(/\s*;\s*/));
  const takes = (name: string) => offers.some(([coding, quality]) => coding === name && !/^q=0(\.0*)?$/.test(quality ?? ""));
  return takes("br") ? "br" : takes("gzip") ? "gzip" : null;
}
