/** A JSON Schema that is an object. */
export type Schema = Readonly<Record<string, unknown>>;

const GREATER: ReadonlySet<string> = new Set([
  ...["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"],
]);
const LESSER: ReadonlySet<string> = new Set([
  ...["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"],
]);
/** Keywords whose schema applies to the same values in both. */
const APPLIED: ReadonlySet<string> = new Set(["items", "additionalItems", "additionalProperties"]);

/** Whether a schema is an object, and not `true`, `false` or something else. */
export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A schema for the values that match both, keyword by keyword. An unknown keyword is that of the second. */
export function mergeSchemas(first: Schema, second: Schema): Schema {
  const added = Object.entries(second).map(([keyword, value]) => [
    keyword,
    Object.hasOwn(first, keyword) ? both(keyword, first[keyword], value) : value,
  ]);
  return Object.fromEntries([...Object.entries(first), ...added]);
}

function both(keyword: string, first: unknown, second: unknown): unknown {
  if (typeof first === "number" && typeof second === "number") {
    if (GREATER.has(keyword)) return Math.max(first, second);
    if (LESSER.has(keyword)) return Math.min(first, second);
  }
  if (keyword === "type") return commonTypes([first].flat(), [second].flat());
  if (APPLIED.has(keyword) && !Array.isArray(first) && !Array.isArray(second))
    return { allOf: [first, second] };
  if (keyword === "properties" && isSchema(first) && isSchema(second)) return bothProperties(first, second);
  if (!Array.isArray(first) || !Array.isArray(second)) return second;
  if (keyword === "required") return [...first, ...second];
  if (keyword !== "enum") return second;
  const known = new Set(first.map((choice) => JSON.stringify(choice)));
  return second.filter((choice) => known.has(JSON.stringify(choice)));
}

function bothProperties(first: Schema, second: Schema): Schema {
  const added = Object.entries(second).map(([name, schema]) => [
    name,
    Object.hasOwn(first, name) ? { allOf: [first[name], schema] } : schema,
  ]);
  return Object.fromEntries([...Object.entries(first), ...added]);
}

/** An integer is a number as well. */
function commonTypes(first: readonly unknown[], second: readonly unknown[]): readonly unknown[] {
  const isIn = (type: unknown, types: readonly unknown[]) =>
    types.includes(type) || (type === "integer" && types.includes("number"));
  const common = [
    ...first.filter((type) => isIn(type, second)),
    ...second.filter((type) => isIn(type, first)),
  ];
  return [...new Set(common)];
}
