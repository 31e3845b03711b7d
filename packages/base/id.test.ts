import { randomUUIDv7 } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatId, isUuid, parseId, timeOf } from "./id.ts";

const prefix = fc.stringMatching(/^[a-z]{2,5}$/);

describe("an id", () => {
  test("goes out and comes back as the same UUID, whatever its bits", () => {
    fc.assert(
      fc.property(prefix, fc.uuid(), (kind, uuid) => {
        expect(parseId(kind, formatId(kind, uuid))).toBe(uuid);
      }),
    );
  });

  test("has the promised form", () => {
    fc.assert(
      fc.property(prefix, fc.uuid(), (kind, uuid) => {
        expect(formatId(kind, uuid)).toMatch(new RegExp(`^${kind}_[0-7][0-9a-hjkmnp-tv-z]{25}$`));
      }),
    );
  });

  test("stands in the order of its UUID, which is the order of time", () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (a, b) => {
        expect(formatId("act", a) < formatId("act", b)).toBe(a < b);
      }),
    );
  });

  // The examples of the TypeID specification, which has the same layout.
  test.each([
    ["00000000-0000-0000-0000-000000000000", "00000000000000000000000000"],
    ["00000000-0000-0000-0000-000000000001", "00000000000000000000000001"],
    ["00000000-0000-0000-0000-00000000000a", "0000000000000000000000000a"],
    ["00000000-0000-0000-0000-000000000020", "00000000000000000000000010"],
    ["ffffffff-ffff-ffff-ffff-ffffffffffff", "7zzzzzzzzzzzzzzzzzzzzzzzzz"],
    ["0110c853-1d09-52d8-d73e-1194e95b5f19", "0123456789abcdefghjkmnpqrs"],
    ["01890a5d-ac96-774b-bcce-b302099a8057", "01h455vb4pex5vsknk084sn02q"],
  ])("%s is written as TypeID writes it", (uuid, letters) => {
    expect(formatId("usr", uuid)).toBe(`usr_${letters}`);
    expect(parseId("usr", `usr_${letters}`)).toBe(uuid);
  });
});

describe("what is not an id of the kind", () => {
  const id = formatId("usr", "01890a5d-ac96-774b-bcce-b302099a8057");

  test.each([
    "",
    "usr_",
    "usr",
    id.slice(0, -1),
    `${id}0`,
    id.toUpperCase(),
    id.replace("usr", "srv"),
    id.replace("_", "-"),
    ` ${id}`,
    `${id}\n`,
    `x${id}`,
    "usr_8zzzzzzzzzzzzzzzzzzzzzzzzz",
    "usr_01h455vb4pex5vsknk084sn02i",
    "usr_01h455vb4pex5vsknk084sn02l",
    "usr_01h455vb4pex5vsknk084sn02u",
    "01890a5d-ac96-774b-bcce-b302099a8057",
  ])("%j is null", (text) => {
    expect(parseId("usr", text)).toBeNull();
  });

  test("is null, or the one spelling of some UUID", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.stringMatching(/^usr_[0-9a-zA-Z]{26}$/)), (text) => {
        const uuid = parseId("usr", text);
        expect(uuid === null || formatId("usr", uuid)).toBe(uuid === null || text);
      }),
    );
  });
});

test("the time in an id is when it was made", () => {
  const before = Date.now();
  const made = timeOf(randomUUIDv7()).getTime();
  expect(made).toBeGreaterThanOrEqual(before);
  expect(made).toBeLessThanOrEqual(Date.now());
});

test("a UUID is 32 lower-case hexadecimal digits in five groups", () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      expect([isUuid(uuid), isUuid(uuid.slice(1)), isUuid(`${uuid}\n`)]).toEqual([true, false, false]);
    }),
  );
});
