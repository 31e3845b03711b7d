/** The account itself: profile, password, primary key, history, and its end. */
import { randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import type { users } from "@stead/contract/users.ts";
import { type Handlers, many, one, page, prepared } from "../../http/handler.ts";
import { tryPassword } from "../../identity/attempt.ts";
import { hashOf, newCredential } from "../../identity/credential.ts";
import { hashPassword, isSamePassword, requireGoodPassword } from "../../identity/password.ts";
import { endAccess } from "../../identity/sessions.ts";
import { eraseHistory } from "./jobs.ts";
import * as store from "./store.ts";

const wrongPassword = () => new Fault("forbidden", "wrong_password", "`old_password` is wrong.");

export const handlers: Handlers<typeof users> = {
  get: one((db, { uid }) => store.profile(db, uid as string)),
  me: one((db, { uid }) => store.profile(db, uid as string)),
  login_history: page((db, { uid }) => store.logins(db, uid as string)),
  activity: page((db, { uid }) => store.activity(db, uid as string)),
  pending: many((db, { uid }) => store.pending(db, uid as string)),

  async update({ tx, actor, body, record }) {
    const changed = Object.keys(body);
    if (changed.length > 0) {
      await tx.updateTable("users").set(body).where("uid", "=", actor.uid).execute();
      record({ action: "user.update", detail: `Changed ${changed.join(", ")} of the profile.` });
    }
    const data = await tx.selectFrom("users").select(["uid", "first_name", "last_name", "phone"]).where("uid", "=", actor.uid).executeTakeFirstOrThrow();
    return { data };
  },

  change_password: prepared<typeof users.change_password, { old_hash: string; new_hash: string | null }>({
    async prepare({ db, deps, actor, body }) {
      const user = await db.selectFrom("users").select(["email", "password_hash"]).where("uid", "=", actor.uid).executeTakeFirstOrThrow();
      if (isSamePassword(body.new_password, body.old_password))
        throw new Fault("invalid", "validation_failed", "`new_password` must differ from `old_password`.");
      requireGoodPassword("new_password", body.new_password, user.email);
      const right = await tryPassword(deps, user.email, body.old_password, user.password_hash);
      return { old_hash: user.password_hash, new_hash: right ? await hashPassword(body.new_password) : null };
    },
    async run({ tx, actor, record }, { old_hash, new_hash }) {
      // Of two changes at once, the second knows a password that is old by now.
      const changed = new_hash !== null && (await store.replacePassword(tx, actor.uid, old_hash, new_hash));
      if (!changed) return wrongPassword();
      await endAccess(tx, actor.uid, actor.session_id);
      record({ action: "user.password_change", detail: "Changed the password. All other sessions ended." });
      return { message: "Password changed." };
    },
  }),

  async regenerate_api_key({ tx, actor, record }) {
    const api_key = newCredential("stead_");
    await store.replacePrimaryKey(tx, { key_id: randomUUIDv7(), uid: actor.uid, hash: hashOf(api_key), last4: api_key.slice(-4) });
    record({ action: "user.api_key_regenerate", detail: `Replaced the primary API key. The new one ends in ${api_key.slice(-4)}.` });
    return { data: { api_key } };
  },

  async delete({ tx, actor, deps }) {
    await store.requireNotLastAdmin(tx, actor.uid);
    await store.remove(tx, actor.uid);
    await deps.jobs.send(tx, eraseHistory, { uid: actor.uid });
    return { message: "Account deleted." };
  },
};
