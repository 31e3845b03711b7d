import { parseId } from "@stead/base/id.ts";
import { exampleOf } from "@stead/contract/example.ts";
import { Id, Nullable, Timestamp, text } from "@stead/contract/fields.ts";
import { everyOperation } from "@stead/contract/index.ts";
import Type from "typebox";
import { describe, expect, test } from "vitest";
import { encoder } from "./encode.ts";

const uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
const id = "01h455vb4pex5vsknk084sn02q";

describe("a row becomes a reply", () => {
  test("with its ids prefixed and its times in UTC, in the listed order, and nothing unlisted", () => {
    const encode = encoder(Type.Object({ uid: Id("uid"), name: text({}, "x"), created_at: Timestamp }));
    const row = { password_hash: "secret", created_at: new Date("2026-11-15T10:30:00+01:00"), name: 'a "quoted" ü \u2028', uid: uuid };
    expect(encode(row)).toBe(`{"uid":"usr_${id}","name":"a \\"quoted\\" ü \u2028","created_at":"2026-11-15T09:30:00.000Z"}`);
  });

  test.each(["2026-11-15T09:30:00+00:00", "2026-11-15T09:30:00.123456+00:00", "2026-11-15 09:30:00+00"])(
    "a time as PostgreSQL writes it in JSON, %s",
    (time) => {
      expect(JSON.parse(encoder(Type.Object({ at: Timestamp }))({ at: time }))).toEqual({ at: expect.stringMatching(/^2026-11-15T09:30:00\.\d{3}Z$/) });
    },
  );

  test("null stays null where it may be, and lists and records are followed inside", () => {
    const encode = encoder(
      Type.Object({
        data: Type.Array(
          Type.Object({ tid: Id("tid"), at: Nullable(Timestamp), sids: Nullable(Type.Array(Id("sid"))), owner: Nullable(Type.Object({ uid: Id("uid") })) }),
        ),
      }),
    );
    expect(
      JSON.parse(
        encode({
          data: [
            { tid: uuid, at: null, sids: null, owner: null },
            { tid: uuid, at: "2026-11-15T09:30:00Z", sids: [uuid], owner: { uid: uuid, more: 1 } },
          ],
        }),
      ),
    ).toEqual({
      data: [
        { tid: `team_${id}`, at: null, sids: null, owner: null },
        { tid: `team_${id}`, at: "2026-11-15T09:30:00.000Z", sids: [`srv_${id}`], owner: { uid: `usr_${id}` } },
      ],
    });
  });

  test("a listed field that is not there is an accident, never a shorter reply", () => {
    expect(() => encoder(Type.Object({ name: text({}, "x"), other: text({}, "x") }))({ name: "a" })).toThrow(/required/);
  });
});

/** The example with its ids as they lie in the database. */
const stored = (value: unknown): unknown => {
  if (typeof value === "string") return parseId(value.split("_")[0] ?? "", value) ?? value;
  if (Array.isArray(value)) return value.map(stored);
  return typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, stored(each)])) : value;
};

// Texts that only look like ids are left out: outside they are what they are inside.
const loose = new Set(["users.pending", "pending.outgoing", "operations.get", "operations.list", "operations.stream"]);

test.each(everyOperation.filter(({ name }) => !loose.has(name)))("$name: the documented example is what comes out", ({ op }) => {
  const example = exampleOf(op.reply);
  const out = encoder(op.reply)(stored(structuredClone(example)));
  expect(JSON.parse(out)).toEqual(example);
  expect(Object.keys(JSON.parse(out) as object)).toEqual(Object.keys(example as object));
});
