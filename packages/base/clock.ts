/** Time comes in from outside so that tests can hold it, turn it and let it jump. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
