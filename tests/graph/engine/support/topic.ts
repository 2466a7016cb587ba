import type { TestSubgraph } from "./federation.ts";

/** An error that a client must receive. */
type ExpectedError = {
  readonly path?: readonly (string | number)[];
  readonly code: string;
  readonly message?: string;
};

/** One operation, and the complete answer that a client must receive. */
export type Case = {
  readonly title: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
  /** Subgraphs that are unreachable. */
  readonly down?: readonly string[];
  readonly data: unknown;
  /** In any order; none when omitted. */
  readonly errors?: readonly ExpectedError[];
  /** The number of requests to each subgraph; unchecked when omitted. */
  readonly asked?: Readonly<Record<string, number>>;
};

/** A small federation, and the operations it must answer. */
export type Topic = {
  readonly title: string;
  readonly subgraphs: Readonly<Record<string, TestSubgraph>>;
  readonly cases: readonly Case[];
};
