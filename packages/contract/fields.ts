/**
 * The vocabulary of the interface: each field's grammar, once. Rules that a pattern cannot say
 * (time zones, domain names, cron dates, SSH keys …) are named formats; the process that checks them
 * must know the format, or it does not start.
 *
 * Own keywords: `prefix` (an identifier of that kind), `says` (the rule in words, for error messages),
 * `trim` (surrounding blanks are removed and the text is put in NFC before the rule is checked),
 * `multiline` (newlines are allowed).
 */
import Type, { type TSchema, type TStringOptions } from "typebox";
import { example, exampleOf } from "./example.ts";

/** Our own keywords beside JSON Schema's. */
export const keywords = ["prefix", "says", "trim", "multiline"] as const;

/** Identifier kinds and their prefixes. */
export const prefixes = {
  uid: "usr",
  sid: "srv",
  wid: "web",
  did: "db",
  dbuid: "dbu",
  kid: "key",
  suid: "sys",
  cid: "crn",
  fid: "ftp",
  eid: "eml",
  zone_id: "zon",
  tid: "team",
  backup_id: "bak",
  invoice_id: "inv",
  forwarder_id: "fwd",
  record_id: "rec",
  activity_id: "act",
  login_id: "lgn",
  pending_id: "pnd",
  oid: "op",
  key_id: "ak",
} as const;
export type IdName = keyof typeof prefixes;

/** An identifier in a reply. */
export const Id = <Name extends IdName>(name: Name) =>
  Type.String({
    prefix: prefixes[name],
    pattern: `^${prefixes[name]}_[0-9a-hjkmnp-tv-z]{26}$`,
    ...example(`${prefixes[name]}_01jcpv1w2n9w5eph2j1v0a7q3r`),
  });

/** An identifier in a body: any text that names nothing usable is "not found", never "malformed". */
export const Ref = (name: IdName | "plan_id") =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    says: "must be an identifier",
    ...example(name === "plan_id" ? "pro" : `${prefixes[name]}_01jcpv1w2n9w5eph2j1v0a7q3r`),
  });

/** A moment that the caller chooses. */
export const FutureTime = Type.String({ format: "date-time", maxLength: 40, says: "must be a time in the future such as 2027-11-15T09:30:00Z", ...example("2027-11-15T09:30:00.000Z") });
export const Day = Type.String({ format: "date", ...example("2026-12-31") });
export const moment = (shown: string) => Type.String({ format: "date-time", ...example(shown) });
export const Timestamp = moment("2026-11-15T09:30:00.000Z");

/** In our own records a value that is not known is null, never absent. */
export const Nullable = <T extends TSchema>(schema: T, shown: unknown = exampleOf(schema)) => Type.Union([schema, Type.Null()], example(shown));

export const text = (options: TStringOptions & { says?: string; trim?: boolean; multiline?: boolean }, shown: string) => Type.String({ ...options, ...example(shown) });

export const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values, shown: Values[number] = values[0], options: { default?: Values[number]; description?: string } = {}) =>
  Type.Enum([...values] as unknown as Values, { ...options, says: `must be one of ${values.join(", ")}`, ...example(shown) });

export const flag = (shown: boolean, description?: string) => Type.Boolean({ ...(description ? { description } : {}), ...example(shown) });

export const count = (shown: number, options: { minimum?: number; maximum?: number; description?: string; default?: number; says?: string } = {}) =>
  Type.Integer({ ...options, ...example(shown) });

// People

export const EmailAddress = text(
  { maxLength: 254, format: "mail-address", pattern: "^[A-Za-z0-9!#$%&'*+/=?^_{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$", trim: true, says: "must be an e-mail address" },
  "ada@example.com",
);
export const PersonName = text({ maxLength: 100, trim: true, says: "must be at most 100 characters" }, "Ada");
export const Phone = text({ pattern: "^(\\+[1-9][0-9]{6,14})?$", says: "must be a phone number in E.164 form such as +4915112345678, or empty" }, "+4915112345678");
export const OldPassword = text({ minLength: 1, maxLength: 256, says: "must be 1 to 256 characters" }, "correct horse battery");
export const NewPassword = text({ minLength: 8, maxLength: 128, says: "must be 8 to 128 characters" }, "staple tractor violet");
export const OneTimeToken = text({ minLength: 1, maxLength: 128, says: "must be the token from the message" }, "q0c3kT8m1Zb5w7uYx2sVn4rLp6dHj9aEfGiKoQtSuWy");
export const Otp = text({ pattern: "^[0-9]{6}$", says: "must be the six digits of the one-time password" }, "492039");
/** Letters that are hard to misread and spell no words, as RFC 8628 advises. */
export const UserCode = text({ pattern: "^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$", says: "must be the code that the device shows, such as WDJB-MJHT" }, "WDJB-MJHT");
export const ApiKey = text({ pattern: "^steads?_[0-9A-Za-z]{46}$" }, "stead_0000000000000000000000000000000000000000000000");

// Things with names

export const ServerName = text({ minLength: 1, maxLength: 64, trim: true, says: "must be 1 to 64 characters" }, "web-1");
export const TeamName = text({ minLength: 1, maxLength: 64, trim: true, says: "must be 1 to 64 characters" }, "Operations");
export const Label = text({ minLength: 1, maxLength: 64, trim: true, says: "must be 1 to 64 characters" }, "laptop");
export const PlanId = text({ pattern: "^[a-z0-9][a-z0-9_-]{0,63}$" }, "pro");

// Money

export const Amount = count(900, { description: "Integer minor units of the currency." });
export const Currency = text({ pattern: "^[A-Z]{3}$" }, "EUR");

// Networks

export const Cidr = text({ format: "cidr", maxLength: 43, says: "must be an address range such as 192.0.2.0/24 or 2001:db8::/32" }, "192.0.2.0/24");
