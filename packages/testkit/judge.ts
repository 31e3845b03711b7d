/**
 * Holds answers against api/openapi.json: the status, the content type, the body, the headers and the error code
 * must all be declared for the operation. Stricter than the document in one point: a field that it does not list
 * is a complaint, because unlisted fields must never leave.
 */
import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { Answer } from "./answers.ts";

export interface Schema {
  readonly [keyword: string]: unknown;
}

export interface Declared {
  readonly name: string;
  readonly method: string;
  /** After `/api/v2`, with `{…}`. */
  readonly path: string;
  /** Path, query and header parameters, references resolved. */
  readonly parameters: readonly Schema[];
  readonly body: Schema | null;
  readonly effect: "read" | "change";
  readonly open: boolean;
  readonly responses: Readonly<Record<string, Declaration>>;
}

interface Declaration {
  readonly description: string;
  readonly headers: readonly string[];
  /** Where in the document each content type's schema stands. */
  readonly content: Readonly<Record<string, string>>;
}

export interface Judge {
  readonly operations: ReadonlyMap<string, Declared>;
  /** What is wrong with the answer; nothing, if nothing is. */
  judge(operation: string, answer: Answer): string[];
}

// biome-ignore lint/suspicious/noExplicitAny: a document is walked by key here.
type Node = any;

/** Declared, but there only when there is something to say. */
const occasional = new Set([
  "link",
  "idempotent-replayed",
  "x-ignored-fields",
  "x-warnings",
  "preference-applied",
  "retry-after",
  "location",
  "operation-location",
  "operation-status",
]);
/** Said before anybody's rate limit is known. */
const uncounted = new Set(["https_required", "prefetch_refused", "unauthenticated"]);

/** Where a path leads to no operation at all, it is nobody's request. */
const nowhere = /"message":"Not found\."[,}]/;

export function openJudge(): Judge {
  const document: Node = JSON.parse(readFileSync(new URL("../../api/openapi.json", import.meta.url), "utf8"));
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { ...fullFormats, cidr: true, "mail-address": true } });
  ajv.addSchema(closed(document), "api");
  const operations = operationsOf(document);
  const compiled = new Map<string, ValidateFunction>();
  const validatorAt = (pointer: string): ValidateFunction => {
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `api${pointer}` });
    compiled.set(pointer, known);
    return known;
  };
  return {
    operations,
    judge(name, answer) {
      const declared = operations.get(name)?.responses[answer.status];
      if (answer.status >= 500) return [`${answer.status} ${answer.text}`];
      if (!declared) return [`the status ${answer.status} is not declared; the body is ${answer.text.slice(0, 200)}`];
      return [...judgeHeaders(declared, answer), ...(answer.status === 304 ? judgeEmpty(answer) : judgeBody(declared, answer, validatorAt))];
    },
  };
}

/** An error's body, whatever was asked: one text and nothing else. */
export function judgeMessage({ status, headers, text }: Answer): string[] {
  if (status >= 500) return [`${status} ${text}`];
  if (headers["content-type"] !== "application/json; charset=utf-8") return [`${status} with the content type ${headers["content-type"]}`];
  const body = parsed(text) as Record<string, unknown> | undefined;
  const exact = typeof body === "object" && body !== null && Object.keys(body).length === 1 && typeof body.message === "string" && body.message !== "";
  return exact ? [] : [`${status} with a body that is not exactly {message}: ${text.slice(0, 200)}`];
}

function judgeHeaders({ headers, description }: Declaration, answer: Answer): string[] {
  const code = answer.headers["x-error-code"];
  const counted = !(typeof code === "string" && uncounted.has(code)) && !nowhere.test(answer.text);
  const wanted = headers.map((name) => name.toLowerCase()).filter((name) => !occasional.has(name) && (counted || !name.startsWith("ratelimit")));
  const missing = ["x-content-type-options", ...wanted].filter((name) => answer.headers[name] === undefined).map((name) => `the header ${name} is missing`);
  if (answer.status === 429 && answer.headers["retry-after"] === undefined) missing.push("the header retry-after is missing");
  if (answer.status === 201 && answer.headers.location === undefined) missing.push("the header location is missing");
  const named = answer.status < 400 || (typeof code === "string" && description.includes(`\`${code}\``));
  return named ? missing : [...missing, `the code ${String(code)} is not declared for ${answer.status}`];
}

const judgeEmpty = ({ text }: Answer): string[] => (text === "" ? [] : [`304 with a body: ${text.slice(0, 200)}`]);

function judgeBody({ content }: Declaration, answer: Answer, validatorAt: (pointer: string) => ValidateFunction): string[] {
  const type = String(answer.headers["content-type"]);
  const pointer = content[type.replace("; charset=utf-8", "")];
  if (pointer === undefined || !type.endsWith("; charset=utf-8")) return [`the content type ${type} is not declared for ${answer.status}`];
  const body = parsed(answer.text);
  if (body === undefined) return [`the body is not JSON: ${answer.text.slice(0, 200)}`];
  const validate = validatorAt(pointer);
  if (validate(body)) return answer.status >= 400 && type.startsWith("application/json") ? judgeMessage(answer) : [];
  return (validate.errors ?? []).slice(0, 5).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function operationsOf(document: Node): Map<string, Declared> {
  const resolve = (node: Node): Node =>
    node?.$ref
      ? node.$ref
          .slice(2)
          .split("/")
          .reduce((at: Node, key: string) => at[key], document)
      : node;
  const at = (...keys: string[]) => `#/${keys.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`;
  const found = new Map<string, Declared>();
  for (const [path, item] of Object.entries<Node>(document.paths)) {
    for (const [method, operation] of Object.entries<Node>(item)) {
      const responses: Record<string, Declaration> = {};
      for (const [status, response] of Object.entries<Node>(operation.responses)) {
        const whole = resolve(response);
        const place = response.$ref ? response.$ref.slice(2).split("/") : ["paths", path, method, "responses", status];
        responses[status] = {
          description: response.description ?? whole.description,
          headers: Object.keys(whole.headers ?? {}),
          content: Object.fromEntries(Object.keys(whole.content ?? {}).map((type) => [type, at(...place, "content", type, "schema")])),
        };
      }
      found.set(operation.operationId, {
        name: operation.operationId,
        method: method.toUpperCase(),
        path,
        parameters: (operation.parameters ?? []).map(resolve),
        body: operation.requestBody ? deepResolve(operation.requestBody.content["application/json"].schema, resolve) : null,
        effect: operation["x-effect"],
        open: operation.security?.length === 0,
        responses,
      });
    }
  }
  return found;
}

function deepResolve(node: Node, resolve: (node: Node) => Node): Node {
  if (Array.isArray(node)) return node.map((part) => deepResolve(part, resolve));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(Object.entries(resolve(node)).map(([key, part]) => [key, deepResolve(part, resolve)]));
}

/** The same document with every object closed to fields it does not list. */
function closed(node: Node): Node {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== "object" || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, part]) => [key, closed(part)]));
  return copy.type === "object" && copy.properties ? { ...copy, additionalProperties: false } : copy;
}
