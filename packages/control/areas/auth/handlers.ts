/** Getting in without a key. No answer tells whether an address has an account, and none takes less time for saying no. */
import { randomInt, randomUUIDv7 } from "node:crypto";
import { Fault } from "@stead/base/fault.ts";
import { formatId } from "@stead/base/id.ts";
import type { auth } from "@stead/contract/auth.ts";
import { sql } from "kysely";
import type { Tx } from "../../db/pool.ts";
import type { Deps } from "../../deps.ts";
import { type Handlers, prepared, type Sender } from "../../http/handler.ts";
import { tryPassword } from "../../identity/attempt.ts";
import { hashOf, newSecret } from "../../identity/credential.ts";
import { consumeToken } from "../../identity/one-time.ts";
import { hashPassword, requireGoodPassword } from "../../identity/password.ts";
import { beginSession, cookieName, endAccess, issueToken, noCookie } from "../../identity/sessions.ts";
import { accountExistsMail, resetMail, verificationMail } from "./jobs.ts";
import * as store from "./store.ts";

const device_s = 900;
const pollEvery_s = 5;
/** Without vowels and look-alikes, so that a code is easy to type and spells nothing. */
const codeLetters = "BCDFGHJKLMNPQRSTVWXZ";

const realm = { headers: { "www-authenticate": 'Bearer realm="api"' } };
const wrongCredentials = () => new Fault("unauthenticated", "unauthenticated", "The e-mail address or the password is wrong.", realm);
const noSession = () => new Fault("unauthenticated", "unauthenticated", "You are not signed in.", realm);

/** Signs the user in and leaves the traces of it. */
async function signIn(
  context: { tx: Tx; deps: Deps; sender: Sender; headers: Record<string, string>; record(entry: { action: string; detail: string; uid: string }): void },
  uid: string,
) {
  const { tx, deps, sender, headers, record } = context;
  const session = await beginSession(tx, deps, uid, sender);
  await store.insertLogin(tx, uid, sender.ip);
  record({ action: "user.login", detail: `Signed in from ${sender.ip}.`, uid });
  headers["set-cookie"] = session.cookie;
  return session.reply;
}

export const handlers: Handlers<typeof auth> = {
  signup: prepared<typeof auth.signup, string>({
    prepare({ body }) {
      requireGoodPassword("password", body.password, body.email);
      return hashPassword(body.password);
    },
    async run({ tx, deps, body, headers, record }, password_hash) {
      const { email, first_name = "", last_name = "" } = body;
      const first = await store.isFirstUser(tx);
      const invitation =
        body.invite_token === undefined
          ? undefined
          : await (first ? consumeToken(tx, "setup", body.invite_token) : store.takeInvitation(tx, body.invite_token));
      if (body.invite_token !== undefined && !invitation) throw new Fault("forbidden", "signup_closed", "This invitation is not valid any more.");
      if (first && !invitation)
        throw new Fault("forbidden", "signup_closed", "The first account needs the set-up token that `stead serve` printed. Send it as `invite_token`.");
      if (deps.config.signup === "invited" && !invitation)
        throw new Fault("forbidden", "signup_closed", "This installation takes new accounts by invitation only.");
      const verified = deps.mail === null || first || invitation?.email?.toLowerCase() === email.toLowerCase();
      const inserted = await store.insertUser(tx, { email, password_hash, first_name, last_name, role: first ? "admin" : "user", verified });
      const uid = inserted ?? randomUUIDv7();
      headers.location = `/api/v2/users/${formatId("usr", uid)}`;
      if (inserted === undefined) {
        await deps.jobs.send(tx, accountExistsMail, { email });
        return { data: { uid, email, verified } };
      }
      if (verified) await store.markVerified(tx, uid);
      else await deps.jobs.send(tx, verificationMail, { email });
      record({ action: "user.signup", detail: "Created the account.", uid });
      return { data: { uid, email, verified } };
    },
  }),

  login: prepared<typeof auth.login, { user: { uid: string; password_hash: string } | undefined; right: boolean }>({
    async prepare({ db, deps, body }) {
      const user = await store.findByEmail(db, body.email);
      return { user, right: await tryPassword(deps, body.email, body.password, user?.password_hash ?? null) };
    },
    async run(context, { user, right }) {
      if (!user) return wrongCredentials();
      // A password that was changed since it was checked must not open a session that the change meant to end.
      if (right && (await store.holdPassword(context.tx, user))) return signIn(context, user.uid);
      context.record({ action: "user.login_fail", detail: `Somebody at ${context.sender.ip} tried to sign in with a wrong password.`, uid: user.uid });
      return wrongCredentials();
    },
  }),

  async refresh({ tx, deps, sender }) {
    const session = await store.findSession(tx, sender.cookies[cookieName] ?? "");
    if (!session) throw noSession();
    return issueToken(tx, deps.clock.now(), session.uid, session.session_id);
  },

  async logout({ tx, deps, sender, headers, record }) {
    headers["set-cookie"] = noCookie(deps.config.base_url);
    const session = await store.findSession(tx, sender.cookies[cookieName] ?? "");
    if (session) {
      await tx.deleteFrom("sessions").where("session_id", "=", session.session_id).execute();
      record({ action: "user.logout", detail: "Signed out.", uid: session.uid });
    }
    return { message: "Signed out." };
  },

  async verify({ tx, body, record }) {
    const uid = await store.takeToken(tx, "verify", body.token);
    await store.markVerified(tx, uid);
    record({ action: "user.verify", detail: "Verified the e-mail address.", uid });
    return { message: "E-mail address verified." };
  },

  async resend_verification({ tx, deps, body }) {
    await deps.jobs.send(tx, verificationMail, { email: body.email });
    return { message: "If the account exists and is not verified, a message is on its way." };
  },

  async forgot({ tx, deps, body }) {
    await deps.jobs.send(tx, resetMail, { email: body.email });
    return { message: "If the account exists, a message is on its way." };
  },

  reset: prepared<typeof auth.reset, string>({
    prepare: ({ body }) => hashPassword(body.new_password),
    async run({ tx, body, record }, password_hash) {
      const uid = await store.takeToken(tx, "reset", body.token);
      const { email } = await tx.updateTable("users").set({ password_hash }).where("uid", "=", uid).returning("email").executeTakeFirstOrThrow();
      requireGoodPassword("new_password", body.new_password, email);
      // Whoever read the message holds the address, so it is verified by this too.
      await store.markVerified(tx, uid);
      await endAccess(tx, uid, null);
      record({ action: "user.password_change", detail: "Set a new password by e-mail. All sessions ended.", uid });
      return { message: "Password changed." };
    },
  }),

  async device({ tx, deps, body }) {
    const device_code = newSecret();
    const letters = Array.from({ length: 8 }, () => codeLetters[randomInt(codeLetters.length)]).join("");
    const user_code = `${letters.slice(0, 4)}-${letters.slice(4)}`;
    const expires_at = new Date(deps.clock.now().getTime() + device_s * 1000);
    await tx
      .insertInto("device_logins")
      .values({ device_hash: hashOf(device_code), user_code, client_name: body.client_name ?? "", expires_at })
      .execute();
    return { data: { device_code, user_code, verification_uri: `${deps.config.base_url}/device`, expires_in: device_s, interval: pollEvery_s } };
  },

  async device_token(context) {
    const { tx, body } = context;
    const device = await tx
      .selectFrom("device_logins")
      .select(["device_hash", "uid"])
      .where("device_hash", "=", hashOf(body.device_code))
      .where("expires_at", ">", sql<Date>`now()`)
      .forUpdate()
      .executeTakeFirst();
    if (!device) throw new Fault("not_found", "not_found", "This device code is not valid any more. Begin again.");
    if (device.uid === null) throw new Fault("forbidden", "authorization_pending", "Waiting for the code to be entered. Ask again in a few seconds.");
    await tx.deleteFrom("device_logins").where("device_hash", "=", device.device_hash).execute();
    return signIn(context, device.uid);
  },

  async device_approve({ tx, actor, body, record }) {
    const approved = await tx
      .updateTable("device_logins")
      .set({ uid: actor.uid })
      .where("user_code", "=", body.user_code)
      .where("uid", "is", null)
      .where("expires_at", ">", sql<Date>`now()`)
      .returning("client_name")
      .executeTakeFirst();
    if (!approved) throw new Fault("not_found", "not_found", "No device shows this code. Check it, or begin again on the device.");
    record({ action: "user.device_approve", detail: `Approved a sign-in${approved.client_name === "" ? "" : ` of ${approved.client_name}`}.` });
    return { message: "Device approved." };
  },
};
