/** Variables as JSON has them: a `bigint` is its decimal text, which the scalars for large integers accept. */
export function toVariables(variables: unknown): Record<string, unknown> {
  return { ...(withoutBigInts(variables) as object) };
}

function withoutBigInts(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(withoutBigInts);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutBigInts(inner)]));
}
