/**
 * What an area gives the edge: for each operation of its contract either a query (a read that is one statement
 * together with the credential check) or a function. A changing function runs inside the one transaction
 * that the edge opened for it and never opens its own.
 */
import type { Fault } from "@stead/base/fault.ts";
import type { Area, BodyOf, Operation, Params, PathOf, QueryOf, ReplyOf, Role } from "@stead/contract/operation.ts";
import type { SelectQueryBuilder } from "kysely";
import type { Db, Tx } from "../db/pool.ts";
import type { ActivityRecord, OperationRecord } from "../db/records.ts";
import type { Deps } from "../deps.ts";

/** Who is asking, as the credential says. */
export interface Actor {
  readonly uid: string;
  readonly key_id: string;
  readonly session_id: string | null;
}

export interface ServerAccess {
  readonly sid: string;
  readonly owner_uid: string;
  readonly role: Role;
}

export interface TeamAccess {
  readonly tid: string;
  readonly name: string;
  readonly owner_uid: string;
  readonly role: Role;
}

/** What the request says about its sender, for sign-ins. */
export interface Sender {
  readonly ip: string;
  readonly user_agent: string;
  readonly cookies: Readonly<Record<string, string>>;
}

interface Common<Op> {
  readonly deps: Deps;
  readonly params: Params<PathOf<Op>>;
  readonly query: Required<QueryOf<Op>>;
  readonly sender: Sender;
}

type Credentialed<Op> = Op extends { scope: "open" } ? unknown : { readonly actor: Actor };
type Chained<Op> = (PathOf<Op> extends `${string}{sid}${string}` ? { readonly server: ServerAccess } : unknown) &
  (PathOf<Op> extends `${string}{tid}${string}` ? { readonly team: TeamAccess } : unknown);

export type ReadContext<Op> = Common<Op> & Credentialed<Op> & Chained<Op> & { readonly db: Db };

export type ChangeContext<Op> = Common<Op> &
  Credentialed<Op> &
  Chained<Op> & {
    readonly tx: Tx;
    readonly body: BodyOf<Op>;
    /** Extra headers of the reply, such as `Location`. */
    readonly headers: Record<string, string>;
    record(entry: ActivityRecord): void;
    /** The long work that this change starts; the caller is told where to follow it. */
    begin(operation: OperationRecord): void;
  };

/** The same before the transaction is open. */
export type PrepareContext<Op> = Omit<ChangeContext<Op>, "tx" | "record" | "begin" | "headers"> & { readonly db: Db };

type Awaitable<T> = T | Promise<T>;

/** A Fault that is returned, not thrown, keeps what was written: a failed sign-in is remembered and still refused. */
export type Outcome<Op> = ReplyOf<Op> | Fault;

export type Change<Op> = (context: ChangeContext<Op>) => Awaitable<Outcome<Op>>;

/** Slow work (hashing a password) is done before the transaction is opened, so that it holds no connection and no lock. */
export interface Prepared<Op, P = unknown> {
  prepare(context: PrepareContext<Op>): Promise<P>;
  run(context: ChangeContext<Op>, prepared: P): Awaitable<Outcome<Op>>;
}

export const prepared = <Op, P>(handler: Prepared<Op, P>): Prepared<Op> => handler as unknown as Prepared<Op>;

/** Values that are known when the statement runs: the path's ids and the caller. */
export type Holes = Readonly<Record<string, string>>;

// biome-ignore lint/suspicious/noExplicitAny: what a row holds is checked against the contract by the walk over every operation.
export type AnySelect = SelectQueryBuilder<any, any, any>;
type Build = (db: Db, holes: Holes) => AnySelect;

export interface Query {
  readonly shape: "one" | "many" | "page";
  readonly build: Build;
}

/** `{data: row}`; no row is "not found". */
export const one = (build: Build): Query => ({ shape: "one", build });
/** `{data: [rows]}`, in the query's own order. */
export const many = (build: Build): Query => ({ shape: "many", build });
/** `{data, total, page, limit}`, newest first by `created_at` and `id`, which the query must select. */
export const page = (build: Build): Query => ({ shape: "page", build });

export type Read<Op> = Query | ((context: ReadContext<Op>) => Awaitable<ReplyOf<Op>>);

export type Handlers<A extends Area> = {
  readonly [Name in keyof A]: A[Name] extends { effect: "read" } ? Read<A[Name]> : Change<A[Name]> | Prepared<A[Name]>;
};

export type AnyHandler = Query | Prepared<Operation> | ((context: never) => unknown);
