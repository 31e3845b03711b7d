/**
 * A TypeScript file as the checkers of this folder look at it. A full parser is not needed to find an
 * import, but comments, strings and templates must be told from code, or a sentence about imports would count as one.
 */
import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Source {
  /** The text with comments and the insides of strings blanked; every position stays what it was. */
  readonly code: string;
  /** What stands in each string without placeholders, by the position of its opening quote. */
  readonly strings: ReadonlyMap<number, string>;
  lineAt(position: number): number;
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Erased when the program runs: it couples what is written, not what is loaded. */
  readonly typeOnly: boolean;
  /** The text between `import` and `from`, empty for `import "x"` and `import("x")`. */
  readonly clause: string;
}

/** Every TypeScript file of the repository, whether git knows it yet or not. */
export function listSources(root: string): SourceFile[] {
  const paths = globSync(["*.{ts,mts}", "{packages,tools,bench,e2e,lab}/**/*.{ts,tsx,mts}"], { cwd: root, exclude: ["**/node_modules"] });
  return paths.sort().map((path) => ({ path: path.split(sep).join("/"), text: readFileSync(join(root, path), "utf8") }));
}

/** After one of these a slash starts a regular expression; after anything else it divides. */
const beforeRegex = /(?:^|[({[,;=:?!&|+\-*%~^<>]|=>|\b(?:return|typeof|case|in|of|do|else|throw|await|yield|void|delete))\s*$/;

export function readSource(text: string): Source {
  const code = text.split("");
  const strings = new Map<number, string>();
  const blank = (from: number, to: number) => {
    for (let at = from; at < to; at++) if (code[at] !== "\n") code[at] = " ";
  };
  // One entry for each template placeholder we are inside of: how many braces are open in it.
  const placeholders: number[] = [];
  let at = 0;

  const template = (start: number): void => {
    let end = start;
    while (end < text.length && text[end] !== "`" && !(text[end] === "$" && text[end + 1] === "{")) end += text[end] === "\\" ? 2 : 1;
    blank(start, end);
    if (text[end] === "`") {
      if (text[start - 1] === "`") strings.set(start - 1, text.slice(start, end));
      at = end + 1;
    } else {
      placeholders.push(0);
      at = end + 2;
    }
  };

  while (at < text.length) {
    const here = text[at] as string;
    const pair = here + (text[at + 1] ?? "");
    if (pair === "//" || pair === "/*") {
      const close = pair === "//" ? text.indexOf("\n", at) : text.indexOf("*/", at + 2) + 2;
      const end = close < at + 2 ? text.length : close;
      blank(at, end);
      at = end;
    } else if (here === '"' || here === "'") {
      let end = at + 1;
      while (end < text.length && text[end] !== here && text[end] !== "\n") end += text[end] === "\\" ? 2 : 1;
      strings.set(at, text.slice(at + 1, end));
      blank(at + 1, end);
      at = end + 1;
    } else if (here === "`") {
      template(at + 1);
    } else if (here === "/" && beforeRegex.test(code.slice(Math.max(0, at - 40), at).join(""))) {
      let end = at + 1;
      for (let inClass = false; end < text.length && text[end] !== "\n" && (inClass || text[end] !== "/"); end += text[end] === "\\" ? 2 : 1) {
        if (text[end] === "[") inClass = true;
        if (text[end] === "]") inClass = false;
      }
      blank(at + 1, end);
      at = end + 1;
    } else {
      const depth = placeholders.length - 1;
      if (depth >= 0 && here === "{") placeholders[depth] = (placeholders[depth] as number) + 1;
      if (depth >= 0 && here === "}") {
        if (placeholders[depth] === 0) {
          placeholders.pop();
          template(at + 1);
          continue;
        }
        placeholders[depth] = (placeholders[depth] as number) - 1;
      }
      at++;
    }
  }

  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)];
  return { code: code.join(""), strings, lineAt: (position) => lineStarts.findLastIndex((start) => start <= position) + 1 };
}

/** `import … from`, `export … from`, `import "x"`, `import("x")`, `require("x")`, and the types written as `import("x").Name`. */
export function findImports(source: Source): Import[] {
  const found: (Import & { at: number })[] = [];
  const add = (at: number, quoteAt: number, clause: string, typeOnly: boolean) => {
    const specifier = source.strings.get(quoteAt);
    if (specifier !== undefined) found.push({ at, specifier, line: source.lineAt(at), typeOnly, clause: clause.trim() });
  };
  for (const match of source.code.matchAll(/(?<![.\w$])(?:import|export)\b([\w\s{},*$]*?)\bfrom\s*(?=["'])/g)) {
    add(match.index, match.index + match[0].length, match[1] ?? "", /^\s*type\s*[\w$*{]/.test(match[1] ?? ""));
  }
  for (const match of source.code.matchAll(/(?<![.\w$])import\s*(?=["'])/g)) add(match.index, match.index + match[0].length, "", false);
  for (const match of source.code.matchAll(/(?<![.\w$])(?:import|require|require\.resolve)\s*\(\s*(?=["'`])/g))
    add(match.index, match.index + match[0].length, "", false);
  return found.sort((a, b) => a.at - b.at).map(({ at: _, ...rest }) => rest);
}
