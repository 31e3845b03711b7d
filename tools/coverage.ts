/** `npm run coverage:contract`: how many operations of the interface are mounted, and which are not yet. */

import { everyOperation } from "@stead/contract/index.ts";
import { areas } from "@stead/control/areas/index.ts";
import { routesOf } from "@stead/control/http/server.ts";

const mounted = new Set(routesOf(areas).map(({ name }) => name));
const missing = (extension: boolean) => everyOperation.filter(({ name, op }) => op.extension === extension && !mounted.has(name));
const count = (extension: boolean) => everyOperation.filter(({ op }) => op.extension === extension).length;

for (const { name, op } of [...missing(false), ...missing(true)]) process.stdout.write(`not mounted  ${name.padEnd(32)} ${op.method.padEnd(6)} ${op.path}\n`);
process.stdout.write(`${count(true) - missing(true).length} of ${count(true)} extensions mounted\n`);
process.stdout.write(`${count(false) - missing(false).length} of ${count(false)} mounted\n`);
