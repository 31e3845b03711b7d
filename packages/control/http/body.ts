/** Request bodies: JSON objects in UTF-8, at most 256 KiB, with nothing in them that reaches for a prototype. */
import { createHash } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import secureJson from "secure-json-parse";

export const mostBody = 256 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export function acceptJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: mostBody }, (request, bytes, done) => {
    try {
      done(null, parse(request, bytes as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

function parse(request: FastifyRequest, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!isJson(request.headers["content-type"])) throw new Fault("invalid", "invalid_body", "Send the body as `Content-Type: application/json`.");
  if (request.headers["content-encoding"] !== undefined) throw new Fault("invalid", "invalid_body", "Compressed request bodies are not supported.");
  // The body as it came, for telling whether a repeated idempotency key stands for the same request.
  if (request.headers["idempotency-key"] !== undefined) request.bodyDigest = createHash("sha256").update(bytes).digest("hex");
  try {
    return secureJson.parse(utf8.decode(bytes), undefined, { protoAction: "error", constructorAction: "error" });
  } catch (error) {
    throw new Fault("invalid", "invalid_json", "Request body is not valid JSON.", { cause: error });
  }
}

function isJson(contentType: string | undefined): boolean {
  const [type = "", ...parameters] = (contentType ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  return type === "application/json" && parameters.every((parameter) => parameter === "" || /^charset="?utf-8"?$/.test(parameter));
}
