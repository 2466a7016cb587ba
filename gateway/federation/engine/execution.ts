import { GraphQLError } from "graphql";
import { clientKey } from "./document/aliases.ts";
import {
  isPromise,
  type JsonObject,
  type MaybePromise,
  type ResponsePath,
  type SubgraphError,
  type SubgraphExecutor,
  type SubgraphRequest,
  type SubgraphResult,
} from "./subgraph-executor.ts";
import type { ReportViolations } from "./violations.ts";

/** One run of a plan: for a request, or for one event of a subscription. */
export type Execution<C> = {
  readonly context: C;
  readonly signal: AbortSignal | undefined;
  readonly variables: Readonly<JsonObject>;
  /** All data received from subgraphs so far, in the shape of the operation. */
  readonly data: JsonObject;
  readonly errors: GraphQLError[];
  /** Client paths set to null by an error in a subgraph: that error explains everything missing there. */
  readonly nulled: ResponsePath[];
  /** Whether the data so far makes the whole result null: no further mutation is started then. */
  readonly isBroken: () => boolean;
  readonly reportViolations: ReportViolations;
  /** The key for per-request state, if this is only a part of an execution; by default the execution itself. */
  readonly scope?: object | undefined;
};

/** A compiled plan node. It returns a promise only when it has to wait. */
export type Step<C> = (execution: Execution<C>) => MaybePromise<void>;

/** Receives every failed subgraph request: for the log, as clients get a fixed message. */
export type ReportFailure = (subgraph: string, reason: unknown) => void;

/** A subgraph as seen by the steps of a plan. */
export type Subgraph<C> = {
  readonly name: string;
  readonly executor: SubgraphExecutor<C>;
  readonly reportFailure: ReportFailure;
};

/** The part that is the same in every request of one fetch. */
export type Operation = Pick<SubgraphRequest<unknown>, "document" | "text">;

/**
 * Sends a request to a subgraph and passes the result to `settle`, synchronously if the result is available. An
 * unreachable subgraph, or a response that is not GraphQL, counts as a result with one error without a path.
 */
export function requestSubgraph<C>(
  subgraph: Subgraph<C>,
  operation: Operation,
  variables: JsonObject,
  execution: Execution<C>,
  settle: (result: SubgraphResult) => void,
): MaybePromise<void> {
  const lost = (reason: unknown) => settle(unavailable(subgraph, reason));
  const check = (result: SubgraphResult) => settle(orUnavailable(subgraph, result));
  const { context, signal, scope = execution } = execution;
  let result: MaybePromise<SubgraphResult>;
  try {
    signal?.throwIfAborted();
    result = subgraph.executor.execute({ ...operation, variables, context, signal, scope });
  } catch (reason) {
    return lost(reason);
  }
  if (!isPromise(result)) return check(result);
  return (signal ? unlessAborted(result, signal) : result).then(check, lost);
}

/** Stops waiting when the request is aborted, even if the subgraph ignores the signal. */
function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** A result that says something; one with neither data nor an error would leave nulls that nothing explains. */
export function orUnavailable(subgraph: Subgraph<never>, result: SubgraphResult): SubgraphResult {
  if (result.data || (result.errors && result.errors.length > 0)) return result;
  return unavailable(subgraph, new Error("the answer has neither data nor errors"));
}

function unavailable(subgraph: Subgraph<never>, reason: unknown): SubgraphResult {
  subgraph.reportFailure(subgraph.name, reason);
  return { data: null, errors: [unreachable(subgraph.name)] };
}

/** The error that clients get for an unreachable subgraph. */
export function unreachable(name: string): SubgraphError {
  return { message: `The ${name} subgraph cannot be reached.`, extensions: { code: "unavailable" } };
}

/** A subgraph's error at its path in the client's result. `path` is a path in the data. */
export function toClientError(error: SubgraphError, path: ResponsePath | undefined): GraphQLError {
  const extensions = { code: "internal_error", ...error.extensions };
  return new GraphQLError(error.message, { extensions, path: path ? toClientPath(path) : null });
}

/** Converts a path in the data to the client's path. */
export function toClientPath(path: Readonly<ResponsePath>): ResponsePath {
  return path.map((key) => (typeof key === "string" ? clientKey(key) : key));
}

/** The part of an error's path for which the subgraph's result has values: its end is the null left by the error. */
export function nulledBy(answer: unknown, path: Readonly<ResponsePath>): Readonly<ResponsePath> {
  let at = answer;
  const depth = path.findIndex((key) => {
    if (typeof at !== "object" || at === null) return true;
    at = (at as Readonly<Record<string | number, unknown>>)[key];
    return false;
  });
  return depth < 0 ? path : path.slice(0, depth);
}

/** The operation's variables that a fetch uses. Undefined variables are omitted. */
export function pickVariables(
  names: readonly string[] | null | undefined,
): (variables: Readonly<JsonObject>) => JsonObject {
  if (!names || names.length === 0) return () => ({});
  return (variables) => {
    const picked: JsonObject = {};
    for (const name of names) if (variables[name] !== undefined) picked[name] = variables[name];
    return picked;
  };
}
