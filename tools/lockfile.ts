/**
 * Completes package-lock.json with the optional packages of other platforms. npm leaves out those that the
 * registry it asked does not hold, as many mirrors hold one platform only, and `npm ci` then refuses the
 * lockfile everywhere. Their versions are known all the same: the package that wants them names them exactly.
 * Such an entry has no hash, because nobody here has seen the package.
 */
import { readFileSync, writeFileSync } from "node:fs";

interface Locked {
  version?: string;
  cpu?: string[];
  os?: string[];
  libc?: string[];
  dev?: boolean;
  peer?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
}

export interface Lockfile {
  packages: Record<string, Locked>;
}

/** A lockfile that lacks nothing, its packages in npm's order, and what it lacked before. */
export function complete(lockfile: Lockfile): { lockfile: Lockfile; added: string[] } {
  const packages = { ...lockfile.packages };
  const added: string[] = [];
  for (const [path, locked] of Object.entries(lockfile.packages)) {
    for (const [name, version] of Object.entries(locked.optionalDependencies ?? {})) {
      if (isLocked(packages, path, name) || !/^\d+\.\d+\.\d+/.test(version)) continue;
      packages[`node_modules/${name}`] = sorted(
        { ...platformOf(name), ...(locked.dev ? { dev: true } : {}), ...(locked.peer ? { peer: true } : {}), optional: true },
        version,
      );
      added.push(`${name}@${version}`);
    }
  }
  const inOrder = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, "en"));
  return { lockfile: { ...lockfile, packages: Object.fromEntries(inOrder) }, added };
}

/** As npm writes it: the version, then the rest by name. */
const sorted = (rest: Locked, version: string): Locked => ({ version, ...Object.fromEntries(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))) });

/** Whether a package that lies at `path` finds the other, in its own node_modules or in one above. */
function isLocked(packages: Readonly<Record<string, Locked>>, path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    if (`${folder}${folder && "/"}node_modules/${name}` in packages) return true;
    if (folder === "") return false;
  }
}

/** What the name says of the machine it is for: such packages are named `<system>-<processor>[-<library>]`. */
function platformOf(name: string): Pick<Locked, "cpu" | "os" | "libc"> {
  const words = name.split(/[/-]/);
  const os = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"].find((system) => words.includes(system));
  const cpu = ["arm", "arm64", "ia32", "loong64", "ppc64", "riscv64", "s390x", "wasm32", "x64"].find((processor) => words.includes(processor));
  const musl = words.some((word) => word.startsWith("musl"));
  const glibc = words.some((word) => word.startsWith("gnu"));
  return { ...(cpu ? { cpu: [cpu] } : {}), ...(os === "linux" && (musl || glibc) ? { libc: [musl ? "musl" : "glibc"] } : {}), ...(os ? { os: [os] } : {}) };
}

if (import.meta.main) {
  const file = new URL("../package-lock.json", import.meta.url);
  const { lockfile, added } = complete(JSON.parse(readFileSync(file, "utf8")) as Lockfile);
  if (added.length > 0) writeFileSync(file, `${JSON.stringify(lockfile, null, 2)}\n`);
  for (const name of added) console.log(`added ${name}`);
}
