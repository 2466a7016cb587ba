import type { TestSubgraph } from "./federation.ts";

/** An error that a client must see. */
type ExpectedError = {
  readonly path?: readonly (string | number)[];
  readonly code: string;
  readonly message?: string;
};

/** One operation, and all that a client must get for it. */
export type Case = {
  readonly title: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
  /** Subgraphs that cannot be reached. */
  readonly down?: readonly string[];
  readonly data: unknown;
  /** In any order; none when left out. */
  readonly errors?: readonly ExpectedError[];
  /** How many requests each subgraph gets; unchecked when left out. */
  readonly asked?: Readonly<Record<string, number>>;
};

/** A small federation, and what it must answer. */
export type Topic = {
  readonly title: string;
  readonly subgraphs: Readonly<Record<string, TestSubgraph>>;
  readonly cases: readonly Case[];
};
