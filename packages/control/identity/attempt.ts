import { tooManyRequests } from "@stead/base/fault.ts";
import type { Deps } from "../deps.ts";
import { verifyPassword } from "./password.ts";

/**
 * Checks a password, within the few wrong ones that an account is allowed. The place is taken before the check
 * and given back when the password was right: guesses that come all at once find no more places than one by one.
 */
export async function tryPassword({ limiter }: Deps, email: string, password: string, stored: string | null): Promise<boolean> {
  const account = email.toLowerCase();
  const place = limiter.take("password", account);
  if (!place.allowed) throw tooManyRequests(place.retry_after_s);
  const right = await verifyPassword(password, stored);
  if (right) limiter.refund("password", account);
  return right;
}
