import { GraphQLError } from "graphql";
import type { ResponsePath } from "./subgraph-executor.ts";

/** A value that the public schema does not allow. */
export type Violation = {
  readonly path: ResponsePath;
  readonly message: string;
  /** `internal_error` unless told. */
  readonly code?: string;
};

/** One operation leaves at most so many errors of its own: a long list must not answer with as many. */
const MAX_ERRORS = 100;

/**
 * The errors of violations that nothing explains yet: every null in a place that is not nullable has an error, and
 * one is enough. What a subgraph reported at the same place, above or below it, explains, and so does an error that left
 * the object null in its subgraph. Those with a code are told.
 */
export function explain(
  violations: readonly Violation[],
  errors: readonly GraphQLError[],
  nulled: readonly Readonly<ResponsePath>[],
): GraphQLError[] {
  const isExplained = (path: ResponsePath) =>
    nulled.some((place) => place.length <= path.length && sameBranch(place, path)) ||
    errors.some((error) => error.path && sameBranch(path, error.path));
  const unexplained = violations.filter(({ path, code }) => code !== undefined || !isExplained(path));
  return unexplained
    .slice(0, MAX_ERRORS)
    .map(
      ({ path, message, code = "internal_error" }) =>
        new GraphQLError(message, { path, extensions: { code } }),
    );
}

function sameBranch(first: readonly (string | number)[], second: readonly (string | number)[]): boolean {
  const shared = Math.min(first.length, second.length);
  for (let index = 0; index < shared; index++) if (first[index] !== second[index]) return false;
  return true;
}
