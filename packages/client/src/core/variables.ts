/**
 * Variables as JSON has them: a `bigint` is its decimal text, which the scalars for large integers accept. Those of which
 * there is no JSON are returned as they are, and refused when a request is written.
 */
export function toVariables(variables: unknown): Record<string, unknown> {
  try {
    return { ...JSON.parse(JSON.stringify(variables, decimalText)) };
  } catch {
    return { ...(variables as object) };
  }
}

function decimalText(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
