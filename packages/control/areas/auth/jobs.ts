/**
 * Messages about getting in. A secret is made when the message is sent, so none ever lies in the queue.
 * Whether an address has an account is looked up here and not in the request, whose time would tell it.
 */
import Type from "typebox";
import { inHours, newToken } from "../../identity/one-time.ts";
import { job } from "../../jobs/jobs.ts";
import { letter } from "../../jobs/letter.ts";
import * as store from "./store.ts";

const verify_hours = 48;
const reset_hours = 1;

export const verificationMail = job({
  name: "auth.verification-mail",
  data: Type.Object({ email: Type.String() }),
  async run(deps, { email }, id) {
    const user = await store.findByEmail(deps.db, email);
    if (!deps.mail || !user || user.verified_at) return;
    const token = await newToken(deps.db, "verify", { uid: user.uid }, inHours(deps.clock.now(), verify_hours));
    await deps.mail.send(
      letter(deps, id, user.email, "Confirm your e-mail address", [
        "Welcome to Stead. Confirm that this address is yours:",
        `${deps.config.base_url}/verify#${token}`,
        `The link works for ${verify_hours} hours. If you did not sign up, ignore this message.`,
      ]),
    );
  },
});

export const resetMail = job({
  name: "auth.reset-mail",
  data: Type.Object({ email: Type.String() }),
  async run(deps, { email }, id) {
    const user = await store.findByEmail(deps.db, email);
    if (!deps.mail || !user) return;
    const token = await newToken(deps.db, "reset", { uid: user.uid }, inHours(deps.clock.now(), reset_hours));
    await deps.mail.send(
      letter(deps, id, user.email, "Set a new password", [
        "Somebody asked for a new password for your Stead account. Set it here:",
        `${deps.config.base_url}/reset#${token}`,
        `The link works for ${reset_hours} hour. If it was not you, ignore this message: nothing has changed.`,
      ]),
    );
  },
});

export const accountExistsMail = job({
  name: "auth.account-exists-mail",
  data: Type.Object({ email: Type.String() }),
  async run(deps, { email }, id) {
    const user = await store.findByEmail(deps.db, email);
    if (!deps.mail || !user) return;
    await deps.mail.send(
      letter(deps, id, user.email, "You already have an account", [
        "Somebody tried to sign up for Stead with this address, but it already has an account.",
        `Sign in: ${deps.config.base_url}/login`,
        `Lost your password? ${deps.config.base_url}/forgot`,
        "If it was not you, ignore this message.",
      ]),
    );
  },
});
