/** The service said no. `code` is what a program looks at; `message` is for people. */
export class SteadError extends Error {
  readonly status: number;
  readonly code: string;
  readonly request_id: string;

  constructor(status: number, code: string, message: string, request_id: string) {
    super(message);
    this.name = "SteadError";
    this.status = status;
    this.code = code;
    this.request_id = request_id;
  }
}

/** No answer came: the network failed, or time ran out. What was asked may or may not have happened. */
export class SteadUnreachable extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "SteadUnreachable";
  }
}
