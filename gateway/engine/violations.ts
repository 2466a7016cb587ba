import { GraphQLError } from "graphql";
import type { ResponsePath } from "./subgraph-executor.ts";

/** A value that the public schema does not allow. */
export type Violation = { readonly path: ResponsePath; readonly message: string };

/**
 * The errors of violations that nothing explains yet: every null in a place that is not nullable has an error, and
 * one is enough. What a subgraph reported at the same place, above or below it, explains.
 */
export function explain(violations: readonly Violation[], errors: readonly GraphQLError[]): GraphQLError[] {
  const unexplained = violations.filter(
    ({ path }) => !errors.some((error) => error.path && sameBranch(path, error.path)),
  );
  return unexplained.map(
    ({ path, message }) => new GraphQLError(message, { path, extensions: { code: "internal_error" } }),
  );
}

function sameBranch(first: readonly (string | number)[], second: readonly (string | number)[]): boolean {
  const shared = Math.min(first.length, second.length);
  for (let index = 0; index < shared; index++) if (first[index] !== second[index]) return false;
  return true;
}
