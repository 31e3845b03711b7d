/**
 * Getting in without a key: sign-up, sign-in, lost passwords and the device flow of the CLI.
 * The refresh cookie works on these paths only; everything else wants `Authorization: Bearer`.
 */
import Type from "typebox";
import { ApiKey, count, EmailAddress, flag, Id, Label, moment, NewPassword, OldPassword, OneTimeToken, Otp, PersonName, text, UserCode } from "./fields.ts";
import { data, message, onUser, operation } from "./operation.ts";

export const Session = Type.Object({
  token: ApiKey,
  expires_at: moment("2026-11-15T09:45:00.000Z"),
  uid: Id("uid"),
});

export const DeviceGrant = Type.Object({
  device_code: OneTimeToken,
  user_code: UserCode,
  verification_uri: text({ description: "Where the person enters the code." }, "https://stead.example.com/device"),
  expires_in: count(900, { description: "Seconds until both codes are worthless." }),
  interval: count(5, { description: "Seconds to wait between two questions for the token." }),
});

export const auth = {
  signup: operation({
    method: "POST", path: "/ext/auth/signup", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Create an account; an address that already has one gets the same answer and a message by e-mail",
    body: Type.Object({
      email: EmailAddress,
      password: NewPassword,
      first_name: Type.Optional(PersonName),
      last_name: Type.Optional(PersonName),
      invite_token: Type.Optional(OneTimeToken),
    }),
    reply: data(Type.Object({ uid: Id("uid"), email: text({}, "ada@example.com"), verified: flag(false) })), status: 201,
    faults: ["not_found", "signup_closed"],
  }),
  login: operation({
    method: "POST", path: "/ext/auth/login", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Sign in; also sets the refresh cookie",
    body: Type.Object({ email: EmailAddress, password: OldPassword, otp: Type.Optional(Otp) }),
    reply: data(Session), secret: true, faults: ["unauthenticated", "otp_required"],
  }),
  refresh: operation({
    method: "POST", path: "/ext/auth/refresh", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Get a new session token for the refresh cookie",
    reply: data(Session), secret: true, faults: ["unauthenticated"],
  }),
  logout: operation({
    method: "POST", path: "/ext/auth/logout", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "End the session of the refresh cookie",
    reply: message("Signed out."),
  }),
  verify: operation({
    method: "POST", path: "/ext/auth/verify", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Confirm an e-mail address with the token that was sent to it",
    body: Type.Object({ token: OneTimeToken }),
    reply: message("E-mail address verified."), faults: ["not_found"],
  }),
  resend_verification: operation({
    method: "POST", path: "/ext/auth/verify/resend", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Send the verification message again; the answer does not tell whether the account exists",
    body: Type.Object({ email: EmailAddress }),
    reply: message("If the account exists and is not verified, a message is on its way."),
  }),
  forgot: operation({
    method: "POST", path: "/ext/auth/forgot", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Ask for a password reset by e-mail; the answer does not tell whether the account exists",
    body: Type.Object({ email: EmailAddress }),
    reply: message("If the account exists, a message is on its way."),
  }),
  reset: operation({
    method: "POST", path: "/ext/auth/reset", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Set a new password with the token from the message; ends all sessions",
    body: Type.Object({ token: OneTimeToken, new_password: NewPassword }),
    reply: message("Password changed."), faults: ["not_found"],
  }),
  device: operation({
    method: "POST", path: "/ext/auth/device", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Begin a sign-in on a device without a browser (RFC 8628)",
    body: Type.Object({ client_name: Type.Optional(Label) }),
    reply: data(DeviceGrant), secret: true,
  }),
  device_token: operation({
    method: "POST", path: "/ext/auth/device/token", scope: "open", effect: "change", needs: "any", rate: "auth",
    summary: "Get the session token once the person has approved the device",
    body: Type.Object({ device_code: OneTimeToken }),
    reply: data(Session), secret: true, faults: ["not_found", "authorization_pending"],
  }),
  // A guessed code would hand out a session, so guesses are counted strictly.
  device_approve: operation({
    method: "POST", path: onUser("/ext/auth/device/approve"), scope: "user", effect: "change", needs: "full", rate: "sensitive",
    summary: "Approve the sign-in of the device that shows this code",
    body: Type.Object({ user_code: UserCode }),
    reply: message("Device approved."), unverified: true,
  }),
};
