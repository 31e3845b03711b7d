/** Writes api/openapi.json from the contract; with --check it only tells whether the file is up to date. */
import { readFileSync, writeFileSync } from "node:fs";
import { everyOperation } from "../packages/contract/index.ts";
import { openapi } from "../packages/contract/openapi.ts";
import { records } from "../packages/contract/records.ts";

const file = new URL("../api/openapi.json", import.meta.url);
const text = `${JSON.stringify(openapi(everyOperation, records), null, 2)}\n`;

if (process.argv.includes("--check")) {
  let committed = "";
  try {
    committed = readFileSync(file, "utf8");
  } catch {
    // A missing file differs from every document.
  }
  if (committed !== text) {
    console.error("api/openapi.json does not match the contract. Run: node tools/openapi.ts");
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, text);
}
