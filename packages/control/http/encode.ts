/**
 * Rows become replies here, by the contract: plain UUIDs get their prefix, times become ISO 8601 in UTC,
 * and only the listed fields leave, in the listed order.
 */
import { formatId } from "@stead/base/id.ts";
import type { TSchema } from "typebox";

type Json = Record<string, unknown>;
export type Encode = (payload: unknown) => string;

/** PostgreSQL writes times as `2026-11-15 09:30:00.12345+00`; cutting that text is far quicker than parsing it. */
const toIso = (value: unknown): string => {
  if (typeof value !== "string" || value.length < 22 || !value.endsWith("+00"))
    return (value instanceof Date ? value : new Date(value as string)).toISOString();
  return `${value.slice(0, 10)}T${value.slice(11, 19)}.${value.slice(20, -3).padEnd(3, "0").slice(0, 3)}Z`;
};

/** A function that writes a value of this schema as JSON. */
function writer(schema: Json): Encode {
  const branches = schema.anyOf as Json[] | undefined;
  if (branches) {
    const write = writer(branches.find((branch) => branch.type !== "null") as Json);
    return (value) => (value === null ? "null" : write(value));
  }
  if (typeof schema.prefix === "string") {
    const prefix = schema.prefix;
    return (value) => `"${formatId(prefix, value as string)}"`;
  }
  if (schema.format === "date-time") return (value) => `"${toIso(value)}"`;
  if (schema.type === "array") return list(writer(schema.items as Json));
  return schema.type === "object" ? record(schema.properties as Record<string, Json>) : JSON.stringify;
}

const list =
  (write: Encode): Encode =>
  (value) => {
    let text = "";
    for (const item of value as unknown[]) text += text === "" ? write(item) : `,${write(item)}`;
    return `[${text}]`;
  };

/** Writes the listed fields one after the other, so that nothing else can leave; a listed one that is missing is an accident. */
function record(properties: Record<string, Json>): Encode {
  const fields = Object.entries(properties).map(([name, property], index) => ({
    name,
    before: `${index === 0 ? "" : ","}${JSON.stringify(name)}:`,
    write: writer(property),
  }));
  return (value) => {
    let text = "{";
    for (const { name, before, write } of fields) {
      const field = (value as Json)[name];
      if (field === undefined) throw new Error(`\`${name}\` is required in the reply`);
      text += before + write(field);
    }
    return `${text}}`;
  };
}

export const encoder = (schema: TSchema): Encode => writer(schema as unknown as Json);
