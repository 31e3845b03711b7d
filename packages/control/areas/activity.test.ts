import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const here = new URL(".", import.meta.url);

/** Every action that the code of an area names. */
function recorded(): string[] {
  const files = readdirSync(here, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
  const found = files.flatMap((path) =>
    [...readFileSync(new URL(path, here), "utf8").matchAll(/\baction: (["`])(.*?)\1/g)].map(([, , action]) => action as string),
  );
  return [...new Set(found)].sort();
}

/** The table of decisions 2.12: `| ssh_key / cron | create, delete |`, where several categories share their verbs or have their own, in order. */
function catalogued(): Set<string> {
  const text = readFileSync(new URL("../../../docs/spec/decisions.md", here), "utf8");
  const section = /## 2\.12[\s\S]*?(?=\n## )/.exec(text)?.[0] ?? "";
  const rows = [...section.matchAll(/^\| ([a-z_ /]+) \| (.+) \|$/gm)];
  return new Set(
    rows.flatMap(([, names = "", verbs = ""]) => {
      const categories = names.split(" / ");
      const groups = verbs.split(" / ").map((group) => [...group.matchAll(/[a-z_]+(?=[`,])/g)].map(([verb]) => verb));
      return categories.flatMap(
        (category, index) => (groups.length === categories.length ? groups[index] : groups.flat())?.map((verb) => `${category}.${verb}`) ?? [],
      );
    }),
  );
}

test("every action that is recorded has the form category.verb and stands in the catalogue", () => {
  const actions = recorded();
  expect(actions.length).toBeGreaterThan(20);
  expect(actions.filter((action) => !/^[a-z_]+\.[a-z_]+$/.test(action))).toEqual([]);
  const known = catalogued();
  expect(actions.filter((action) => !known.has(action))).toEqual([]);
});
