/**
 * Bearer tokens: `stead_` (keys) or `steads_` (sessions), 40 random base62 characters and 6 of a checksum,
 * so that a mistyped or cut-off key is refused without a look at the database. Stored as SHA-256 only.
 */
import { hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const shape = /^(steads?_)([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/;
const bearer = /^bearer +([\x21-\x7e]+)$/i;

export const hashOf = (secret: string): Buffer => hash("sha256", secret, "buffer");

const randomText = (length: number): string => Array.from({ length }, () => base62[randomInt(62)]).join("");

function checksum(text: string): string {
  let rest = crc32(text);
  let out = "";
  for (let i = 0; i < 6; i++) {
    out = base62[rest % 62] + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}

export function newCredential(prefix: "stead_" | "steads_"): string {
  const random = randomText(40);
  return `${prefix}${random}${checksum(prefix + random)}`;
}

/** A secret for one use, sent by mail or printed once. */
export const newSecret = (): string => randomText(43);

interface Headed {
  readonly headers: { readonly authorization?: string | undefined };
  /** Names and values in turn, as they came: only here do two headers of one name show. */
  readonly rawHeaders: readonly string[];
}

/** The one bearer token of a request: null when there is none, "bad" when it cannot be valid. */
export function tokenOf(request: Headed): string | null {
  const header = request.headers.authorization;
  if (header === undefined) return null;
  let seen = 0;
  for (let i = 0; i < request.rawHeaders.length; i += 2) if (request.rawHeaders[i]?.toLowerCase() === "authorization") seen++;
  const token = bearer.exec(header)?.[1];
  if (seen !== 1 || token === undefined) return "bad";
  const parts = shape.exec(token);
  return parts && checksum(`${parts[1]}${parts[2]}`) === parts[3] ? token : "bad";
}
