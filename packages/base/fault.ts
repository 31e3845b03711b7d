/**
 * A Fault is an answer; any other Error is an accident.
 * Its message is written for the person who asked and is shown to them as is.
 * The private story goes in `cause`, never in the message.
 */
export const statusOf = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  limited: 429,
  unavailable: 500,
} as const;

export type FaultKind = keyof typeof statusOf;

/** One wrong field of a request, for callers that ask for problem details. */
export interface FieldProblem {
  readonly field: string;
  readonly code: string;
  readonly message: string;
}

export interface FaultDetail {
  readonly cause?: unknown;
  readonly fields?: readonly FieldProblem[];
  readonly headers?: Readonly<Record<string, string>>;
}

export class Fault extends Error {
  readonly kind: FaultKind;
  readonly code: string;
  readonly fields: readonly FieldProblem[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(kind: FaultKind, code: string, message: string, detail: FaultDetail = {}) {
    super(message, { cause: detail.cause });
    this.kind = kind;
    this.code = code;
    this.fields = detail.fields ?? [];
    this.headers = detail.headers ?? {};
  }
}

/** The one refusal that does not depend on what was asked. */
export const tooManyRequests = (retry_after_s: number): Fault =>
  new Fault("limited", "rate_limited", "Too many requests", { headers: { "retry-after": String(retry_after_s) } });
