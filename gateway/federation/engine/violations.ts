import { GraphQLError } from "graphql";
import { PathTree } from "./path-tree.ts";
import type { ResponsePath } from "./subgraph-executor.ts";

/** A value that the public schema does not allow. */
export type Violation = {
  readonly path: ResponsePath;
  readonly message: string;
  /** `internal_error` by default. */
  readonly code?: string;
};

/** Receives the errors of results that the public schema does not allow: for the log, as clients get a fixed message. */
export type ReportViolations = (errors: readonly GraphQLError[]) => void;

const BUG = "internal_error";
/** The most violation errors of one operation: a long list must not produce as many. */
const MAX_ERRORS = 100;

/** What explains nulls, and where those that nothing explains are reported. */
type Known = {
  readonly errors: readonly GraphQLError[];
  readonly nulled: readonly Readonly<ResponsePath>[];
  readonly reportViolations: ReportViolations;
};

/**
 * The errors of violations that are not explained yet. Every null in a non-nullable position needs exactly one error.
 * An error reported by a subgraph at the same path, above or below it explains the null, and so does an error
 * that set the object to null in its subgraph. A violation with a code always has an error;
 * one without a code is a bug, and is passed to `reportViolations`, too.
 */
export function explain(
  violations: readonly Violation[],
  { errors, nulled, reportViolations }: Known,
): GraphQLError[] {
  const [nulls, failed] = [new PathTree(nulled), placesOf(errors)];
  const isExplained = (path: ResponsePath) => nulls.hasAbove(path) || failed.hasOnBranch(path);
  const unexplained = violations.filter(({ path, code }) => code !== undefined || !isExplained(path));
  const found = unexplained
    .slice(0, MAX_ERRORS)
    .map(({ path, message, code = BUG }) => new GraphQLError(message, { path, extensions: { code } }));
  const bugs = found.filter(({ extensions }) => extensions.code === BUG);
  if (bugs.length > 0) reportViolations(bugs);
  return found;
}

/** The places of errors; one without a path has none. */
function placesOf(errors: readonly GraphQLError[]): PathTree {
  return new PathTree(errors.flatMap(({ path }) => (path ? [path] : [])));
}
