import { Fault } from "@stead/base/fault.ts";
import { describe, expect, test } from "vitest";
import { hashPassword, requireGoodPassword, verifyPassword } from "./password.ts";

describe("hash", () => {
  test("is Argon2id with 19 MiB, two passes and one lane, salted anew each time", async () => {
    const [one, other] = await Promise.all([hashPassword("staple tractor violet"), hashPassword("staple tractor violet")]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.toBe(other);
  });

  test("takes the right password in any normal form, and no other", async () => {
    const stored = await hashPassword("caf\u00e9 au lait");
    expect(await verifyPassword("cafe\u0301 au lait", stored)).toBe(true);
    expect(await verifyPassword("cafe au lait", stored)).toBe(false);
    expect(await verifyPassword("caf\u00e9 au lait", null)).toBe(false);
  });

  test("is checked at the cost it was made with, so that the cost can rise", async () => {
    // "password" by the reference implementation: argon2 somesaltsomesalt -id -t 3 -k 4096 -p 1 -l 32
    const { argon2Sync } = await import("node:crypto");
    const nonce = Buffer.from("somesaltsomesalt");
    const tag = argon2Sync("argon2id", { message: "an older phrase", nonce, memory: 4096, passes: 3, parallelism: 2, tagLength: 24 });
    const bare = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
    const stored = `$argon2id$v=19$m=4096,t=3,p=2$${bare(nonce)}$${bare(tag)}`;
    expect(await verifyPassword("an older phrase", stored)).toBe(true);
    expect(await verifyPassword("another phrase", stored)).toBe(false);
  });
});

describe("a good password", () => {
  const refusal = (password: string) => {
    try {
      requireGoodPassword("new_password", password, "ada@example.com");
      return null;
    } catch (error) {
      return error instanceof Fault ? error.fields[0]?.code : error;
    }
  };

  test.each(["password", "12345678", "qwertyuiop", "iloveyou1", "PassWord123", "trustno1"])("is not %s, which is tried first", (password) =>
    expect(refusal(password)).toBe("common"),
  );
  test.each(["ada@example.com", "ADA@EXAMPLE.COM"])("is not one's address: %s", (password) => expect(refusal(password)).toBe("is_email"));
  test.each(["staple tractor violet", "correct horse battery", "пароль-из-слов", "密码密码密码密码"])("may be %s", (password) =>
    expect(refusal(password)).toBe(null),
  );
});
