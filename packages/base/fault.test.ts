import { codes } from "@stead/contract/codes.ts";
import { describe, expect, test } from "vitest";
import { Fault, statusOf, tooManyRequests } from "./fault.ts";

describe("a Fault", () => {
  test("is an answer: kind, code and a message for people; the private story stays in its cause", () => {
    const cause = new Error("the private story");
    const fault = new Fault("conflict", "name_taken", "The name is taken.", { cause });
    expect(fault).toBeInstanceOf(Error);
    expect(fault).toMatchObject({ kind: "conflict", code: "name_taken", message: "The name is taken.", fields: [], headers: {}, cause });
    expect(JSON.stringify({ ...fault })).not.toContain("private");
  });

  test("carries what is wrong with each field, and headers", () => {
    const fields = [{ field: "name", code: "required", message: "`name` is required." }];
    expect(new Fault("invalid", "validation_failed", "…", { fields, headers: { a: "b" } })).toMatchObject({ fields, headers: { a: "b" } });
    expect(tooManyRequests(7)).toMatchObject({ kind: "limited", message: "Too many requests", headers: { "retry-after": "7" } });
  });
});

test("every status of a kind is one that some code has, and every code's status is one of a kind", () => {
  const declared = new Set(Object.values(codes).map(([status]) => status as number));
  expect(new Set<number>(Object.values(statusOf))).toEqual(declared);
});
