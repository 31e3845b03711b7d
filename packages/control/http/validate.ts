/**
 * Step 9 of the order of checks: is the body, is the query what the contract says?
 * Nothing is coerced; unknown fields are ignored and named, or refused when the caller asks for strictness.
 */
import { Fault, type FieldProblem } from "@stead/base/fault.ts";
import { keywords } from "@stead/contract/fields.ts";
import type { Operation } from "@stead/contract/operation.ts";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { TObject } from "typebox";

const mostProblems = 5;
const mostDepth = 20;
/** For fields whose pattern alone bounds them, and for fields that nobody knows. */
const mostLength = 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is looked for.
const controls = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same, with newlines allowed.
const controlsButNewline = /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f]/;

type Json = Record<string, unknown>;
type Refusal = "validation_failed" | "invalid_query";
type StringRules = { trim?: boolean; multiline?: boolean; maxLength?: number; says?: string };

export type Format = (text: string) => boolean;

export interface Validator {
  body(raw: unknown, strict: boolean): { value: Json; ignored: string[] };
  query(raw: Json): Json;
}

/** `formats` are the grammars that a pattern cannot say; an operation that names an unknown one stops the boot. */
export function validators(formats: Readonly<Record<string, Format>>): (op: Operation) => Validator {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: true,
    strict: true,
    formats: { ...formats },
  });
  ajv.addVocabulary([...keywords]);
  return (op) => {
    const checkBody = op.body ? ajv.compile(op.body) : null;
    const checkQuery = op.query ? ajv.compile(op.query) : null;
    return {
      body(raw, strict) {
        if (!op.body || !checkBody) return { value: {}, ignored: [] };
        const value = asObject(raw, op.body);
        const ignored = Object.keys(value).filter((field) => !Object.hasOwn((op.body as TObject).properties, field));
        if (strict && ignored.length > 0) {
          throw problem(
            "validation_failed",
            ignored.map((field) => ({ field, code: "unknown", message: `\`${shorten(field)}\` is not a known field.` })),
          );
        }
        const known = Object.fromEntries(Object.entries(value).filter(([field]) => !ignored.includes(field)));
        const clean = cleanStrings(known, op.body, "", 0, "validation_failed") as Json;
        check(checkBody, clean, "validation_failed");
        return { value: clean, ignored };
      },
      query(raw) {
        if (!op.query || !checkQuery) return {};
        const value = Object.fromEntries(
          Object.entries(raw).flatMap(([name, text]) => {
            const schema = Object.hasOwn(op.query?.properties ?? {}, name) ? (op.query?.properties[name] as Json) : null;
            return schema ? [[name, schema.type === "integer" ? digits(text) : text]] : [];
          }),
        );
        const clean = cleanStrings(value, op.query, "", 0, "invalid_query") as Json;
        check(checkQuery, clean, "invalid_query");
        return clean;
      },
    };
  };
}

/** Decimal digits become a number; anything else stays text, which is then refused. */
const digits = (text: unknown): unknown => (typeof text === "string" && /^[1-9][0-9]{0,6}$/.test(text) ? Number(text) : text);

function asObject(raw: unknown, schema: TObject): Json {
  if (raw === undefined) {
    const required = schema.required as string[] | undefined;
    if (!required || required.length === 0) return {};
    throw new Fault("invalid", "invalid_body", "A JSON body is required.");
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw new Fault("invalid", "invalid_body", "The request body must be a JSON object.");
  return raw as Json;
}

/** Refuses broken Unicode and control characters in every string, and trims and normalises where the field asks for it. */
function cleanStrings(value: unknown, schema: unknown, at: string, depth: number, code: Refusal): unknown {
  if (depth > mostDepth) throw problem(code, [{ field: at, code: "depth", message: "The request body is nested too deeply." }]);
  if (typeof value === "string") return cleanString(value, (schema ?? {}) as StringRules, at, code);
  if (Array.isArray(value))
    return value.map((item, index) => cleanStrings(item, (schema as { items?: unknown } | undefined)?.items, `${at}[${index}]`, depth + 1, code));
  if (typeof value === "object" && value !== null) {
    const properties = (schema as { properties?: Json } | undefined)?.properties ?? {};
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        cleanStrings(item, Object.hasOwn(properties, name) ? properties[name] : undefined, at === "" ? name : `${at}.${name}`, depth + 1, code),
      ]),
    );
  }
  return value;
}

function cleanString(text: string, rules: StringRules, field: string, code: Refusal): string {
  // Length first (a character is at most two code units), so that no pattern ever runs over a huge text.
  if (text.length > 2 * (rules.maxLength ?? mostLength))
    throw problem(code, [{ field, code: "maxLength", message: `\`${field}\` ${rules.says ?? "is too long"}.` }]);
  if (!text.isWellFormed()) throw problem(code, [{ field, code: "unicode", message: `\`${field}\` must be valid Unicode text.` }]);
  if ((rules.multiline ? controlsButNewline : controls).test(text)) {
    throw problem(code, [{ field, code: "control_character", message: `\`${field}\` must not contain control characters.` }]);
  }
  return rules.trim ? text.trim().normalize("NFC") : text;
}

function check(validate: ValidateFunction, value: unknown, code: Refusal): void {
  if (validate(value)) return;
  const byField = new Map<string, FieldProblem>();
  for (const error of validate.errors ?? []) {
    const found = explain(error);
    if (!byField.has(found.field)) byField.set(found.field, found);
  }
  throw problem(code, [...byField.values()]);
}

function explain(error: ErrorObject): FieldProblem {
  if (error.keyword === "required") {
    const field = fieldAt(error.instancePath, error.params.missingProperty as string);
    return { field, code: "required", message: `\`${field}\` is required.` };
  }
  const field = fieldAt(error.instancePath);
  const says = (error.parentSchema as { says?: string } | undefined)?.says;
  if (error.keyword === "minLength" && error.data === "") return { field, code: "required", message: `\`${field}\` is required.` };
  return { field, code: error.keyword, message: `\`${field}\` ${says ?? error.message ?? "is not valid"}.` };
}

function fieldAt(pointer: string, last?: string): string {
  const path = pointer
    .split("/")
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : part));
  if (last !== undefined) path.push(last);
  return shorten(path.join(".").replaceAll(".[", "["));
}

const shorten = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}…` : text);

function problem(code: Refusal, fields: FieldProblem[]): Fault {
  const shown = fields.slice(0, mostProblems);
  return new Fault("invalid", code, shown.map(({ message }) => message).join(" "), { fields: shown });
}
