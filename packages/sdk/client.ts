/**
 * The typed client: a loop over the contract. `client.teams.create({ name: "Operations" })` sends what the operation
 * describes and gives back its `data`; ids of the path, query and body go in one object, and `uid` is the key's own
 * unless given.
 */
import { contract, everyOperation } from "@stead/contract/index.ts";
import { type BodyOf, type Operation, type Params, type PathOf, paramsOf, type QueryOf, type ReplyOf } from "@stead/contract/operation.ts";
import { SteadError } from "./errors.ts";
import { type CallOptions, type Reply, send, type TransportOptions } from "./transport.ts";

export { SteadError, SteadUnreachable } from "./errors.ts";
export type { CallOptions, Reply } from "./transport.ts";

export interface ClientOptions {
  /** Such as `https://panel.example.com`. Plain HTTP is refused except to this machine. */
  readonly base_url: string;
  readonly api_key?: string;
  readonly uid?: string;
  readonly fetch?: typeof fetch;
  readonly retries?: number;
  readonly timeout_ms?: number;
}

type Contract = typeof contract;
type Plain<T> = { [Key in keyof T]: T[Key] };

/** Everything an operation takes, in one object; `uid` may be left out. */
export type Arguments<Op> = Plain<Omit<Params<PathOf<Op>>, "uid"> & { uid?: string } & BodyOf<Op> & QueryOf<Op>>;

export interface Page<Entry> extends AsyncIterable<Entry> {
  readonly data: Entry[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
}

export type Result<Op> =
  ReplyOf<Op> extends { data: (infer Entry)[]; total: number } ? Page<Entry> : ReplyOf<Op> extends { data: infer Data } ? Data : ReplyOf<Op>;

type Call<Op> =
  Record<never, never> extends Arguments<Op>
    ? (args?: Arguments<Op>, options?: CallOptions) => Promise<Result<Op>>
    : (args: Arguments<Op>, options?: CallOptions) => Promise<Result<Op>>;

export type Client = { readonly [Area in keyof Contract]: { readonly [Name in keyof Contract[Area]]: Call<Contract[Area][Name]> } } & {
  /** The bare answer with its headers, for those who need them. Throws like the methods do. */
  call(name: string, args?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<Reply>;
};

const operations = new Map<string, Operation>(everyOperation.map(({ name, op }) => [name, op]));

export function createClient(options: ClientOptions): Client {
  const transport: TransportOptions = {
    base_url: safeBase(options.base_url),
    api_key: options.api_key,
    fetch: options.fetch ?? globalThis.fetch,
    retries: options.retries ?? 2,
    timeout_ms: options.timeout_ms ?? 60_000,
  };
  let own: Promise<string> | null = options.uid === undefined ? null : Promise.resolve(options.uid);
  const ownUid = (): Promise<string> => {
    own ??= call("users.me").then(
      ({ body }) => (body as { data: { uid: string } }).data.uid,
      (error: unknown) => {
        own = null;
        throw error;
      },
    );
    return own;
  };

  async function call(name: string, args: Readonly<Record<string, unknown>> = {}, callOptions: CallOptions = {}): Promise<Reply> {
    const op = operations.get(name);
    if (!op) throw new TypeError(`there is no operation ${name}`);
    const params = paramsOf(op.path);
    const given = params.includes("uid") && args.uid === undefined ? { ...args, uid: await ownUid() } : args;
    return send(transport, { op, path: pathOf(op, params, given), body: bodyOf(op, params, given) }, callOptions);
  }

  async function result(name: string, args: Readonly<Record<string, unknown>> = {}, callOptions: CallOptions = {}): Promise<unknown> {
    const { body } = await call(name, args, callOptions);
    if (typeof body !== "object" || body === null || !("data" in body)) return body;
    return "total" in body
      ? walkable(body as unknown as Page<unknown>, (page) => result(name, { ...args, page }, callOptions) as Promise<Page<unknown>>)
      : body.data;
  }

  const areas = Object.entries(contract).map(([area, operationsOfArea]) => [
    area,
    Object.fromEntries(
      Object.keys(operationsOfArea).map((key) => [
        key,
        (args?: Record<string, unknown>, callOptions?: CallOptions) => result(`${area}.${key}`, args, callOptions),
      ]),
    ),
  ]);
  return { ...Object.fromEntries(areas), call } as Client;
}

/** `for await` over a page goes on through the pages that follow. */
function walkable(page: Page<unknown>, fetchPage: (page: number) => Promise<Page<unknown>>): Page<unknown> {
  return {
    ...page,
    async *[Symbol.asyncIterator]() {
      let current = page;
      while (true) {
        yield* current.data;
        if (current.page * current.limit >= current.total || current.data.length === 0) return;
        current = await fetchPage(current.page + 1);
      }
    },
  };
}

function pathOf(op: Operation, params: readonly string[], args: Readonly<Record<string, unknown>>): string {
  const path = params.reduce((text, name) => {
    if (typeof args[name] !== "string" || args[name] === "") throw new TypeError(`\`${name}\` is required`);
    // A URL drops these, and with them a part of the path: what is left could be another operation.
    if (args[name] === "." || args[name] === "..") throw new TypeError(`\`${name}\` must be an id`);
    return text.replace(`{${name}}`, encodeURIComponent(args[name]));
  }, op.path);
  const query = Object.keys(op.query?.properties ?? {}).filter((name) => args[name] !== undefined);
  return query.length === 0 ? path : `${path}?${new URLSearchParams(query.map((name): [string, string] => [name, String(args[name])])).toString()}`;
}

/** Whatever is neither in the path nor in the query, so that a misspelt field reaches the service and is refused there. */
function bodyOf(op: Operation, params: readonly string[], args: Readonly<Record<string, unknown>>): unknown {
  if (!op.body) return undefined;
  const elsewhere = new Set([...params, ...Object.keys(op.query?.properties ?? {})]);
  return Object.fromEntries(Object.entries(args).filter(([name, value]) => !elsewhere.has(name) && value !== undefined));
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function safeBase(base_url: string): string {
  const { protocol, hostname } = new URL(base_url);
  if (protocol !== "https:" && !(protocol === "http:" && loopback.test(hostname)))
    throw new SteadError(0, "https_required", "The address of the service must begin with https://.", "");
  return base_url.replace(/\/+$/, "");
}
