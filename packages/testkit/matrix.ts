/**
 * Who gets which answer: the cells of data/authorisation-matrix.csv for the operations of the interface, and the same
 * rules said from scope and role for our own, which the table does not list.
 */
import { readFileSync } from "node:fs";
import type { Operation, Role } from "@stead/contract/operation.ts";

export const columns = [
  "anonymous",
  "invalid_key",
  "revoked_key",
  "deleted_user_key",
  "agent_credential",
  "stranger_victim_uid",
  "stranger_own_uid_victim_object",
  "pending_invitee",
  "pending_transfer_target",
  "former_owner",
  "team_member_own_uid",
  "team_member_owner_uid",
  "owner_mismatched_chain",
  "owner",
] as const;

/** The table's columns, and a team's viewer, whom it does not know. */
export type Column = (typeof columns)[number] | "team_viewer_own_uid";

/** `2xx` on the owner's things, `own-2xx` on the caller's own, or the status of the refusal. */
export type Cell = "2xx" | "own-2xx" | "401" | "403" | "404" | "n/a";

export type Row = Readonly<Record<Column, Cell>>;

export function readMatrix(): ReadonlyMap<string, Row> {
  const [head = "", ...lines] = readFileSync(new URL("data/authorisation-matrix.csv", import.meta.url), "utf8")
    .trim()
    .split(/\r?\n/);
  const names = head.split(",");
  return new Map(
    lines.map((line) => {
      const fields = line.split(",");
      const at = (name: string) => fields[names.indexOf(name)] as string;
      const cells = columns.map((column) => [column, at(column) === "200" ? "2xx" : at(column)]);
      const row = Object.fromEntries(cells) as Record<Column, Cell>;
      return [`${at("method")} ${at("path")}`, { ...row, team_viewer_own_uid: viewerOf(row, at("mutates") === "1") }];
    }),
  );
}

/** Like a member, but on what is shared a viewer only reads. */
const viewerOf = ({ team_member_own_uid: member }: Row | Record<Column, Cell>, changes: boolean): Cell => (member === "2xx" && changes ? "403" : member);

const rank: Record<Role, number> = { viewer: 0, member: 1, owner: 2 };
const outsiders = ["stranger_own_uid_victim_object", "pending_invitee", "pending_transfer_target", "former_owner"] as const;
const keyless = ["anonymous", "invalid_key", "revoked_key", "deleted_user_key", "agent_credential"] as const;

const every = (names: readonly Column[], cell: Cell) => Object.fromEntries(names.map((name) => [name, cell]));

/** The row of an operation that is ours. */
export function rowOf(op: Operation): Row {
  const all = every([...columns, "team_viewer_own_uid"], "2xx") as Row;
  if (op.scope === "open") return { ...all, owner_mismatched_chain: "n/a" };
  const credentialed: Row = { ...all, ...every(keyless, "401") };
  if (op.scope === "key") return credentialed;
  const theirs: Row = { ...credentialed, stranger_victim_uid: "403", team_member_owner_uid: "403", owner_mismatched_chain: "n/a" };
  const objects = op.path.match(/\{\w+\}/g)?.length ?? 0;
  if (op.scope === "user") return { ...theirs, ...every([...outsiders, "team_member_own_uid", "team_viewer_own_uid"], objects > 1 ? "404" : "own-2xx") };
  const inTeam = (role: Role): Cell => (rank[role] >= rank[op.role] ? "2xx" : "403");
  return {
    ...theirs,
    ...every(outsiders, "404"),
    owner_mismatched_chain: objects > 2 ? "404" : "n/a",
    team_member_own_uid: inTeam("member"),
    team_viewer_own_uid: inTeam("viewer"),
  };
}
