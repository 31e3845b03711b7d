import { describe, expect, test } from "vitest";
import { isPrefetch, steering, tagListed } from "./steer.ts";

describe("steering", () => {
  test("without headers changes nothing", () => {
    expect(steering({})).toEqual({ idempotency_key: null, dry_run: false, strict: false, if_match: null });
  });

  test.each([
    [{ prefer: "handling=strict" }, true],
    [{ prefer: "respond-async, HANDLING = strict , wait=10" }, true],
    [{ prefer: ["wait=1", "handling=strict"] as unknown as string }, true],
    [{ prefer: "handling=lenient" }, false],
    [{ prefer: "handling=strictly" }, false],
    [{ prefer: 'x="handling=strict"' }, false],
  ])("%o is strict: %s", (headers, strict) => {
    expect(steering(headers).strict).toBe(strict);
  });

  test.each(["a", "~", "x".repeat(255), "!#$%&'*+-.^_`|~"])("%s is an idempotency key", (key) => {
    expect(steering({ "idempotency-key": key }).idempotency_key).toBe(key);
  });

  test.each(["", " ", "a b", "\u007f", "é", "x".repeat(256), "a\u0000"])("%j is none, and that is said", (key) => {
    expect(() => steering({ "idempotency-key": key })).toThrow("`Idempotency-Key` must be 1 to 255 visible ASCII characters.");
  });

  test.each([
    ["true", true],
    ["false", false],
  ])("X-Dry-Run: %s", (value, dry_run) => {
    expect(steering({ "x-dry-run": value }).dry_run).toBe(dry_run);
  });

  test.each(["", "TRUE", "1", " true", "true,true"])("X-Dry-Run: %j is refused", (value) => {
    expect(() => steering({ "x-dry-run": value })).toThrow("`X-Dry-Run` must be true or false.");
  });
});

test.each([
  [{ "sec-purpose": "prefetch" }, true],
  [{ "sec-purpose": "Prefetch;prerender" }, true],
  [{ purpose: "prefetch" }, true],
  [{ purpose: "preview" }, false],
  [{ "sec-purpose": "pre" }, false],
  [{}, false],
])("%o is a prefetch: %s", (headers, expected) => {
  expect(isPrefetch(headers)).toBe(expected);
});

test.each([
  ['W/"a"', true],
  ['"a"', true],
  ['W/"b", W/"a"', true],
  ['W/"b" ,"a" , "c"', true],
  ["*", true],
  [" * ", true],
  ['W/"b"', false],
  ['W/"A"', false],
  ["a", false],
  ["", false],
  ['w/"a"', false],
  ['*, "x"', false],
])('the list %s names W/"a": %s', (list, expected) => {
  expect(tagListed(list, 'W/"a"')).toBe(expected);
});
