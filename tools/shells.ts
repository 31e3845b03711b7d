/**
 * No shell, anywhere: programs are started with a list of arguments, so that nothing a customer typed
 * is ever read as a command. This refuses every way that Node has to start one.
 */
import { findImports, listSources, readSource, type SourceFile } from "./source.ts";

/** Named ones only: through `* as` or `require` a call to `exec` could not be seen. */
const allowedNames = new Set(["spawn", "spawnSync", "execFile", "execFileSync", "fork"]);
const shellProgram = /^(?:\/(?:usr\/)?bin\/)?(?:ba|da|z|k|a)?sh$|^(?:cmd(?:\.exe)?|powershell(?:\.exe)?|pwsh)$/;
const shellLine = /(?:^|[\s/'"])(?:ba|da|z|k|a)?sh\s+-\w*c\b/;

export function findShells({ path, text }: SourceFile): { path: string; line: number; message: string }[] {
  const source = readSource(text);
  const found: { at: number; message: string }[] = [];
  const add = (at: number, message: string) => found.push({ at, message });

  const ofChildren = findImports(source).filter(({ specifier }) => /^(?:node:)?child_process$/.test(specifier));
  for (const match of source.code.matchAll(/\bshell\s*:\s*(true\b|["'`]|\w+)?/g)) {
    // In a file that starts programs any value but `false` may be true one day; elsewhere it may be a field of that name.
    if (match[1] === "true" || (ofChildren.length > 0 && match[1] !== "false" && match[1] !== "boolean")) add(match.index, "sets `shell` on a child process");
  }
  for (const [at, value] of source.strings) {
    if (shellLine.test(value)) add(at, `has the shell line \`${value}\``);
    if (
      shellProgram.test(value) &&
      /^["'`]?\s*,\s*\[\s*["'`]/.test(source.code.slice(at + 1 + value.length)) &&
      nextString(source.strings, at)?.match(/^-\w*c$|^\/[cC]$/)
    ) {
      add(at, `starts the shell \`${value}\``);
    }
  }
  return [
    ...ofChildren.flatMap(({ line, clause, typeOnly }) => (typeOnly ? [] : refusedNames(clause).map((message) => ({ path, line, message })))),
    ...found.map(({ at, message }) => ({ path, line: source.lineAt(at), message })),
  ];
}

function refusedNames(clause: string): string[] {
  if (!/^\{[^}]*\}$/.test(clause)) return ["imports child_process as a whole: name what you use"];
  const names = clause
    .slice(1, -1)
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name && !name.startsWith("type "));
  return names
    .map((name) => name.split(/\s+as\s+/)[0] as string)
    .flatMap((name) => (allowedNames.has(name) ? [] : [`imports ${name} of child_process, which starts a shell`]));
}

function nextString(strings: ReadonlyMap<number, string>, after: number): string | undefined {
  const next = Math.min(...[...strings.keys()].filter((at) => at > after));
  return strings.get(next);
}

if (import.meta.main) {
  const found = listSources(process.cwd())
    .filter(({ path }) => path.startsWith("packages/"))
    .flatMap(findShells);
  for (const { path, line, message } of found) console.error(`${path}:${line} ${message}`);
  if (found.length > 0) process.exitCode = 1;
}
