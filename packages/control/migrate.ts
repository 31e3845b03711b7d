/** `stead migrate`: tables, the job engine, and the first data. */
import { jobs, seedPlans } from "./areas/index.ts";
import type { Config } from "./config.ts";
import { migrateTables } from "./db/migrate.ts";
import { installJobs } from "./jobs/jobs.ts";

export const migrate = (url: string, plans: Config["plans"] = "self-hosted"): Promise<string[]> =>
  migrateTables(url, {
    async after(db) {
      await seedPlans(db, plans);
      await installJobs(url, jobs);
    },
  });
