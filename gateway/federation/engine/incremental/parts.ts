import type { ExecutionResult, GraphQLError } from "graphql";
import type { JsonObject, ResponsePath } from "../subgraph-executor.ts";

/** A fragment at one place of the result, or a list, that is delivered later. */
export type Pending = {
  readonly id: string;
  readonly path: ResponsePath;
  readonly label?: string | undefined;
};

/** The data of a fragment, to be merged into the object at its path. */
type FragmentData = Pending & { readonly kind: "fragment"; readonly data: JsonObject };
/** Items of a list, from index `at` on. */
type ListItems = Pending & { readonly kind: "list"; readonly at: number; readonly items: readonly unknown[] };

/** What one part delivers. */
export type Delivery = (FragmentData | ListItems) & { readonly errors: readonly GraphQLError[] };

/** The end of a pending one; with errors if it cannot be delivered: then `at` is the failed index of a list. */
export type Completed = Pending & { readonly errors?: readonly GraphQLError[]; readonly at?: number };

/** A part of a response after the first. */
export type Part = {
  readonly pending: readonly Pending[];
  readonly delivered: readonly Delivery[];
  readonly completed: readonly Completed[];
  readonly hasNext: boolean;
};

/** A result in parts: the first, and those after it. They are fetched only when they are read. */
export type ResultInParts = {
  readonly first: ExecutionResult;
  readonly pending: readonly Pending[];
  readonly rest: AsyncIterableIterator<Part>;
};

/** Whether a result is delivered in parts. */
export function isInParts(result: ExecutionResult | ResultInParts): result is ResultInParts {
  return "rest" in result;
}
