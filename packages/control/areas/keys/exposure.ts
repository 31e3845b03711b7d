/** A key that came over plain HTTP may have been read on the way: its owner is told, once. */
import { randomUUIDv7 } from "node:crypto";
import { timeOf } from "@stead/base/id.ts";
import Type from "typebox";
import type { Deps } from "../../deps.ts";
import { hashOf } from "../../identity/credential.ts";
import { job } from "../../jobs/jobs.ts";
import { letter } from "../../jobs/letter.ts";

export const exposureMail = job({
  name: "keys.exposure-mail",
  data: Type.Object({ uid: Type.String(), last4: Type.String(), revoked: Type.Boolean() }),
  async run(deps, { uid, last4, revoked }, id) {
    const user = await deps.db.selectFrom("users").select("email").where("uid", "=", uid).executeTakeFirst();
    if (!deps.mail || !user) return;
    await deps.mail.send(
      letter(deps, id, user.email, "An API key was sent without encryption", [
        `Your API key that ends in ${last4} was sent to Stead over plain HTTP. The request was refused, but somebody on the way may have read the key.`,
        revoked ? "The key has been revoked. Make a new one, and use an https:// address." : "Replace the key, and use an https:// address.",
      ]),
    );
  },
});

export async function noteExposed(deps: Deps, token: string): Promise<void> {
  await deps.db.transaction().execute(async (tx) => {
    const key = await tx
      .updateTable("credentials")
      .set({ exposed_at: deps.clock.now() })
      .where("hash", "=", hashOf(token))
      .where("exposed_at", "is", null)
      .returning(["key_id", "uid", "last4"])
      .executeTakeFirst();
    if (!key) return;
    const revoked = deps.config.revoke_exposed_keys;
    if (revoked) await tx.deleteFrom("credentials").where("key_id", "=", key.key_id).execute();
    const id = randomUUIDv7();
    const detail = `The API key that ends in ${key.last4} was sent over plain HTTP${revoked ? " and has been revoked" : ""}.`;
    await tx
      .insertInto("activity")
      .values({ id, uid: key.uid, actor_uid: key.uid, sid: null, wid: null, action: "user.api_key_exposed", detail, created_at: timeOf(id) })
      .execute();
    await deps.jobs.send(tx, exposureMail, { uid: key.uid, last4: key.last4, revoked });
    deps.log.warn("a key came over plain HTTP", { key_id: key.key_id, uid: key.uid });
  });
}
