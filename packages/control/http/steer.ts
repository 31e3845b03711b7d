/** Request headers that steer a call: idempotency, dry run, strictness, preconditions. A malformed one is refused, never guessed at. */

import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "@stead/base/fault.ts";

export interface Steering {
  readonly idempotency_key: string | null;
  readonly dry_run: boolean;
  readonly strict: boolean;
  readonly if_match: string | null;
}

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

export function steering(headers: IncomingHttpHeaders): Steering {
  const key = headers["idempotency-key"];
  if (key !== undefined && (Array.isArray(key) || !visibleAscii.test(key))) {
    throw new Fault("invalid", "invalid_header", "`Idempotency-Key` must be 1 to 255 visible ASCII characters.");
  }
  const dryRun = headers["x-dry-run"];
  if (dryRun !== undefined && dryRun !== "true" && dryRun !== "false") throw new Fault("invalid", "invalid_header", "`X-Dry-Run` must be true or false.");
  return {
    idempotency_key: (key as string | undefined) ?? null,
    dry_run: dryRun === "true",
    strict: preferences(headers.prefer).has("handling=strict"),
    if_match: headers["if-match"] ?? null,
  };
}

const preferences = (prefer: string | string[] | undefined): Set<string> =>
  new Set(
    String(prefer ?? "")
      .split(",")
      .map((word) =>
        word
          .trim()
          .toLowerCase()
          .replace(/\s*=\s*/, "="),
      ),
  );

export const isPrefetch = (headers: IncomingHttpHeaders): boolean =>
  String(headers["sec-purpose"] ?? "")
    .toLowerCase()
    .startsWith("prefetch") || String(headers.purpose ?? "").toLowerCase() === "prefetch";

/** Does an `If-Match` or `If-None-Match` list name this tag? Weak comparison: our tags are weak. */
export const tagListed = (header: string, tag: string): boolean => {
  const bare = (text: string) => text.trim().replace(/^W\//, "");
  return header.trim() === "*" || header.split(",").some((entry) => bare(entry) === bare(tag));
};
