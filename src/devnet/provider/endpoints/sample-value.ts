type Schema = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 8;

/**
 * A value that matches a JSON Schema of a tool or a structured response: every property, one item, the first choice.
 */
export function sampleValue(schema: unknown, depth = 0): unknown {
  if (typeof schema !== "object" || schema === null || depth > MAX_DEPTH) return null;
  const { const: constant, enum: choices, anyOf, oneOf, type, items, properties, minimum } = schema as Schema;
  if (constant !== undefined) return constant;
  for (const list of [choices]) if (Array.isArray(list) && list.length > 0) return list[0];
  for (const list of [anyOf, oneOf])
    if (Array.isArray(list) && list.length > 0) return sampleValue(list[0], depth + 1);
  const kind = Array.isArray(type) ? type[0] : (type ?? (properties ? "object" : undefined));
  if (kind === "string") return "quiet river";
  if (kind === "number" || kind === "integer") return typeof minimum === "number" ? minimum : 7;
  if (kind === "boolean") return true;
  if (kind === "array") return items === undefined ? [] : [sampleValue(items, depth + 1)];
  if (kind !== "object") return null;
  const entries = Object.entries((properties ?? {}) as Schema);
  return Object.fromEntries(entries.map(([name, value]) => [name, sampleValue(value, depth + 1)]));
}
