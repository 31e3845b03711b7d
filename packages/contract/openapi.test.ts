/** The OpenAPI document: the committed file is the generated one, and it holds what readers count on. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Code, codes } from "./codes.ts";
import { keywords } from "./fields.ts";
import { everyOperation } from "./index.ts";
import { codesOf, openapi } from "./openapi.ts";
import { records } from "./records.ts";

/** Loose on purpose: a part of the document, by key. */
interface Node {
  [key: string]: Node;
}

const committed = readFileSync(new URL("../../api/openapi.json", import.meta.url), "utf8");
const generated = `${JSON.stringify(openapi(everyOperation, records), null, 2)}\n`;
const document = JSON.parse(generated) as Node;

const resolve = (node: Node): Node => {
  const to: unknown = node.$ref;
  if (typeof to !== "string") return node;
  const found = to
    .slice(2)
    .split("/")
    .reduce<Node | undefined>((at, key) => at?.[key], document);
  if (!found) throw new Error(`${to} leads nowhere`);
  return found;
};

function* walk(node: unknown, at = ""): Generator<[at: string, node: Node]> {
  if (typeof node !== "object" || node === null) return;
  yield [at, node as Node];
  for (const [key, part] of Object.entries(node)) yield* walk(part, `${at}/${key}`);
}
const nodes = [...walk(document)];

interface Shown extends Record<`x-${string}`, unknown> {
  operationId: string;
  tags: string[];
  security?: unknown;
  responses: Record<string, Node & { description: string }>;
}
const paths = document.paths as unknown as Record<string, Record<string, Shown>>;
const operations = Object.entries(paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, operation })));
const responses = operations.flatMap(({ operation }) =>
  Object.entries(operation.responses).map(([status, response]) => ({ at: `${operation.operationId} ${status}`, status, response })),
);

describe("the document", () => {
  test("is committed as it is generated", () => {
    // Compared as a flag: a difference of 600 KB helps nobody. Run: node tools/openapi.ts
    expect(committed === generated).toBe(true);
  });

  test("has every operation of the contract, and no other", () => {
    expect(operations.map(({ path, method, operation }) => `${operation.operationId} ${method} ${path}`).sort()).toEqual(
      everyOperation.map(({ name, op }) => `${name} ${op.method.toLowerCase()} ${op.path}`).sort(),
    );
  });

  test("has no reference that leads nowhere", () => {
    for (const [, node] of nodes) resolve(node);
  });

  test("has none of our own keywords", () => {
    const schemas = nodes
      .filter(([, node]) => "type" in node || "anyOf" in node)
      .filter(([at]) => !/\/(properties|examples?)$/.test(at) && !/\/examples?\//.test(at));
    expect(schemas.flatMap(([at, node]) => keywords.filter((keyword) => keyword in node).map((keyword) => `${at}: ${keyword}`))).toEqual([]);
  });

  test("shows an example for every property, parameter, header and body", () => {
    const shows = (schema: Node): boolean => {
      const to = resolve(schema);
      if ("examples" in to) return true;
      if (to.properties) return Object.values(to.properties).every(shows);
      return to.items !== undefined && shows(to.items);
    };
    const properties = nodes
      .filter(([at]) => at.endsWith("/properties") && !/\/examples?\//.test(at))
      .flatMap(([at, node]) => Object.entries(node).map(([name, schema]) => [`${at}/${name}`, schema] as const));
    expect(properties.length).toBeGreaterThan(300);
    expect(properties.filter(([, schema]) => !shows(schema)).map(([at]) => at)).toEqual([]);
    const carriers = nodes.filter(([, node]) => "schema" in node);
    expect(carriers.length).toBeGreaterThan(200);
    expect(carriers.filter(([, node]) => !("example" in node)).map(([at]) => at)).toEqual([]);
  });

  test("gives every response its headers", () => {
    for (const { at, status, response } of responses) {
      const has = Object.keys(resolve(response).headers ?? {});
      expect(has, at).toContain("X-Request-Id");
      expect(has, at).toContain("Cache-Control");
      if (Number(status) >= 400) expect(has, at).toContain("X-Error-Code");
      if (status === "401") expect(has, at).toContain("WWW-Authenticate");
      if (status === "429") expect(has, at).toContain("Retry-After");
      if (status === "201") expect(has, at).toContain("Location");
    }
  });

  test("gives every error both forms, and names the codes", () => {
    for (const { at, status, response } of responses.filter((one) => Number(one.status) >= 400)) {
      expect(Object.keys(resolve(response).content ?? {}), at).toEqual(["application/json", "application/problem+json"]);
      const named = [...response.description.matchAll(/`(\w+)`/g)].map(([, code]) => code as Code);
      expect(named.length, at).toBeGreaterThan(0);
      for (const code of named) expect(String(codes[code][0]), `${at} ${code}`).toBe(status);
    }
  });

  test.for(operations.map((one) => [one.operation.operationId, one] as const))("%s: marks, security and statuses", ([name, { path, operation }]) => {
    const op = everyOperation.find((one) => one.name === name)?.op;
    if (!op) throw new Error(`${name} is not in the contract`);
    expect(operation["x-extension"]).toBe(path.startsWith("/ext/") ? true : undefined);
    expect(operation.tags.includes("Extensions")).toBe(path.startsWith("/ext/"));
    expect([operation["x-effect"], operation["x-class"], operation["x-rate-class"], operation["x-needs"]]).toEqual([op.effect, op.class, op.rate, op.needs]);
    expect(operation.security).toEqual(op.scope === "open" ? [] : undefined);

    const statuses = Object.keys(operation.responses);
    expect(statuses).toContain(String(op.status));
    for (const status of ["400", "403", "429", "500"]) expect(statuses).toContain(status);
    expect(statuses.includes("401")).toBe(op.scope !== "open" || op.faults.includes("unauthenticated"));
    for (const code of codesOf(op)) expect(statuses).toContain(String(codes[code][0]));

    const headers = Object.keys(resolve(operation.responses[op.status] as Node).headers ?? {});
    expect(headers.includes("Operation-Location")).toBe(op.class === "queued" || op.class === "live");
    expect(headers.includes("ETag")).toBe(op.effect === "read" && !op.secret && !op.stream);
    expect(headers.includes("X-Ignored-Fields")).toBe(op.body !== undefined);
  });
});
