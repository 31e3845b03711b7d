#!/usr/bin/env node
/** `stead serve | migrate | admin …`. The only file that reads the environment. */
import { styleText } from "node:util";
import { Fault } from "@stead/base/fault.ts";
import { describeError } from "@stead/base/log.ts";
import { admin, type FirstRun } from "./admin.ts";
import { type Config, ConfigProblems, readConfig } from "./config.ts";
import { version } from "./version.ts";

const usage = `stead ${version}

  stead serve                     run the control plane
  stead migrate                   bring the database to the newest shape
  stead admin setup-token         print a new set-up token for the first account
  stead admin user list           list the accounts
  stead admin user role EMAIL ROLE        make an account an admin or a user
  stead admin user suspend EMAIL          suspend an account (or: resume EMAIL)

Settings come from the environment; docs/self-hosting.md lists them.
`;

const say = (text: string) => void process.stdout.write(`${text}\n`);
const complain = (text: string) => void process.stderr.write(`${text}\n`);

async function runServe(config: Config): Promise<void> {
  // Listened to from the first moment: a signal that comes while it starts is kept until it can stop properly.
  const asked = new Promise<string>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, resolve);
  });
  // Loaded here and not above, so that the short commands need not wait for a server's worth of code.
  const [{ serve }, { processLog }, { smtpMail }] = await Promise.all([import("./serve.ts"), import("./log.ts"), import("./outside/mail.ts")]);
  const log = processLog();
  const mail = config.mail ? smtpMail(config.mail) : null;
  const running = await serve(config, log, { mail });
  log.info("serving", { bind: `${config.bind.host}:${config.bind.port}`, version });
  const first = await admin.firstRun(running.deps.db, running.deps.clock.now());
  if (first) say(welcome(first));
  log.info("stopping", { signal: await asked });
  try {
    await running.stop();
  } catch (error) {
    log.error("the stop was not clean", describeError(error));
    process.exitCode = 1;
  }
  mail?.close();
  log.flush();
  // Everything accepted is done; a mail server that hangs must not hold up the end.
  process.exit();
}

const welcome = ({ token }: FirstRun): string =>
  token === null
    ? '\nThere is no account yet. The set-up token that was printed before still works; "stead admin setup-token" prints a new one.\n'
    : `\nThere is no account yet. Create the first one, an administrator, with this set-up token:\n\n  ${token}\n\nIt works once, for 24 hours. "stead admin setup-token" prints a new one.\n`;

async function main([command, ...args]: string[]): Promise<void> {
  if (command === undefined || command === "help" || command === "--help") return say(usage);
  if (command === "--version" || command === "version") return say(version);
  if (!["serve", "migrate", "admin"].includes(command)) throw new Fault("invalid", "usage", `There is no command "${command}".\n\n${usage}`);
  const config = readConfig(process.env);
  if (command === "serve") return runServe(config);
  if (command === "migrate") {
    const { migrate } = await import("./migrate.ts");
    const done = await migrate(config.database_url, config.plans);
    return say(done.length === 0 ? "The database is up to date." : done.map((name) => `applied ${name}`).join("\n"));
  }
  say(await admin.run(config, args, usage));
}

main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof ConfigProblems)
    complain(`${styleText("red", "The configuration has problems:")}\n${error.problems.map((problem) => `  - ${problem}`).join("\n")}`);
  else if (error instanceof Fault) complain(error.message);
  else complain(explain(error));
  process.exit(error instanceof Fault ? 2 : 1);
});

/** The accidents of a first start, in words. */
function explain(error: unknown): string {
  const code = (error as { code?: string }).code;
  const text = error instanceof Error ? error.message : String(error);
  if (code === "ECONNREFUSED" || code === "ENOTFOUND") return `PostgreSQL does not answer (${text || code}). Check DATABASE_URL and that the server runs.`;
  if (code === "28P01" || code === "28000") return `PostgreSQL refused the sign-in (${text}). Check the user and password in DATABASE_URL.`;
  if (code === "3D000") return `There is no such database (${text}). Create it, or correct DATABASE_URL.`;
  if (code === "42P01" || code === "3F000") return `The database has no tables yet (${text}). Run "stead migrate" first.`;
  if (code === "EADDRINUSE") return `The address is in use (${text}). Choose another STEAD_BIND or STEAD_INTERNAL_BIND.`;
  if (code === "EACCES" || code === "ENOENT") return `${text}. Check STEAD_TLS_CERT and STEAD_TLS_KEY, and the rights on them.`;
  return error instanceof Error && error.stack ? error.stack : text;
}
