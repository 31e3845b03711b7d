/**
 * One call over HTTP, with the retries that are safe. Whether a repeat is safe is a property of the operation,
 * never of its method: a change carries an idempotency key. One that cannot (nobody is signed in yet) or whose answer
 * is a secret shown once is repeated only after a 429, which says that nothing was done.
 */
import type { Operation } from "@stead/contract/operation.ts";
import { SteadError, SteadUnreachable } from "./errors.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Reuse a key of your own to make a change happen once even across restarts of your program. */
  readonly idempotency_key?: string;
  readonly dry_run?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly retries?: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface TransportOptions {
  readonly base_url: string;
  readonly api_key?: string | undefined;
  readonly fetch: typeof fetch;
  readonly retries: number;
  /** For one call with all its retries. */
  readonly timeout_ms: number;
}

export interface Request {
  readonly op: Operation;
  readonly path: string;
  readonly body: unknown;
}

const longestWait_s = 60;
const backoff_ms = 500;
const longestBackoff_ms = 8000;

export async function send(transport: TransportOptions, request: Request, options: CallOptions): Promise<Reply> {
  const { op } = request;
  const over_ms = Date.now() + transport.timeout_ms;
  const deadline = AbortSignal.timeout(transport.timeout_ms);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  const headers = headersFor(transport, request, options);
  // A secret is asked for once, whatever comes back: it may be on its way already.
  const tries = op.effect === "change" && op.secret ? 1 : 1 + (options.retries ?? transport.retries);
  const repeatable = op.effect === "read" || op.scope !== "open";
  for (let attempt = 1; ; attempt++) {
    const outcome = await once(transport, request, headers, signal);
    if (!(outcome instanceof SteadUnreachable) && outcome.status < 400) return outcome;
    const wait_ms = waitBefore(attempt, outcome);
    const inTime = !signal.aborted && Date.now() + wait_ms < over_ms;
    if (attempt >= tries || !inTime || !worthRepeating(outcome, repeatable)) throw outcome instanceof SteadUnreachable ? outcome : asError(outcome);
    await pause(wait_ms, signal);
  }
}

function headersFor(transport: TransportOptions, { op, body }: Request, options: CallOptions): Record<string, string> {
  return {
    accept: "application/json",
    // A misspelt field is an error here, not silence.
    prefer: "handling=strict",
    ...(transport.api_key ? { authorization: `Bearer ${transport.api_key}` } : {}),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(op.effect === "change" && op.scope !== "open" ? { "idempotency-key": options.idempotency_key ?? crypto.randomUUID() } : {}),
    ...(options.dry_run ? { "x-dry-run": "true" } : {}),
    ...options.headers,
  };
}

async function once(
  transport: TransportOptions,
  { op, path, body }: Request,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Reply | SteadUnreachable> {
  try {
    const response = await transport.fetch(`${transport.base_url}/api/v2${path}`, {
      method: op.method,
      headers,
      signal,
      redirect: "error",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // A refusal may come from something in front of the service, in its own words: the status says enough.
    return { status: response.status, headers: response.headers, body: response.status < 400 || isJson(response.headers) ? JSON.parse(text || "null") : null };
  } catch (error) {
    return new SteadUnreachable(signal.aborted ? "The call was stopped before an answer came." : "The service could not be reached.", error);
  }
}

const isJson = (headers: Headers): boolean => /^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get("content-type") ?? "");

/** A change without a key of its own is repeated only where it is certain that nothing has happened. */
function worthRepeating(outcome: Reply | SteadUnreachable, repeatable: boolean): boolean {
  if (outcome instanceof SteadUnreachable) return repeatable;
  const { status, headers } = outcome;
  if (status === 429 || !repeatable) return status === 429;
  return (status >= 500 && status <= 504 && status !== 501) || (status === 409 && headers.has("retry-after"));
}

/** What the service asks for, or exponential backoff with full jitter. */
function waitBefore(attempt: number, outcome: Reply | SteadUnreachable): number {
  const asked = outcome instanceof SteadUnreachable ? Number.NaN : Number.parseInt(outcome.headers.get("retry-after") ?? "", 10);
  if (Number.isFinite(asked)) return Math.min(asked, longestWait_s) * 1000;
  return Math.random() * Math.min(backoff_ms * 2 ** (attempt - 1), longestBackoff_ms);
}

function asError({ status, headers, body }: Reply): SteadError {
  const message = (body as { message?: unknown } | null)?.message;
  return new SteadError(
    status,
    headers.get("x-error-code") ?? "unknown",
    typeof message === "string" ? message : `The service answered ${status}.`,
    headers.get("x-request-id") ?? "",
  );
}

const pause = (wait_ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(done, wait_ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
