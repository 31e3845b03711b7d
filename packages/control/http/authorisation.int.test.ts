/**
 * Every mounted operation, asked by everybody: each gets the cell of the authorisation matrix, whether what they send is
 * right or wrong, and a refusal leaves every table as it was.
 */
import type { Operation } from "@stead/contract/operation.ts";
import { addressOf, type Call, callOf, mounted } from "@stead/testkit/calls.ts";
import { type Cast, castIn, makeTeam } from "@stead/testkit/cast.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { digestOf } from "@stead/testkit/digest.ts";
import { type Cell, type Column, columns, type Row, readMatrix, rowOf } from "@stead/testkit/matrix.ts";
import { ask } from "@stead/testkit/wire.ts";
import { type Person, startWorld, type World } from "@stead/testkit/world.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newCredential } from "../identity/credential.ts";

const database = testDatabase();
let world: World;
let cells = 0;

beforeAll(async () => {
  world = await startWorld({ database_url: database.url });
  // Nothing works in the background: what changes is what a request changed.
  await world.running.deps.jobs.stop();
});
afterAll(async () => {
  await world.stop();
  process.stdout.write(`authorisation: ${cells} cells of ${mounted.length} operations\n`);
});

const matrix = readMatrix();
const listed = (op: Operation): Row | undefined => matrix.get(`${op.method} /api/v2${op.path}`);
const isListed = ({ op }: { op: Operation }) => listed(op) !== undefined;

interface Attempt {
  readonly column: Column;
  /** Null comes without a key. */
  readonly keys: readonly (string | null)[];
  readonly uid: string;
  /** Whose things are in the path and in the body. */
  readonly subject: Person;
}

const jwt = `eyJhbGciOiJlZDI1NTE5LW5rZXkiLCJ0eXAiOiJKV1QifQ.${Buffer.from('{"sub":"UAGENT","nats":{}}').toString("base64url")}.${"A".repeat(86)}`;
const enrolment = `steade_${"a1B2".repeat(11)}xy`;

function attempts({ owner, member, viewer, invitee, target, former, stranger, deleted, revoked_key }: Cast, row: Row): Attempt[] {
  const without = (column: Column, ...keys: (string | null)[]): Attempt => ({ column, keys, uid: owner.uid, subject: owner });
  const asSelf = (column: Column, { key, uid }: Person): Attempt => ({ column, keys: [key], uid, subject: owner });
  const asOwner = (column: Column, { key }: Person): Attempt => ({ column, keys: [key], uid: owner.uid, subject: owner });
  const people = {
    stranger_own_uid_victim_object: stranger,
    pending_invitee: invitee,
    pending_transfer_target: target,
    former_owner: former,
    team_member_own_uid: member,
    team_viewer_own_uid: viewer,
  };
  const all = [
    without("anonymous", null),
    without("invalid_key", newCredential("stead_"), newCredential("steads_"), "stead_short"),
    without("revoked_key", revoked_key),
    { ...without("deleted_user_key", deleted.key), uid: deleted.uid },
    without("agent_credential", jwt, enrolment),
    asOwner("stranger_victim_uid", stranger),
    asOwner("team_member_owner_uid", member),
    asSelf("owner_mismatched_chain", owner),
    ...Object.entries(people).map(([column, person]) => ({
      ...asSelf(column as Column, person),
      ...(row[column as Column] === "own-2xx" ? { subject: person } : {}),
    })),
    asSelf("owner", owner),
  ];
  // First who is refused, then who succeeds: a success may take away what the next one stands on. The owner comes last.
  const refused = ({ column }: Attempt) => !row[column].endsWith("2xx");
  return [...all.filter(refused), ...all.filter((attempt) => !refused(attempt))].filter(({ column }) => row[column] !== "n/a");
}

/** Something that breaks a rule of the operation, or null where there is nothing to get wrong. */
function broken(op: Operation): { query?: string; body?: unknown; headers?: Record<string, string> } | null {
  if (op.query) return { query: "?page=0" };
  if (op.body) return { body: { [Object.keys(op.body.properties)[0] as string]: 5 } };
  return op.method === "GET" ? null : { body: "{", headers: { "content-type": "application/json" } };
}

/** A path whose objects all are the owner's, but do not belong together. */
async function mismatched({ owner }: Cast, call: Call): Promise<Call> {
  return { ...call, params: { ...call.params, tid: (await makeTeam(world, owner)).id } };
}

async function walk(op: Operation, name: string, row: Row): Promise<string[]> {
  const cast = await castIn(world);
  const wrong: string[] = [];
  let before = "";
  const send = async (attempt: Attempt, key: string | null, call: Call, valid: boolean) => {
    const bad = valid ? null : broken(op);
    if (!valid && bad === null) return;
    const { status, text, headers } = await ask(world.url, addressOf(op, attempt.uid, call.params) + (bad?.query ?? ""), {
      method: op.method,
      headers: { ...call.headers, ...bad?.headers },
      body: bad?.body ?? call.body,
      ...(key === null ? {} : { key }),
    });
    cells++;
    const expected = (valid && laterRefusals[`${name} ${attempt.column}`]) || statusFor(row[attempt.column], op, valid);
    const complain = (what: string) => wrong.push(`${attempt.column}, ${valid ? "valid" : "invalid"}: ${what}`);
    if (status !== expected) complain(`${expected} expected, ${status} ${String(headers["x-error-code"])} ${text}`);
    if (status >= 400 && !/^\{"message":"[^"]+"\}$/.test(text.replaceAll('\\"', ""))) complain(`the body is ${text}`);
    if (status >= 400 && before !== (await tables())) complain("something changed");
  };
  for (const attempt of attempts(cast, row)) {
    for (const key of attempt.keys) {
      const made = await callOf(name)(cast, attempt.subject);
      const call = attempt.column === "owner_mismatched_chain" ? await mismatched(cast, made) : made;
      before = await tables();
      await send(attempt, key, call, false);
      await send(attempt, key, call, true);
    }
  }
  return wrong;
}

const tables = async () => JSON.stringify(await digestOf(world.db));

/** Not a question of rank, so it comes after the body: the owner of a team cannot leave it. */
const laterRefusals: Readonly<Record<string, number>> = { "teams.leave owner": 403 };

const statusFor = (cell: Cell, op: Operation, valid: boolean): number => (cell.endsWith("2xx") ? (valid ? op.status : 400) : Number(cell));

test("the matrix lists 70 operations, and every mounted one is in it or is an extension", () => {
  expect(matrix.size).toBe(70);
  expect(mounted.filter((each) => isListed(each) === each.op.extension)).toEqual([]);
});

test.each(mounted.filter(isListed))("$name: everybody gets the cell of the matrix", async ({ name, op }) => {
  expect(await walk(op, name, listed(op) as Row)).toEqual([]);
});

test.each(mounted.filter((each) => !isListed(each)))("$name: everybody gets what scope and role say", async ({ name, op }) => {
  expect(await walk(op, name, rowOf(op))).toEqual([]);
});

test("the rules that fill the extensions' rows are the ones of the matrix", () => {
  for (const { op } of mounted.filter(isListed)) expect(rowOf(op), op.path).toEqual(listed(op));
  expect(columns).toHaveLength(14);
});
