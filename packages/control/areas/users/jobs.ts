import Type from "typebox";
import { job } from "../../jobs/jobs.ts";

/** A deleted account leaves no history. What others did on it goes too; what it did on others' servers stays theirs. */
export const eraseHistory = job({
  name: "user.erase-history",
  data: Type.Object({ uid: Type.String() }),
  async run({ db }, { uid }) {
    await db.deleteFrom("activity").where("uid", "=", uid).execute();
    await db.deleteFrom("logins").where("uid", "=", uid).execute();
  },
});
