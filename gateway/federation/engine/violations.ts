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
  readonly explanations: readonly Explanations[];
  readonly reportViolations: ReportViolations;
};

/**
 * The nulls that the errors of requests explain: those at the same path as an error, above or below it, and those in an
 * object that an error set to null in its subgraph. Read once where many parts of a result share the errors.
 */
export class Explanations {
  readonly #nulls: PathTree;
  readonly #failed: PathTree;

  constructor(given: {
    readonly errors: readonly GraphQLError[];
    readonly nulled: readonly Readonly<ResponsePath>[];
  }) {
    this.#nulls = new PathTree(given.nulled);
    this.#failed = placesOf(given.errors);
  }

  /** Whether a null at this path is explained. */
  cover(path: Readonly<ResponsePath>): boolean {
    return this.#nulls.hasAbove(path) || this.#failed.hasOnBranch(path);
  }
}

/**
 * The errors of violations that are not explained yet. Every null in a non-nullable position needs exactly one error.
 * A violation with a code always has an error; one without a code is a bug, and is passed to `reportViolations`, too.
 */
export function explain(
  violations: readonly Violation[],
  { explanations, reportViolations }: Known,
): GraphQLError[] {
  const isExplained = (path: ResponsePath) => explanations.some((one) => one.cover(path));
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
