/** What an operator meets: migrating, starting against the wrong thing, the first account, and `stead admin`. */
import { SteadError } from "@stead/sdk/client.ts";
import { createDatabase, type OwnDatabase } from "@stead/testkit/postgres.ts";
import { endLeftovers, freePorts, runStead, type SteadProcess, spawnStead, startStead } from "@stead/testkit/process.ts";
import { until } from "@stead/testkit/until.ts";
import { testClient, testEnv } from "@stead/testkit/world.ts";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";

const password = "staple tractor violet";

async function emptyDatabase(): Promise<OwnDatabase> {
  const database = await createDatabase(inject("postgres_url"));
  onTestFinished(() => database.drop());
  return database;
}

async function rows(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const tokenIn = (stdout: string): string | undefined => /^ {2}([0-9A-Za-z]{43})$/m.exec(stdout)?.[1];

afterAll(endLeftovers);

describe("migrate", () => {
  test("two at once on an empty database both succeed, and a third has nothing to do", async () => {
    const { url } = await emptyDatabase();
    const both = await Promise.all([runStead(["migrate"], testEnv(url)), runStead(["migrate"], testEnv(url))]);
    expect(both.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    const applied = both.flatMap(({ stdout }) => stdout.split("\n").filter((line) => line.startsWith("applied")));
    expect(new Set(applied).size).toBe(applied.length);
    expect(applied.length).toBeGreaterThan(0);
    expect((await runStead(["migrate"], testEnv(url))).stdout).toBe("The database is up to date.\n");
    expect(await rows(url, "select count(*)::int as plans from plans")).toEqual([{ plans: 1 }]);
    expect(await rows(url, "select count(*)::int as months from pg_inherits where inhparent in ('activity'::regclass, 'logins'::regclass)")).toEqual([
      { months: 10 },
    ]);
  });

  test("many rounds of two at once, with a start of two right after", { timeout: 60_000 }, async () => {
    for (let round = 0; round < 3; round++) {
      const { url } = await emptyDatabase();
      const both = await Promise.all([runStead(["migrate"], testEnv(url)), runStead(["migrate"], testEnv(url))]);
      expect(both.map(({ code, stderr }) => [code, stderr])).toEqual(Array(2).fill([0, ""]));
      const ports = await Promise.all([freePorts(), freePorts()]);
      const pair = ports.map((own) => spawnStead({ database_url: url, ports: own }));
      await Promise.all(pair.map(({ ready }) => ready));
      // On an empty installation one of them tells the token and the other that it was told.
      await Promise.all(pair.map((stead) => told(stead, "There is no account yet.")));
      expect(pair.map(({ stdout }) => tokenIn(stdout)).filter(Boolean)).toHaveLength(1);
      expect(await Promise.all(pair.map((stead) => stead.kill("SIGTERM")))).toEqual(Array(2).fill({ code: 0, signal: null }));
    }
  });

  test("after a kill in the middle, the next one finishes", async () => {
    const { url } = await emptyDatabase();
    for (const wait_ms of [450, 550, 650, 750]) await runStead(["migrate"], testEnv(url), wait_ms);
    expect((await runStead(["migrate"], testEnv(url))).code).toBe(0);
    const stead = await startStead({ database_url: url });
    expect(await stead.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  });
});

describe("a start that cannot work says what to do", () => {
  const failing = async (env: Record<string, string>, command = ["serve"]) => {
    const { code, stdout, stderr } = await runStead(command, env);
    expect(code).not.toBe(0);
    expect(code).not.toBe(null);
    expect(stdout).toBe("");
    // Words, not a stack.
    expect(stderr).not.toMatch(/\n\s+at /);
    return stderr;
  };

  test("no database", async () => {
    const { internal } = await freePorts();
    const nowhere = `postgres://stead:secret@127.0.0.1:${internal}/stead`;
    for (const command of [["serve"], ["migrate"], ["admin", "user", "list"]]) {
      expect(await failing(testEnv(nowhere), command)).toBe(
        `PostgreSQL does not answer (connect ECONNREFUSED 127.0.0.1:${internal}). Check DATABASE_URL and that the server runs.\n`,
      );
    }
    expect(await failing(testEnv(nowhere.replace("127.0.0.1", "nowhere.invalid")))).toContain("Check DATABASE_URL");
  });

  test("a database that was never migrated, or not by this version", async () => {
    const { url } = await emptyDatabase();
    expect(await failing(testEnv(url))).toMatch(/^The database is not ready for this version: it lacks 0001_people, .*Run "stead migrate" first\.\n$/);
    expect(await failing(testEnv(url), ["admin", "user", "list"])).toContain('Run "stead migrate" first.');
    await runStead(["migrate"], testEnv(url));
    await rows(url, "delete from kysely_migration where name = '0002_servers'");
    expect(await failing(testEnv(url))).toContain("it lacks 0002_servers.");
    await rows(url, "insert into kysely_migration values ('0002_servers', now()::text); drop schema pgboss cascade");
    expect(await failing(testEnv(url))).toContain("it lacks the job engine's tables.");
  });

  test("a wrong password, and a database that is not there", async () => {
    const { url } = await emptyDatabase();
    const stranger = new URL(url);
    stranger.password = "guess";
    expect(await failing(testEnv(stranger.href))).toContain("Check the user and password in DATABASE_URL.");
    const elsewhere = new URL(url);
    elsewhere.pathname = "/nowhere";
    expect(await failing(testEnv(elsewhere.href))).toContain("Create it, or correct DATABASE_URL.");
  });

  test("an address that is taken, and a certificate that is not there", async () => {
    const { url } = await emptyDatabase();
    await runStead(["migrate"], testEnv(url));
    const stead = await startStead({ database_url: url });
    onTestFinished(() => stead.kill().then(() => {}));
    expect(await failing({ ...testEnv(url), STEAD_BIND: new URL(stead.url).host })).toContain("Choose another STEAD_BIND or STEAD_INTERNAL_BIND.");
    expect(await failing({ ...testEnv(url), STEAD_INTERNAL_BIND: new URL(stead.internal_url).host })).toContain(
      "Choose another STEAD_BIND or STEAD_INTERNAL_BIND.",
    );
    const tls = { STEAD_INSECURE_HTTP: "", STEAD_TLS: "direct", STEAD_TLS_CERT: "/nowhere/cert.pem", STEAD_TLS_KEY: "/nowhere/key.pem" };
    expect(await failing({ ...testEnv(url), ...tls })).toContain("Check STEAD_TLS_CERT and STEAD_TLS_KEY");
  });

  test("a bad configuration, all of it at once, whatever the command", async () => {
    for (const command of [["serve"], ["migrate"], ["admin", "user", "list"]]) {
      const said = await failing({ STEAD_BIND: "everywhere", STEAD_SIGNUP: "maybe" }, command);
      for (const name of ["DATABASE_URL", "STEAD_BASE_URL", "STEAD_BIND", "STEAD_TLS", "STEAD_SIGNUP"]) expect(said).toContain(`  - ${name} must be`);
    }
  });

  test("a command that does not exist; help and version need no configuration", async () => {
    expect(await failing({}, ["sevre"])).toContain('There is no command "sevre".');
    for (const command of [[], ["help"], ["--help"]])
      expect(await runStead(command, {})).toMatchObject({ code: 0, stdout: expect.stringContaining("stead serve"), stderr: "" });
    expect(await runStead(["--version"], {})).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});

describe("the first account", () => {
  let database: OwnDatabase;
  let stead: SteadProcess;
  beforeAll(async () => {
    database = await createDatabase(inject("postgres_url"));
    await runStead(["migrate"], testEnv(database.url));
    stead = await startStead({ database_url: database.url });
  });
  afterAll(async () => {
    await stead.kill();
    await database.drop();
  });
  const signup = (email: string, invite_token?: string) =>
    testClient(stead.url).auth.signup({ email, password, ...(invite_token === undefined ? {} : { invite_token }) });
  const refused = { status: 403, code: "signup_closed" };
  const admin = (...args: string[]) => runStead(["admin", ...args], testEnv(database.url));
  let token: string;

  test("nobody signs up on an empty installation without the token", async () => {
    await expect(signup("eve@example.com")).rejects.toMatchObject({ ...refused, message: expect.stringContaining("set-up token") });
    await expect(signup("eve@example.com", "x".repeat(43))).rejects.toMatchObject(refused);
    expect(await rows(database.url, "select count(*)::int as users from users")).toEqual([{ users: 0 }]);
  });

  test("the token is told once, and never lies in the database or the log", async () => {
    await told(stead, "set-up token");
    token = tokenIn(stead.stdout) as string;
    expect(token).toHaveLength(43);
    const second = await startStead({ database_url: database.url });
    await told(second, "There is no account yet.");
    expect(tokenIn(second.stdout)).toBeUndefined();
    expect(second.stdout).toContain("was printed before still works");
    await second.kill("SIGTERM");
    expect(JSON.stringify(await rows(database.url, "select * from one_time_tokens"))).not.toContain(token);
    expect(stead.stdout.split("\n").filter((line) => line.includes(token))).toEqual([`  ${token}`]);
  });

  test("`stead admin setup-token` makes a new one, and the old one is dead", async () => {
    const { code, stdout } = await admin("setup-token");
    expect(code).toBe(0);
    await expect(signup("ada@example.com", token)).rejects.toMatchObject(refused);
    token = stdout.trim();
    expect(token).toHaveLength(43);
  });

  test("of several that use it at once one becomes the administrator; then it is worthless", async () => {
    const tries = await Promise.allSettled(Array.from({ length: 5 }, (_, n) => signup(`ada${n}@example.com`, token)));
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const attempt of tries) if (attempt.status === "rejected") expect(attempt.reason).toMatchObject(refused);
    expect(await rows(database.url, "select role, verified_at is not null as verified from users")).toEqual([{ role: "admin", verified: true }]);
    expect(await rows(database.url, "select count(*)::int as entries from activity where action = 'user.signup'")).toEqual([{ entries: 1 }]);
    await expect(signup("eve@example.com", token)).rejects.toMatchObject(refused);
  });

  test("from then on there is no set-up token, and everybody else is a user", async () => {
    expect(await admin("setup-token")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "There are accounts already; a set-up token is for the first one only.\n",
    });
    const later = await startStead({ database_url: database.url });
    await later.kill("SIGTERM");
    expect(later.stdout).not.toContain("no account");
    await signup("grace@example.com");
    expect(await rows(database.url, "select role from users where email = 'grace@example.com'")).toEqual([{ role: "user" }]);
  });

  test("`stead admin user …` lists, changes the role, suspends and resumes", async () => {
    const { stdout } = await admin("user", "list");
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => line.split("\t"));
    expect(lines).toEqual([
      [expect.stringMatching(/^usr_/), expect.stringMatching(/^ada\d@/), "admin", "active", "self-hosted"],
      [expect.stringMatching(/^usr_/), "grace@example.com", "user", "active", "self-hosted"],
    ]);
    expect((await admin("user", "role", "Grace@Example.com", "admin")).stdout).toBe("grace@example.com: role admin, active\n");
    expect((await admin("user", "role", "grace@example.com", "user")).stdout).toBe("grace@example.com: role user, active\n");

    const { token: session } = await testClient(stead.url).auth.login({ email: "grace@example.com", password });
    const grace = testClient(stead.url, session);
    const { uid } = await grace.users.me();
    await grace.teams.create({ uid, name: "Before" });
    expect((await admin("user", "suspend", "grace@example.com")).stdout).toBe("grace@example.com: role user, suspended\n");
    await expect(grace.teams.create({ uid, name: "Meanwhile" })).rejects.toSatisfy((error) => error instanceof SteadError && error.status === 403);
    expect((await admin("user", "resume", "grace@example.com")).stdout).toBe("grace@example.com: role user, active\n");
    await grace.teams.create({ uid, name: "After" });
  });

  test("what does not fit is refused with the usage, and changes nothing", async () => {
    expect(await admin("user", "suspend", "nobody@example.com")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: "No account has the address nobody@example.com.\n",
    });
    for (const args of [
      [],
      ["user"],
      ["user", "role", "grace@example.com"],
      ["user", "role", "grace@example.com", "root"],
      ["user", "suspend"],
      ["setup-token", "please"],
      ["user", "list", "all"],
      ["user", "suspend", "grace@example.com", "now"],
    ]) {
      expect(await admin(...args), args.join(" ")).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("stead admin user list") });
    }
    expect(await rows(database.url, "select role, status from users where email = 'grace@example.com'")).toEqual([{ role: "user", status: "active" }]);
  });
});

/** Waits until it has written that. */
const told = (stead: SteadProcess, text: string) => until(() => stead.stdout.includes(text));
