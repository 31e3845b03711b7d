/** The middle time of each of several works, done in turns so that whatever slows the machine slows all of them. */
export async function medianTimes(rounds: number, works: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const times = works.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, work] of works.entries()) {
      const started = performance.now();
      await work();
      times[index]?.push(performance.now() - started);
    }
  }
  return times.map((of) => of.sort((a, b) => a - b)[of.length >> 1] as number);
}
