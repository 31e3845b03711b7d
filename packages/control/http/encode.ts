/**
 * Rows become replies here, by the contract: plain UUIDs get their prefix, times become ISO 8601 in UTC,
 * and the serialiser writes the listed fields in the listed order and nothing else.
 */
import { formatId } from "@stead/base/id.ts";
import fastJson from "fast-json-stringify";
import type { TSchema } from "typebox";

type Json = Record<string, unknown>;
type Convert = (value: unknown) => unknown;

/** PostgreSQL's JSON has times as `2026-11-15T09:30:00.12345+00:00`; cutting the text is far quicker than parsing it. */
const toIso: Convert = (value) => {
  if (typeof value !== "string" || value.length < 25 || !value.endsWith("+00:00") || value[19] === ":")
    return (value instanceof Date ? value : new Date(value as string)).toISOString();
  return `${value.slice(0, 19)}.${value.slice(20, -6).padEnd(3, "0").slice(0, 3)}Z`;
};

/** A function that converts a value in place and returns it, or null where nothing in the schema needs it. */
function converter(schema: Json): Convert | null {
  const branches = schema.anyOf as Json[] | undefined;
  if (branches) {
    const inner = branches.filter((branch) => branch.type !== "null").map(converter)[0];
    return inner ? (value) => (value === null ? null : inner(value)) : null;
  }
  if (typeof schema.prefix === "string") {
    const prefix = schema.prefix;
    return (value) => formatId(prefix, value as string);
  }
  if (schema.format === "date-time") return toIso;
  if (schema.type === "array") {
    const item = converter(schema.items as Json);
    return item ? (value) => (value as unknown[]).map(item) : null;
  }
  if (schema.type === "object") {
    const fields = Object.entries(schema.properties as Record<string, Json>).flatMap(([name, property]) => {
      const convert = converter(property);
      return convert ? [[name, convert] as const] : [];
    });
    if (fields.length === 0) return null;
    return (value) => {
      const record = value as Json;
      for (const [name, convert] of fields) record[name] = convert(record[name]);
      return record;
    };
  }
  return null;
}

/** The schema as the serialiser needs it: the shape alone, without rules that it would try to check. */
function shapeOf(schema: Json): Json {
  if (schema.anyOf) return { anyOf: (schema.anyOf as Json[]).map(shapeOf) };
  if (schema.type === "array") return { type: "array", items: shapeOf(schema.items as Json) };
  if (schema.type === "object") {
    const properties = Object.entries(schema.properties as Record<string, Json>).map(([name, property]) => [name, shapeOf(property)]);
    return { type: "object", properties: Object.fromEntries(properties), required: schema.required as string[] };
  }
  return schema.type === undefined ? {} : { type: schema.type };
}

export type Encode = (payload: unknown) => string;

export function encoder(schema: TSchema): Encode {
  const convert = converter(schema as unknown as Json);
  const stringify = fastJson(shapeOf(schema as unknown as Json) as unknown as fastJson.Schema);
  return (payload) => stringify(convert ? convert(payload) : payload);
}
