/**
 * The hostile inputs of data/hostile-inputs.json as values that can be sent. The file writes long or made-up values in
 * words; `expand` turns each into what it stands for:
 *
 * - `L64*` is 64 letters, also inside a text (`L64*.com`, `<L65>@site`); `L1MB*` is a mebibyte, `A*65536` 65,536 letters
 *   A, `254-char` 254 letters, `…(x2000)` the last list entry 2,000 times
 * - `@site` is an address at a domain of ours, `<…>` something that the service or a neighbour has, and a remark in
 *   brackets at the end, such as `(bcrypt cut)`, is left out
 * - `ü in NFC and NFD` is both
 * - the words of `ids` (`other tenant's id` …) come from `Ids`
 *
 * Everything else goes as it stands.
 */
import { readFileSync } from "node:fs";

export interface Ids {
  /** An id that would be right here. */
  readonly own: string;
  /** One of the same kind that belongs to somebody else. */
  readonly foreign: string;
  readonly other_kind: string;
}

type Inputs = Record<string, unknown>;

const inputs: Inputs = JSON.parse(readFileSync(new URL("data/hostile-inputs.json", import.meta.url), "utf8"));

/** Field classes by name, numbers and DNS by `numbers.page`, `dns.content`; `transport` is done by hand. */
const classes: ReadonlyMap<string, readonly unknown[]> = new Map(
  Object.entries(inputs).flatMap(([name, values]) =>
    Array.isArray(values)
      ? [[name, values]]
      : typeof values === "object"
        ? Object.entries(values as Inputs).map(([field, some]) => [`${name}.${field}`, some as unknown[]])
        : [],
  ),
);

export const classNames: readonly string[] = [...classes.keys()].filter((name) => name !== "transport" && name !== "ids");

export function hostile(className: string): unknown[] {
  const values = classes.get(className);
  if (!values) throw new Error(`hostile-inputs.json has no class ${className}`);
  return values.flatMap(expand);
}

export function hostileIds({ own, foreign, other_kind }: Ids): string[] {
  const made: Record<string, string> = {
    "other tenant's id": foreign,
    "id of another kind": other_kind,
    "ID in other case": own.toUpperCase(),
    "id + space": `${own} `,
  };
  return (classes.get("ids") as string[]).flatMap((text) => (Object.hasOwn(made, text) ? [made[text] as string] : (expand(text) as string[])));
}

/** Whole Unicode without control characters: what every text field takes, if its length and form are right. */
export const isClean = (text: string): boolean => text.isWellFormed() && ![...text].some((letter) => letter < " " || letter === "\u007f");

const letters = (count: number): string => "l".repeat(count);

export function expand(value: unknown): unknown[] {
  if (typeof value !== "string") return [value];
  if (value === "ü in NFC and NFD") return ["pässwörd-ü".normalize("NFC"), "pässwörd-ü".normalize("NFD")];
  if (value === "254-char") return [letters(254)];
  const repeated = /^(.*?)([^,]+)\(x(\d+)\)(.*)$/.exec(value);
  if (repeated) return [`${repeated[1]}${Array(Number(repeated[3])).fill(repeated[2]).join(",")}${repeated[4]}`];
  const long = /^(.)\*(\d{3,})$/.exec(value);
  if (long) return [(long[1] as string).repeat(Number(long[2]))];
  return [
    value
      .replace(/ \([a-z ]+\)$/i, "")
      .replace(/L1MB\*/g, () => letters(2 ** 20))
      .replace(/<L(\d+)>|L(\d+)\*/g, (_, one, other) => letters(Number(one ?? other)))
      .replace(/@site\b/g, "@site.example.com")
      .replace(/^<control plane host>$/, "stead.test")
      .replace(/^<control plane ip>$/, "127.0.0.1"),
  ];
}
