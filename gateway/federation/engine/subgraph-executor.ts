import type { DocumentNode } from "graphql";

/** A value, or a promise of it: what is at hand is used at once. */
export type MaybePromise<T> = T | Promise<T>;

/** A JSON object whose members are not known yet. */
export type JsonObject = Record<string, unknown>;

/** Where in a result something lies: response keys and list positions. */
export type ResponsePath = (string | number)[];

/** One request of a plan, on its way to a subgraph. */
export type SubgraphRequest<C> = {
  /** Parsed once per plan: its identity may be used as a key. */
  readonly document: DocumentNode;
  readonly text: string;
  readonly variables: JsonObject;
  readonly context: C;
  /** One object per client request, and per event of a subscription: what per-request state may hang on. */
  readonly scope: object;
  readonly signal: AbortSignal | undefined;
};

/** An error as a subgraph reports it. */
export type SubgraphError = {
  readonly message: string;
  readonly path?: readonly (string | number)[] | undefined;
  readonly extensions?: Readonly<JsonObject> | undefined;
};

/** What a subgraph answers. The engine takes `data` over and changes it. */
export type SubgraphResult = {
  readonly data?: JsonObject | null;
  readonly errors?: readonly SubgraphError[];
};

/** How one subgraph is asked: in this process, or over a network. Throws when the subgraph cannot be reached. */
export interface SubgraphExecutor<C> {
  /** Whether sources can be lost by themselves: they are in another process. */
  readonly isRemote?: boolean;
  /** Runs a query or a mutation. */
  execute(request: SubgraphRequest<C>): MaybePromise<SubgraphResult>;
  /** Opens a subscription: `return()` ends it at once; a source that is lost throws, it does not end. */
  subscribe(request: SubgraphRequest<C>): MaybePromise<AsyncIterator<SubgraphResult> | SubgraphResult>;
  /** Lets go of connections. */
  close(): Promise<void>;
}

/** Whether a value has to be waited for. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Whether a value is an object with members; a list is not one. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
