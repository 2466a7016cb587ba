import type { z } from "zod";

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/** JSON's names of zod's types. */
const TYPES: Readonly<Record<string, string>> = {
  int: "an integer",
  array: "an array",
  object: "an object",
  record: "an object",
  null: "null",
};
const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ["character", "characters"],
  array: ["item", "items"],
  record: ["member", "members"],
};

/**
 * The reason that a value of a request is invalid, which follows its name in errors: `must be an integer`. Only for
 * issues whose schema has no message of its own; undefined leaves the text to zod.
 */
export function invalidReason(issue: RawIssue): string | undefined {
  if (issue.input === undefined) return "is required";
  switch (issue.code) {
    case "invalid_type":
      return `must be ${TYPES[issue.expected] ?? `a ${issue.expected}`}`;
    case "invalid_value":
      return `must be ${listed(issue.values.map((value) => JSON.stringify(value) ?? String(value)))}`;
    case "too_big":
      return limited(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum);
    case "too_small":
      return limited(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_key":
      return "has a member whose name is not allowed";
    case "invalid_union":
      return "has none of the allowed forms";
    default:
      return undefined;
  }
}

function limited(origin: string, relation: string, limit: number | bigint): string {
  const [one, many] = UNITS[origin] ?? [];
  if (many === undefined) return `must be ${relation} ${limit}`;
  if (relation === "at least" && Number(limit) === 1) return "must not be empty";
  return `must have ${relation} ${limit} ${Number(limit) === 1 ? one : many}`;
}

function listed(values: readonly string[]): string {
  return values.length === 1 ? (values[0] ?? "") : `one of ${values.join(", ")}`;
}
