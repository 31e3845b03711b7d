/** Every area by the name it has in the contract, every job, and every grammar that mounted operations name. */

import { isAddressRange } from "@stead/base/address.ts";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { Format } from "../http/validate.ts";
import type { Job } from "../jobs/jobs.ts";
import { handlers as auth } from "./auth/handlers.ts";
import { accountExistsMail, resetMail, verificationMail } from "./auth/jobs.ts";
import { handlers as billing } from "./billing/handlers.ts";
import { exposureMail } from "./keys/exposure.ts";
import { handlers as keys } from "./keys/handlers.ts";
import { handlers as meta } from "./meta/handlers.ts";
import { handlersFor } from "./pending/handlers.ts";
import { retention } from "./retention.ts";
import { teamInvite } from "./teams/confirmation.ts";
import { handlers as teams } from "./teams/handlers.ts";
import { inviteMail } from "./teams/jobs.ts";
import { handlers as users } from "./users/handlers.ts";
import { eraseHistory } from "./users/jobs.ts";

export const areas = { users, auth, keys, pending: handlersFor([teamInvite]), teams, billing, meta };

export const jobs: readonly Job[] = [verificationMail, resetMail, accountExistsMail, inviteMail, exposureMail, eraseHistory, retention] as readonly Job[];

/** The grammars that the bodies of mounted operations name. */
export const formats: Readonly<Record<string, Format>> = {
  "date-time": (fullFormats["date-time"] as { validate: Format }).validate,
  cidr: isAddressRange,
  // The pattern beside it says the rest; only the length of the local part is more than a pattern can say.
  "mail-address": (text) => text.lastIndexOf("@") <= 64 && text.includes(".", text.lastIndexOf("@")),
};

export { seedPlans } from "./billing/plans.ts";
export { noteExposed } from "./keys/exposure.ts";
