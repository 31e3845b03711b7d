/**
 * Which room of the code may import which: the table of docs/architecture.md as data, and the checker
 * that holds every file to it. What has no row is refused, so that a new folder starts with a decision.
 */
import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { findImports, type Import, listSources, readSource, type SourceFile } from "./source.ts";

export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** `pure` built-ins only compute; everything else of Node reaches a disk, a network, a process or the machine. */
type NodeUse = "none" | "pure" | "all";

interface Room {
  readonly name: string;
  /** Folders and files of the room. A room named `…/X` is one room for each folder below its path. */
  readonly path: string;
  /** Rooms it may import. Its own files it always may. */
  readonly may: readonly string[];
  /** Rooms whose types it may name, without loading their code. */
  readonly mayType?: readonly string[];
  readonly node: NodeUse;
  /** npm packages; any, where it says nothing. */
  readonly packages?: readonly string[];
}

const control = [
  "control/areas",
  "control/areas/X",
  "control/config",
  "control/db",
  "control/deps",
  "control/fleet",
  "control/handler",
  "control/http",
  "control/identity",
  "control/jobs",
  "control/root",
];
/** What every room of the control plane is handed: the object that `main` builds, and its configuration. */
const handed = ["control/deps", "control/config"];
const shared = ["base", "contract", "state"];

/** The first room whose path fits a file is its room, so the narrow ones come first. */
export const rooms: readonly Room[] = [
  { name: "base", path: "packages/base/", may: [], node: "pure", packages: [] },
  { name: "contract", path: "packages/contract/", may: ["base"], node: "pure", packages: ["typebox"] },
  { name: "state", path: "packages/state/", may: ["base"], node: "pure", packages: ["typebox"] },
  { name: "sdk", path: "packages/sdk/", may: ["base", "contract"], node: "none", packages: [] },
  { name: "cli", path: "packages/cli/", may: ["sdk", "contract", "base"], node: "all" },
  { name: "web", path: "packages/web/", may: ["sdk", "contract", "base"], node: "none" },

  { name: "control/main", path: "packages/control/main.ts", may: [...control, "control/outside", ...shared], node: "all" },
  { name: "control/config", path: "packages/control/config.ts", may: ["base", "contract", "control/http"], node: "pure" },
  { name: "control/deps", path: "packages/control/deps.ts", may: shared, mayType: [...control, "control/outside"], node: "pure" },
  {
    name: "control/areas",
    path: "packages/control/areas/index.ts",
    may: ["control/areas/X", "control/areas/common", ...shared],
    mayType: ["control/http", "control/jobs", ...handed],
    node: "pure",
  },
  {
    name: "control/areas/common",
    path: "packages/control/areas/*.ts",
    may: ["control/db", "control/jobs", "control/handler", ...shared],
    mayType: ["control/http", ...handed],
    node: "pure",
  },
  {
    name: "control/areas/X",
    path: "packages/control/areas/",
    may: ["control/db", "control/jobs", "control/handler", "control/identity", "control/areas/common", ...shared],
    mayType: ["control/http", ...handed],
    node: "pure",
  },
  { name: "control/fleet", path: "packages/control/fleet/", may: ["control/db", "control/areas", ...shared], mayType: handed, node: "all" },
  { name: "control/handler", path: "packages/control/http/handler.ts", may: ["control/db", ...shared], mayType: handed, node: "pure" },
  { name: "control/identity", path: "packages/control/identity/", may: ["control/db", ...shared], mayType: ["control/http", ...handed], node: "pure" },
  {
    name: "control/http",
    path: "packages/control/http/",
    may: ["control/db", "control/areas", "control/handler", "control/identity", ...shared],
    mayType: handed,
    node: "all",
  },
  { name: "control/jobs", path: "packages/control/jobs/", may: ["control/db", "control/areas", ...shared], mayType: handed, node: "all" },
  { name: "control/db", path: "packages/control/db/", may: shared, mayType: handed, node: "all" },
  { name: "control/outside", path: "packages/control/outside/", may: shared, mayType: handed, node: "all" },
  { name: "control/root", path: "packages/control/*.ts", may: [...control, ...shared], node: "all" },

  { name: "agent/drivers/X", path: "packages/agent/drivers/*/", may: ["agent/drivers", "state", "base"], mayType: ["agent/host"], node: "pure" },
  { name: "agent/drivers", path: "packages/agent/drivers/", may: ["agent/drivers/X", "state", "base"], mayType: ["agent/host"], node: "pure" },
  { name: "agent/host", path: "packages/agent/host/", may: ["base"], node: "all" },
  { name: "agent/root", path: "packages/agent/*.ts", may: ["agent/drivers", "agent/host", "state", "base"], node: "all" },

  { name: "testkit", path: "packages/testkit/", may: ["*"], node: "all" },
  { name: "tools", path: "tools/", may: ["*"], node: "all" },
  { name: "bench", path: "bench/", may: ["*"], node: "all" },
  { name: "e2e", path: "e2e/", may: ["*"], node: "all" },
  { name: "lab", path: "lab/", may: ["*"], node: "all" },
  { name: "repository", path: "*.ts", may: ["*"], node: "all" },
];

/** A test may look behind every door, and is shipped nowhere. */
const test: Room = { name: "test", path: "", may: ["*"], node: "all" };

/** The only rooms that speak to these: third parties stay in `outside`, the job engine behind its wrapper. */
const keepers: Readonly<Record<string, readonly string[]>> = {
  nodemailer: ["control/outside"],
  ssh2: ["control/outside"],
  stripe: ["control/outside"],
  cloudflare: ["control/outside"],
  "pg-boss": ["control/jobs"],
};

/** Everything else is handed its configuration, so that one file tells what the environment can change. */
const environmentReaders = ["packages/control/main.ts", "packages/agent/main.ts", "packages/cli/main.ts"];

const pureBuiltins = new Set(
  [
    "assert",
    "assert/strict",
    "async_hooks",
    "buffer",
    "crypto",
    "events",
    "path",
    "path/posix",
    "perf_hooks",
    "querystring",
    "stream",
    "string_decoder",
    "timers",
    "timers/promises",
    "url",
    "util",
    "util/types",
    "zlib",
  ].map((name) => `node:${name}`),
);

/** Of `node:net`, what only reads an address. */
const pureOfNet = new Set(["", "isIP", "isIPv4", "isIPv6", "BlockList", "SocketAddress"]);

export function findViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => [...checkImports(file), ...checkEnvironment(file)]);
}

interface Place {
  readonly room: Room;
  /** Tells the rooms of one `…/X` row apart: the folder's name. */
  readonly instance: string;
}

/** The room of a file, or null when the table has no row for it. */
export function placeOf(path: string): Place | null {
  for (const room of rooms) {
    if (fits(room.path, path)) return { room, instance: room.name.endsWith("/X") ? folderOf(room.path, path) : "" };
  }
  return null;
}

// `a/` is the folder with all below it, `a/*.ts` the files that lie in it, `a/*/` what lies in one of its folders.
function fits(pattern: string, path: string): boolean {
  const folder = fixedPart(pattern);
  if (!path.startsWith(folder)) return false;
  const inSubfolder = path.includes("/", folder.length);
  if (pattern.endsWith("*.ts")) return !inSubfolder;
  if (pattern.endsWith("*/")) return inSubfolder;
  return pattern.endsWith("/") || path === pattern;
}

const fixedPart = (pattern: string): string => pattern.replace(/\*.*$/, "");

const folderOf = (pattern: string, path: string): string => path.slice(fixedPart(pattern).length).split("/")[0] as string;

const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.endsWith(".test.tsx");

function checkImports({ path, text }: SourceFile): Violation[] {
  const from = isTest(path) ? { room: test, instance: "" } : placeOf(path);
  if (!from) return [{ path, line: 1, message: "is in no room of the table in tools/boundaries.ts" }];
  return findImports(readSource(text)).flatMap((found) => {
    const refusal = refuse(from, path, found);
    return refusal ? [{ path, line: found.line, message: `imports ${found.specifier}: ${refusal}` }] : [];
  });
}

function refuse(from: Place, path: string, { specifier, clause, typeOnly }: Import): string | null {
  const { room } = from;
  if (isBuiltin(specifier)) return refuseBuiltin(room, specifier, clause);
  const target = targetOf(path, specifier);
  if (target === null) return refusePackage(room, specifier);

  const packageOf = (file: string) => /^packages\/[^/]+\//.exec(file)?.[0];
  const [own, other] = [packageOf(path), packageOf(target)];
  if (own && own === other && !specifier.startsWith(".")) return "files of one package import each other relatively";
  if (own && other && own !== other && specifier.startsWith(".")) return "packages import each other by name, as @stead/<package>/<file>.ts";

  const to = placeOf(target);
  if (!to) return `${target} is in no room of the table in tools/boundaries.ts`;
  if (to.room === room && to.instance === from.instance) return null;
  if (room.may.includes("*")) return null;
  if (room.may.includes(to.room.name)) return null;
  if (room.mayType?.includes(to.room.name)) return typeOnly ? null : `room ${nameOf(from)} may import only types of ${nameOf(to)}`;
  return `room ${nameOf(from)} may not import ${nameOf(to)}`;
}

const nameOf = ({ room, instance }: Place): string => room.name.replace(/X$/, instance);

function refuseBuiltin(room: Room, specifier: string, clause: string): string | null {
  if (room.node === "all") return null;
  if (room.node === "none") return `room ${room.name} may not import Node's built-ins`;
  const name = specifier.startsWith("node:") ? specifier : `node:${specifier}`;
  if (
    name === "node:net" &&
    /^\{[^}]*\}$/.test(clause) &&
    clause
      .slice(1, -1)
      .split(",")
      .every((each) => pureOfNet.has(each.trim()))
  )
    return null;
  return pureBuiltins.has(name) ? null : `room ${room.name} may not import what reaches disk, network, process or machine`;
}

function refusePackage(room: Room, specifier: string): string | null {
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  if (room.packages && !room.packages.includes(name))
    return `room ${room.name} may not import npm packages${room.packages.length ? ` but ${room.packages.join(", ")}` : ""}`;
  const keeper = keepers[name];
  if (keeper && !room.may.includes("*") && !keeper.includes(room.name)) return `room ${room.name} may not import ${name}, which is for ${keeper.join(", ")}`;
  return null;
}

/** The file of ours that an import names, or null for an npm package. */
function targetOf(path: string, specifier: string): string | null {
  if (specifier.startsWith(".")) return posix.normalize(posix.join(posix.dirname(path), specifier));
  const [, name, file] = /^@stead\/([^/]+)\/?(.*)$/.exec(specifier) ?? [];
  return name === undefined ? null : `packages/${name}/${file}`;
}

function checkEnvironment({ path, text }: SourceFile): Violation[] {
  const place = placeOf(path);
  if (!path.startsWith("packages/") || isTest(path) || place?.room.name === "testkit" || environmentReaders.includes(path)) return [];
  const source = readSource(text);
  const message = `reads the environment, which only ${environmentReaders.join(", ")} may`;
  const direct = [...source.code.matchAll(/\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*(?:\?\.)?\[|\}\s*=\s*process\b(?!\s*[.?(])|\bloadEnvFile\b/g)];
  const imported = findImports(source).filter(
    ({ specifier, clause }) => /^(?:node:)?process$/.test(specifier) && (/\benv\b/.test(clause) || !clause.startsWith("{")),
  );
  return [...direct.map((match) => source.lineAt(match.index)), ...imported.map(({ line }) => line)].map((line) => ({ path, line, message }));
}

if (import.meta.main) {
  const violations = findViolations(listSources(process.cwd()));
  for (const { path, line, message } of violations) console.error(`${path}:${line} ${message}`);
  if (violations.length > 0) process.exitCode = 1;
}
