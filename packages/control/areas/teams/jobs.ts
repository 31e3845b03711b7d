import Type from "typebox";
import { newToken } from "../../identity/one-time.ts";
import { job } from "../../jobs/jobs.ts";
import { letter } from "../../jobs/letter.ts";

/** Tells the invited. Somebody without an account gets a token with which they may sign up. */
export const inviteMail = job({
  name: "teams.invite-mail",
  data: Type.Object({ id: Type.String() }),
  async run(deps, { id }, job_id) {
    const invitation = await deps.db
      .selectFrom("pending")
      .innerJoin("teams", "teams.tid", "pending.tid")
      .leftJoin("users", "users.uid", "pending.uid")
      .select(["teams.name", "pending.email as address", "users.email as account", "pending.expires_at"])
      .where("pending.id", "=", id)
      .executeTakeFirst();
    const to = invitation?.account ?? invitation?.address;
    if (!deps.mail || !invitation || !to) return;
    let link = `${deps.config.base_url}/pending`;
    if (invitation.account === null) {
      const token = await newToken(deps.db, "invite", { email: to }, invitation.expires_at);
      link = `${deps.config.base_url}/signup#${token}`;
    }
    await deps.mail.send(
      letter(deps, job_id, to, `You are invited to the team ${invitation.name}`, [
        `You are invited to the team ${invitation.name} on Stead. Accept or decline here:`,
        link,
        `The invitation waits until ${invitation.expires_at.toISOString().slice(0, 10)}.`,
      ]),
    );
  },
});
