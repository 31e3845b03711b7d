/** What an answer to a team invitation does. */
import { Fault } from "@stead/base/fault.ts";
import type { Tx } from "../../db/pool.ts";
import type { Confirmation } from "../confirmation.ts";

/** A team that is deleted at the same moment takes its invitations with it. */
async function holdTeam(tx: Tx, tid: string | null) {
  const team = await tx.selectFrom("teams").select(["tid", "name"]).where("tid", "=", tid).forShare().executeTakeFirst();
  if (!team) throw new Fault("not_found", "not_found", "Not found.");
  return team;
}

export const teamInvite: Confirmation = {
  type: "team_invite",
  async accept({ tx, actor, record }, { tid, asked_by }) {
    const team = await holdTeam(tx, tid);
    await tx
      .insertInto("team_members")
      .values({ tid: team.tid, uid: actor.uid, role: "member" })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    record({ action: "team.join", detail: `Joined the team ${team.name}.`, uid: asked_by });
  },
  async decline({ tx, record }, { tid, asked_by }) {
    const { name } = await holdTeam(tx, tid);
    record({ action: "team.decline", detail: `Declined an invitation to the team ${name}.`, uid: asked_by });
  },
  async cancel({ tx, record }, { tid }) {
    const { name } = await holdTeam(tx, tid);
    record({ action: "team.cancel_invite", detail: `Took back an invitation to the team ${name}.` });
  },
};
