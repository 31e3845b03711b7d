/** Passwords of accounts: Argon2id from node:crypto, as a PHC string so that the cost can rise without a migration. */
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { Fault } from "@stead/base/fault.ts";
import { dictionary } from "@zxcvbn-ts/language-common";

const derive = promisify(argon2);
const cost = { memory: 19 * 1024, passes: 2, parallelism: 1, tagLength: 32 };
const phc = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

const normal = (password: string): Buffer => Buffer.from(password.normalize("NFC"));
const bare = (bytes: Buffer): string => bytes.toString("base64").replace(/=+$/, "");

export const isSamePassword = (one: string, other: string): boolean => normal(one).equals(normal(other));

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await derive("argon2id", { message: normal(password), nonce, ...cost });
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${bare(nonce)}$${bare(tag)}`;
}

/** A hash of nothing anybody knows: an unknown account costs an attacker the same time as a known one. */
let decoy: Promise<string> | null = null;

export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  decoy ??= hashPassword(randomBytes(32).toString("hex"));
  const [, memory, passes, parallelism, nonce = "", tag = ""] = phc.exec(stored ?? (await decoy)) ?? [];
  const expected = Buffer.from(tag, "base64");
  const found = await derive("argon2id", {
    message: normal(password),
    nonce: Buffer.from(nonce, "base64"),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  });
  return timingSafeEqual(found, expected) && stored !== null;
}

let common: ReadonlySet<string> | null = null;

/** The rules that a length cannot say. */
export function requireGoodPassword(field: string, password: string, email: string): void {
  const refuse = (code: string, message: string) => new Fault("invalid", "validation_failed", message, { fields: [{ field, code, message }] });
  if (password.toLowerCase() === email.toLowerCase()) throw refuse("is_email", `\`${field}\` must not be your e-mail address.`);
  common ??= new Set(dictionary["passwords-common"] as string[]);
  if (common.has(password.toLowerCase())) throw refuse("common", `\`${field}\` is one of the passwords that are tried first. Choose another.`);
}
