/** Every property of the interface shows one example; this keeps the schemas short. */
export const example = <T>(value: T): { examples: [T] } => ({ examples: [value] });

interface Shape {
  examples?: unknown[];
  enum?: unknown[];
  anyOf?: Shape[];
  items?: Shape;
  properties?: Record<string, Shape>;
}

/** The example of a whole schema, put together from the examples of its parts. */
export function exampleOf(schema: object): unknown {
  const { examples, enum: values, anyOf, items, properties } = schema as Shape;
  if (examples) return examples[0];
  if (values) return values[0];
  if (anyOf?.[0]) return exampleOf(anyOf[0]);
  if (items) return [exampleOf(items)];
  if (properties) return Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, exampleOf(part)]));
  return null;
}
