import { setTimeout as sleep } from "node:timers/promises";

/** What `look` finds, as soon as it finds something other than `undefined` or `false`. */
export async function until<T>(look: () => Promise<T | undefined | false> | T | undefined | false, timeout_ms = 10_000): Promise<T> {
  const deadline = Date.now() + timeout_ms;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`It did not happen within ${timeout_ms} ms: ${look.toString()}`);
    await sleep(20);
  }
}
