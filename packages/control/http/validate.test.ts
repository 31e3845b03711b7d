import { Fault } from "@stead/base/fault.ts";
import { exampleOf } from "@stead/contract/example.ts";
import { text } from "@stead/contract/fields.ts";
import { everyOperation } from "@stead/contract/index.ts";
import { message, operation, pageQuery } from "@stead/contract/operation.ts";
import fc from "fast-check";
import Type, { type TObject } from "typebox";
import { describe, expect, test } from "vitest";
import { validators } from "./validate.ts";

const formats = { even: (value: string) => value.length % 2 === 0 };
const validatorFor = (parts: { body?: TObject; query?: TObject }) =>
  validators(formats)(operation({ method: "POST", path: "/x", scope: "open", effect: "change", needs: "any", summary: "", reply: message(""), ...parts }));

const faultOf = (work: () => unknown): Fault => {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was refused");
};

describe("a body", () => {
  const { body } = validatorFor({
    body: Type.Object({
      name: text({ minLength: 1, maxLength: 4, trim: true, says: "must be 1 to 4 characters" }, "x"),
      count: Type.Optional(Type.Integer({ minimum: 1, default: 7 })),
      pem: Type.Optional(text({ maxLength: 100, multiline: true }, "x")),
      even: Type.Optional(text({ format: "even", maxLength: 10, says: "must be even" }, "xx")),
      tags: Type.Optional(Type.Array(text({ maxLength: 3, says: "must be short" }, "x"), { maxItems: 2 })),
    }),
  });

  test("is cleaned and completed, and what was sent is not touched", () => {
    const sent = Object.freeze({ name: "  e\u0301 ", tags: ["a"] });
    expect(body(sent, false)).toEqual({ value: { name: "é", tags: ["a"], count: 7 }, ignored: [] });
    expect(sent).toEqual({ name: "  e\u0301 ", tags: ["a"] });
  });

  test.each([
    [{ name: "   " }, "`name` is required."],
    [{}, "`name` is required."],
    [{ name: "12345" }, "`name` must be 1 to 4 characters."],
    [{ name: "x", count: 0 }, "`count` must be >= 1."],
    [{ name: "x", count: "5" }, "`count` must be integer."],
    [{ name: "x", count: 1.5 }, "`count` must be integer."],
    [{ name: "x", even: "abc" }, "`even` must be even."],
    [{ name: "x", tags: ["abcd", "ok"] }, "`tags[0]` must be short."],
    [{ name: "x", tags: ["a", "b", "c"] }, "`tags` must NOT have more than 2 items."],
    [{ name: 5, tags: [5, "abcd"] }, "`name` must be 1 to 4 characters. `tags[0]` must be short. `tags[1]` must be short."],
    [{ name: "x".repeat(5000) }, "`name` must be 1 to 4 characters."],
    [{ name: "x", tags: ["a\u0000"] }, "`tags[0]` must not contain control characters."],
  ])("%j is refused by name", (sent, told) => {
    const fault = faultOf(() => body(sent, false));
    expect([fault.kind, fault.code, fault.message]).toEqual(["invalid", "validation_failed", told]);
    expect(fault.fields.length).toBeGreaterThan(0);
  });

  test("four characters are four characters, however many units they take", () => {
    expect(body({ name: "👩🏽‍🚀" }, false).value.name).toBe("👩🏽‍🚀");
    expect(body({ name: "😀😀😀😀" }, false).value.name).toBe("😀😀😀😀");
    expect(faultOf(() => body({ name: "😀😀😀😀😀" }, false)).message).toBe("`name` must be 1 to 4 characters.");
  });

  test("lines may break where the field says so, and nothing else may", () => {
    expect(body({ name: "x", pem: "a\r\nb\n" }, false).value.pem).toBe("a\r\nb\n");
    expect(faultOf(() => body({ name: "x", pem: "a\u000bb" }, false)).message).toBe("`pem` must not contain control characters.");
  });

  test("unknown fields are told, or refused when asked for", () => {
    expect(body({ name: "x", nmae: 1, toString: 2 }, false).ignored).toEqual(["nmae", "toString"]);
    expect(faultOf(() => body({ name: "x", nmae: 1, other: 2 }, true)).fields.map(({ field, code }) => [field, code])).toEqual([
      ["nmae", "unknown"],
      ["other", "unknown"],
    ]);
  });

  test("whatever JSON is sent, it is taken or refused, and a refusal is one to five sentences", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (sent, strict) => {
        try {
          body(sent, strict);
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          expect(error.message).toMatch(/\.$/s);
          expect(error.fields.length).toBeLessThanOrEqual(5);
        }
      }),
    );
  });

  test("long texts of letters that patterns stumble over are refused in no time", () => {
    const named = [...JSON.stringify(everyOperation.map(({ op }) => op.body)).matchAll(/"format":"([^"]+)"/g)].map(([, name]) => name as string);
    const check = validators(Object.fromEntries(named.map((name) => [name, () => true])));
    const started = performance.now();
    for (const { op } of everyOperation.filter((each) => each.op.body)) {
      const { body: validate } = check(op);
      const whole = exampleOf(op.body as TObject) as Record<string, unknown>;
      const texts = Object.keys(whole).filter((field) => typeof whole[field] === "string");
      for (const bad of ["a".repeat(100_000), `${"a.".repeat(50_000)}@`, `${"-".repeat(100_000)}!`]) {
        for (const field of texts) expect(() => validate({ ...whole, [field]: bad }, false), `${field} of ${op.path}`).toThrow(Fault);
      }
    }
    expect(performance.now() - started).toBeLessThan(4000);
  });
});

describe("a query", () => {
  const { query } = validatorFor({ query: pageQuery });

  test("has its defaults, and digits become numbers", () => {
    expect(query({})).toEqual({ page: 1, limit: 20 });
    expect(query({ page: "3", limit: "100", other: "x" })).toEqual({ page: 3, limit: 100 });
  });

  test.each([
    { page: "0" },
    { page: ["1", "2"] },
    { limit: "101" },
    { page: " 1" },
    { page: "1e3" },
    { before: "x" },
    { before: ["act_01jcpv1w2n9w5eph2j1v0a7q3r"] },
  ])("%j is refused", (sent) => {
    expect(faultOf(() => query(sent as never)).code).toBe("invalid_query");
  });

  test("no text but plain digits is ever a number", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String)), (page) => {
        const good = /^[1-9][0-9]*$/.test(page) && Number(page) <= 1_000_000;
        if (good) expect(query({ page })).toEqual({ page: Number(page), limit: 20 });
        else expect(faultOf(() => query({ page })).code).toBe("invalid_query");
      }),
    );
  });
});

test("a grammar that nobody knows stops the boot", () => {
  expect(() =>
    validators({})(
      operation({
        method: "POST",
        path: "/x",
        scope: "open",
        effect: "change",
        needs: "any",
        summary: "",
        reply: message(""),
        body: Type.Object({ zone: text({ format: "timezone" }, "UTC") }),
      }),
    ),
  ).toThrow(/unknown format "timezone"/);
});
