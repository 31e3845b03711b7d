/**
 * Rate limits: one token bucket for each class and user (or address), kept as a single number:
 * the time at which the bucket will be full again (GCRA). Exact within one process;
 * with several behind a balancer, hash by uid there or accept a limit for each.
 */
import type { RateClass } from "@stead/contract/operation.ts";

export interface Quota {
  readonly quota: number;
  readonly window_s: number;
}

export type LimitClass = RateClass | "flood" | "password";
export type Quotas = Readonly<Record<LimitClass, Quota>>;

const per = (quota: number, window_s: number): Quota => ({ quota, window_s });

export const profiles = {
  default: {
    read: per(1200, 60),
    write: per(300, 60),
    sensitive: per(30, 600),
    password: per(5, 900),
    acme: per(5, 3600),
    auth: per(60, 60),
    flood: per(200, 1),
  },
  strict: { read: per(240, 60), write: per(60, 60), sensitive: per(10, 600), password: per(5, 900), acme: per(5, 3600), auth: per(10, 60), flood: per(50, 1) },
} as const satisfies Record<string, Quotas>;

export interface Verdict {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the bucket is full again. */
  readonly reset_s: number;
  /** Seconds until one more request fits; 0 when it was allowed. */
  readonly retry_after_s: number;
}

export class Limiter {
  readonly quotas: Quotas;
  readonly #now: () => number;
  readonly #fullAt = new Map<string, number>();
  #sweepAt = 10_000;

  constructor(quotas: Quotas, now: () => number) {
    this.quotas = quotas;
    this.#now = now;
  }

  take(limitClass: LimitClass, who: string): Verdict {
    return this.#move(limitClass, who, 1);
  }

  /** Looks without taking: is there room for one more? */
  peek(limitClass: LimitClass, who: string): Verdict {
    return this.#move(limitClass, who, 0);
  }

  /** Gives one back, for an answer that costs nothing. */
  refund(limitClass: LimitClass, who: string): void {
    const key = `${limitClass} ${who}`;
    const { quota, window_s } = this.quotas[limitClass];
    const fullAt = this.#fullAt.get(key);
    if (fullAt !== undefined) this.#fullAt.set(key, fullAt - (window_s * 1000) / quota);
  }

  #move(limitClass: LimitClass, who: string, tokens: 0 | 1): Verdict {
    const { quota, window_s } = this.quotas[limitClass];
    const key = `${limitClass} ${who}`;
    const now = this.#now();
    const window_ms = window_s * 1000;
    const each_ms = window_ms / quota;
    const fullAt = Math.max(this.#fullAt.get(key) ?? now, now);
    const allowed = fullAt + each_ms - now <= window_ms + 1e-6;
    const after = allowed && tokens === 1 ? fullAt + each_ms : fullAt;
    if (tokens === 1 && allowed) {
      this.#fullAt.set(key, after);
      if (this.#fullAt.size > this.#sweepAt) this.#sweep(now);
    }
    return {
      allowed,
      remaining: Math.max(0, Math.floor((window_ms - (after - now)) / each_ms + 1e-6)),
      reset_s: Math.ceil((after - now) / 1000),
      retry_after_s: allowed ? 0 : Math.max(1, Math.ceil((fullAt + each_ms - now - window_ms) / 1000)),
    };
  }

  /** A bucket that is full again is the same as one that was never touched. */
  #sweep(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key);
    this.#sweepAt = Math.max(10_000, this.#fullAt.size * 2);
  }
}
