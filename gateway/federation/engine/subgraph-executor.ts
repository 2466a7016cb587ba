import type { DocumentNode } from "graphql";

/** A value, or a promise of it: an available value is used synchronously. */
export type MaybePromise<T> = T | Promise<T>;

/** A JSON object with unknown members. */
export type JsonObject = Record<string, unknown>;

/** A position in a result: response keys and list indexes. */
export type ResponsePath = (string | number)[];

/** One request of a plan to a subgraph. */
export type SubgraphRequest<C> = {
  /** Parsed once per plan: the object can be used as a cache key. */
  readonly document: DocumentNode;
  readonly text: string;
  readonly variables: JsonObject;
  readonly context: C;
  /** One object per client request, and per event of a subscription: the key for per-request state. */
  readonly scope: object;
  readonly signal: AbortSignal | undefined;
};

/** An error as a subgraph reports it. */
export type SubgraphError = {
  readonly message: string;
  readonly path?: readonly (string | number)[] | undefined;
  readonly extensions?: Readonly<JsonObject> | undefined;
};

/** The result of a subgraph. The engine takes ownership of `data` and changes it. */
export type SubgraphResult = {
  readonly data?: JsonObject | null;
  readonly errors?: readonly SubgraphError[];
};

/** Sends requests to one subgraph: in this process, or over a network. Throws when it is unreachable. */
export interface SubgraphExecutor<C> {
  /** Whether a source can be lost on its own, because the subgraph is another process. */
  readonly isRemote?: boolean;
  /** Runs a query or a mutation. */
  execute(request: SubgraphRequest<C>): MaybePromise<SubgraphResult>;
  /** Opens a subscription: `return()` ends it at once; a lost source throws instead of ending. */
  subscribe(request: SubgraphRequest<C>): MaybePromise<AsyncIterator<SubgraphResult> | SubgraphResult>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/** Whether a value is a promise. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Whether a value is an object with members, and not a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
