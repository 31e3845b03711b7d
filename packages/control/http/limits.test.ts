import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Limiter, profiles, type Quotas } from "./limits.ts";

const clockwork = (quota: number, window_s: number) => {
  const clock = { now_ms: 0 };
  const limiter = new Limiter({ ...profiles.default, read: { quota, window_s } } as Quotas, () => clock.now_ms);
  return { clock, limiter };
};

/** The bucket as a child would draw it: so many tokens, and they drip back in evenly. */
class Bucket {
  tokens: number;
  readonly quota: number;
  readonly drip: number;
  constructor(quota: number, window_s: number) {
    this.tokens = quota;
    this.quota = quota;
    this.drip = quota / (window_s * 1000);
  }
  wait(ms: number): void {
    this.tokens = Math.min(this.quota, this.tokens + ms * this.drip);
  }
  take(): boolean {
    const allowed = this.tokens >= 1 - 1e-6;
    if (allowed) this.tokens -= 1;
    return allowed;
  }
  give(): void {
    this.tokens = Math.min(this.quota, this.tokens + 1);
  }
}

const step = fc.oneof(
  { weight: 5, arbitrary: fc.constant("take" as const) },
  { weight: 1, arbitrary: fc.constant("peek" as const) },
  { weight: 1, arbitrary: fc.constant("refund" as const) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 5000 }) },
);

describe("the limiter", () => {
  test("does what a bucket of tokens does, whatever happens in whatever order", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 30 }), fc.array(step, { maxLength: 100 }), (quota, window_s, steps) => {
        const { clock, limiter } = clockwork(quota, window_s);
        const bucket = new Bucket(quota, window_s);
        for (const what of steps) {
          if (typeof what === "number") {
            clock.now_ms += what;
            bucket.wait(what);
          } else if (what === "refund") {
            limiter.refund("read", "ada");
            bucket.give();
          } else {
            const verdict = limiter[what]("read", "ada");
            const allowed = what === "take" ? bucket.take() : bucket.tokens >= 1 - 1e-6;
            expect(verdict.allowed).toBe(allowed);
            expect(Math.abs(verdict.remaining - bucket.tokens)).toBeLessThan(1 + 1e-3);
            expect(verdict.remaining).toBeLessThanOrEqual(bucket.tokens + 1e-3);
            expect(Math.abs(verdict.reset_s - (quota - bucket.tokens) / (bucket.drip * 1000))).toBeLessThan(1 + 1e-3);
            expect(verdict.retry_after_s === 0).toBe(allowed);
          }
        }
      }),
    );
  });

  test("whoever waits as long as they are told gets in, and not a whole second earlier", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 900 }), fc.integer({ min: 0, max: 5000 }), (quota, window_s, later) => {
        const { clock, limiter } = clockwork(quota, window_s);
        for (let i = 0; i < quota; i++) limiter.take("read", "ada");
        clock.now_ms += Math.min(later, (window_s * 1000) / quota - 1);
        const { retry_after_s, allowed } = limiter.take("read", "ada");
        fc.pre(!allowed);
        expect(retry_after_s).toBeGreaterThanOrEqual(1);
        clock.now_ms += (retry_after_s - 1) * 1000 - 1;
        if (retry_after_s > 1) expect(limiter.peek("read", "ada").allowed).toBe(false);
        clock.now_ms += 1001;
        expect(limiter.take("read", "ada").allowed).toBe(true);
      }),
    );
  });

  test("keeps classes and callers apart", () => {
    const { limiter } = clockwork(1, 60);
    expect([
      limiter.take("read", "ada").allowed,
      limiter.take("read", "ada").allowed,
      limiter.take("read", "bob").allowed,
      limiter.take("write", "ada").allowed,
    ]).toEqual([true, false, true, true]);
  });

  test("a refund to somebody who took nothing gives nothing", () => {
    const { limiter } = clockwork(2, 60);
    limiter.refund("read", "ada");
    expect([1, 2, 3].map(() => limiter.take("read", "ada").allowed)).toEqual([true, true, false]);
  });

  test("clears away those whose bucket is full again, and forgets nobody else", () => {
    const { clock, limiter } = clockwork(2, 1);
    limiter.take("password", "ada");
    for (let i = 0; i < 50_000; i++) {
      clock.now_ms += 1;
      limiter.take("read", `caller ${i}`);
    }
    expect(limiter.peek("password", "ada").remaining).toBe(4);
    expect(limiter.peek("read", "caller 49999").remaining).toBe(1);
    expect(limiter.peek("read", "caller 0").remaining).toBe(2);
  });
});

test("the two profiles are those of decisions 2.13", () => {
  const told = (profile: Quotas) => Object.fromEntries(Object.entries(profile).map(([name, { quota, window_s }]) => [name, `${quota}/${window_s}`]));
  expect(told(profiles.default)).toEqual({
    read: "1200/60",
    write: "300/60",
    sensitive: "30/600",
    password: "5/900",
    acme: "5/3600",
    auth: "60/60",
    flood: "200/1",
  });
  expect(told(profiles.strict)).toEqual({
    read: "240/60",
    write: "60/60",
    sensitive: "10/600",
    password: "5/900",
    acme: "5/3600",
    auth: "10/60",
    flood: "50/1",
  });
});
