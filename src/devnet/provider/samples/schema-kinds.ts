import { isSchema, type Schema } from "./merge-schemas.ts";

/** The types that a schema allows, or the one that its other keywords imply. */
export function kindsOf(schema: Schema): readonly unknown[] {
  const { type, properties, required, items, prefixItems, format, minimum, exclusiveMinimum } = schema;
  if (type !== undefined) return [type].flat();
  if (properties ?? required ?? schema.additionalProperties ?? schema.minProperties) return ["object"];
  if (items ?? prefixItems ?? schema.minItems) return ["array"];
  if (format ?? schema.minLength ?? schema.pattern) return ["string"];
  return (minimum ?? exclusiveMinimum ?? schema.maximum ?? schema.multipleOf) === undefined ? [] : ["number"];
}

/** Whether a value is of a JSON Schema type. */
export function isOf(kind: unknown, value: unknown): boolean {
  if (kind === "null") return value === null;
  if (kind === "array") return Array.isArray(value);
  if (kind === "integer") return Number.isInteger(value);
  if (kind === "object") return isSchema(value);
  return typeof value === kind;
}
