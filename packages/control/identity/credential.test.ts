import type { IncomingMessage } from "node:http";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashOf, newCredential, newSecret, tokenOf } from "./credential.ts";

const requestWith = (...values: string[]) =>
  ({
    headers: values.length > 0 ? { authorization: values[0] } : {},
    rawHeaders: values.flatMap((value) => ["Authorization", value]),
  }) as unknown as IncomingMessage;

describe("a new credential", () => {
  test.each(["stead_", "steads_"] as const)("%s has 40 random letters and 6 of a checksum", (prefix) => {
    const made = Array.from({ length: 200 }, () => newCredential(prefix));
    expect(new Set(made).size).toBe(200);
    for (const text of made) {
      expect(text).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{46}$`));
      expect(tokenOf(requestWith(`Bearer ${text}`))).toBe(text);
    }
    expect(new Set(made.flatMap((text) => [...text.slice(prefix.length, -6)])).size).toBe(62);
  });

  test("a secret for one use is 43 letters, more than 256 bits", () => {
    expect(newSecret()).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(newSecret()).not.toBe(newSecret());
  });

  test("is kept as SHA-256", () => {
    expect(hashOf("abc").toString("hex")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});

describe("a token that cannot be valid is told without a look at the database", () => {
  const key = newCredential("stead_");

  test("one letter changed, left out or doubled breaks the checksum", () => {
    const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    fc.assert(
      fc.property(fc.integer({ min: 6, max: key.length - 1 }), fc.constantFrom(...letters), (at, letter) => {
        const mistyped = key.slice(0, at) + letter + key.slice(at + 1);
        expect(tokenOf(requestWith(`Bearer ${mistyped}`))).toBe(mistyped === key ? key : "bad");
        expect(tokenOf(requestWith(`Bearer ${key.slice(0, at)}${key.slice(at + 1)}`))).toBe("bad");
        expect(tokenOf(requestWith(`Bearer ${key.slice(0, at)}${key[at]}${key.slice(at)}`))).toBe("bad");
      }),
    );
  });

  test("a key is not a session token with the same letters", () => {
    expect(tokenOf(requestWith(`Bearer ${key.replace("stead_", "steads_")}`))).toBe("bad");
  });

  test("whatever the header holds, the outcome is a whole token, bad or nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(tokenOf(requestWith(text))).toBe("bad");
      }),
    );
    expect(tokenOf(requestWith())).toBeNull();
    expect(tokenOf(requestWith(`Bearer ${key}`, `Bearer ${key}`))).toBe("bad");
  });

  test("a long header is read in no time", () => {
    const started = performance.now();
    for (const text of [`Bearer ${" ".repeat(16_000)}`, `Bearer ${"stead_".repeat(2600)}`, `bearer${" ".repeat(16_000)}x y`])
      expect(tokenOf(requestWith(text))).toBe("bad");
    expect(performance.now() - started).toBeLessThan(200);
  });
});
