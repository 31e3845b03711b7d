import { Fault } from "@stead/base/fault.ts";
import { testDatabase } from "@stead/testkit/database.ts";
import { endLeftovers, startStead } from "@stead/testkit/process.ts";
import { startSmtp } from "@stead/testkit/smtp.ts";
import { until } from "@stead/testkit/until.ts";
import { type Person, startWorld, testClient, type World } from "@stead/testkit/world.ts";
import { sql } from "kysely";
import Type from "typebox";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { inviteMail } from "../areas/teams/jobs.ts";
import { smtpMail } from "../outside/mail.ts";
import { installJobs, Jobs, job } from "./jobs.ts";

const database = testDatabase();
afterAll(endLeftovers);

interface JobRow {
  readonly id: string;
  readonly state: string;
  readonly retry_count: number;
  readonly wait_s: number;
  readonly output: unknown;
}

async function jobsOf(world: World, name: string): Promise<JobRow[]> {
  const { rows } = await sql<JobRow>`
    select id, state::text as state, retry_count, extract(epoch from start_after - now())::float as wait_s, output
    from pgboss.job where name = ${name} order by created_on`.execute(world.db);
  return rows;
}

describe("the queue", () => {
  let world: World;
  let ada: Person;
  beforeAll(async () => {
    world = await startWorld({ database_url: database.url });
    ada = await world.person("ada");
  });
  afterAll(() => world.stop());

  test("a job exists if and only if the transaction that queued it is committed", async () => {
    const { jobs, db } = world.running.deps;
    const queue = (id: string, fails: boolean) =>
      db.transaction().execute(async (tx) => {
        await jobs.send(tx, inviteMail, { id });
        if (fails) throw new Error("rolled back");
      });
    await expect(queue("lost", true)).rejects.toThrow("rolled back");
    await queue("kept", false);
    const { rows } = await sql<{ id: string }>`select data->>'id' as id from pgboss.job where name = ${inviteMail.name}`.execute(db);
    expect(rows).toEqual([{ id: "kept" }]);
  });

  test("a refused change and a dry run queue nothing", async () => {
    const { tid } = await ada.client.teams.create({ name: "Queue" });
    const before = await jobsOf(world, inviteMail.name);
    await ada.client.teams.invite({ tid, email: "guest@example.com" }, { dry_run: true });
    expect(await jobsOf(world, inviteMail.name)).toHaveLength(before.length);
    await ada.client.teams.invite({ tid, email: "guest@example.com" });
    await expect(ada.client.teams.invite({ tid, email: "guest@example.com" })).rejects.toMatchObject({ code: "invite_pending" });
    expect(await jobsOf(world, inviteMail.name)).toHaveLength(before.length + 1);
  });

  test("a Fault ends a job, an accident is tried again, and neither holds up its neighbours", async () => {
    const seen: string[] = [];
    const fussy = job({
      name: "test.fussy",
      data: Type.Object({ how: Type.String() }),
      async run(_deps, { how }) {
        seen.push(how);
        if (how === "fault") throw new Fault("not_found", "not_found", "It is gone.");
        if (how === "accident") throw new Error("The cable was pulled.");
      },
    });
    await installJobs(database.url, [fussy as never]);
    const { deps } = world.running;
    const own = new Jobs(world.db, [fussy as never], deps.log);
    await own.start(deps);
    onTestFinished(() => own.stop());
    await world.db.transaction().execute(async (tx) => {
      for (const how of ["fault", "accident", "fine"]) await own.send(tx, fussy, { how });
    });
    const rows = await until(async () => {
      const found = await jobsOf(world, fussy.name);
      return found.length === 3 && found.every(({ state }) => state !== "created" && state !== "active") && found;
    });
    expect(rows.map(({ state }) => state).sort()).toEqual(["completed", "completed", "retry"]);
    expect(rows.map(({ output }) => output)).toContainEqual({ fault: "not_found" });
    expect(seen.sort()).toEqual(["accident", "fault", "fine"]);
    const retried = rows.find(({ state }) => state === "retry");
    expect(retried?.wait_s).toBeGreaterThan(3);
    expect(retried?.output).toEqual({ error: "The cable was pulled." });
  });

  test("what is done is noted at once, not with the slowest of its batch", async () => {
    const gate = Promise.withResolvers<void>();
    const paced = job({ name: "test.paced", data: Type.Object({ slow: Type.Boolean() }), run: (_deps, { slow }) => (slow ? gate.promise : Promise.resolve()) });
    await installJobs(database.url, [paced as never]);
    const own = new Jobs(world.db, [paced as never], world.running.deps.log);
    await own.start(world.running.deps);
    onTestFinished(() => own.stop());
    await world.db.transaction().execute(async (tx) => {
      for (const slow of [true, false, false]) await own.send(tx, paced, { slow });
    });
    await until(async () => (await jobsOf(world, paced.name)).filter(({ state }) => state === "completed").length === 2);
    expect((await jobsOf(world, paced.name)).map(({ state }) => state).sort()).toEqual(["active", "completed", "completed"]);
    gate.resolve();
    await until(async () => (await jobsOf(world, paced.name)).every(({ state }) => state === "completed"));
  });

  test("a process that knows a job which the database does not says that it must be migrated", async () => {
    const unknown = job({ name: "test.unknown", data: Type.Object({}), run: async () => {} });
    const own = new Jobs(world.db, [unknown as never], world.running.deps.log);
    onTestFinished(() => own.stop());
    await expect(own.start(world.running.deps)).rejects.toThrow('it lacks the queue test.unknown. Run "stead migrate" first.');
  });
});

describe("mail", () => {
  test("a mail server that is busy is asked again, each time after a longer while, with the same message", { timeout: 40_000 }, async () => {
    const smtp = await startSmtp({ refuse_first: 2 });
    const mail = smtpMail({ url: smtp.url, from: "stead@stead.test" });
    const world = await startWorld({ database_url: database.url, mail });
    onTestFinished(async () => {
      await world.stop();
      mail.close();
      await smtp.stop();
    });
    await world.person("first");
    await world.client().auth.signup({ email: "patient@example.com", password: "staple tractor violet" });
    const waits: number[] = [];
    for (let refusal = 1; refusal <= 2; refusal++) {
      const row = await until(async () =>
        (await jobsOf(world, "auth.verification-mail")).find(({ state, retry_count }) => state === "retry" && retry_count === refusal - 1),
      );
      expect(smtp.refused).toBe(refusal);
      waits.push(row.wait_s);
      // Nobody wants to wait for it here.
      await sql`update pgboss.job set start_after = now() where id = ${row.id}`.execute(world.db);
    }
    const letter = await smtp.waitFor(({ to }) => to[0] === "patient@example.com");
    const row = await until(async () => (await jobsOf(world, "auth.verification-mail")).find(({ state }) => state === "completed"));
    expect(letter.message_id).toBe(`<${row.id}@stead.test>`);
    expect(waits[0]).toBeGreaterThan(3);
    expect(waits[0]).toBeLessThanOrEqual(10);
    expect(waits[1]).toBeGreaterThan(8);
    expect(waits[1]).toBeLessThanOrEqual(20);
  });

  test("a job whose process is killed in the middle is done by another, with the same Message-ID", { timeout: 90_000 }, async () => {
    const smtp = await startSmtp({ hold_first: 1 });
    const env = { STEAD_SMTP_URL: smtp.url, STEAD_MAIL_FROM: "stead@stead.test" };
    const doomed = await startStead({ database_url: database.url, env });
    const world = await startWorld({ database_url: database.url, mail: null });
    onTestFinished(async () => {
      await world.stop();
      await smtp.stop();
    });
    const ada = await world.person("ada");
    // Only the process that will be killed takes jobs now.
    await world.running.deps.jobs.stop();
    const client = testClient(doomed.url, ada.key);
    const { tid } = await client.teams.create({ name: "Doomed" });
    await client.teams.invite({ tid, email: "survivor@example.com" });
    await until(async () => smtp.held.length === 1);
    const [taken] = (await jobsOf(world, inviteMail.name)).filter(({ state }) => state === "active");
    await doomed.kill("SIGKILL");

    const heir = await startStead({ database_url: database.url, env });
    onTestFinished(() => heir.kill().then(() => {}));
    const letter = await smtp.waitFor(({ to }) => to[0] === "survivor@example.com", 60_000);
    expect(letter.message_id).toBe(`<${taken?.id}@stead.test>`);
    expect(letter.message_id).toBe(smtp.held[0]?.message_id);
    await until(async () => (await jobsOf(world, inviteMail.name)).find(({ id, state }) => id === taken?.id && state === "completed"));
    expect(smtp.messages.filter(({ to }) => to[0] === "survivor@example.com")).toHaveLength(1);
  });
});
