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

/** One run of a plan: for a request, or for one event of a subscription. */
export type Execution<C> = {
  readonly context: C;
  readonly signal: AbortSignal | undefined;
  readonly variables: Readonly<JsonObject>;
  /** Everything that the subgraphs answered so far, in the shape of the operation. */
  readonly data: JsonObject;
  readonly errors: GraphQLError[];
  /** Places, as the client knows them, that a subgraph left null because of an error in them: it explains all that is missing there. */
  readonly nulled: ResponsePath[];
  /** Whether what was answered so far makes the whole result null: no further mutation is begun then. */
  readonly isBroken: () => boolean;
};

/** A compiled plan node. It returns a promise only when something has to be waited for. */
export type Step<C> = (execution: Execution<C>) => MaybePromise<void>;

/** Told of every request that a subgraph did not answer: for the log, as clients get a fixed text. */
export type ReportFailure = (subgraph: string, reason: unknown) => void;

/** A subgraph as the steps of a plan see it. */
export type Subgraph<C> = {
  readonly name: string;
  readonly executor: SubgraphExecutor<C>;
  readonly reportFailure: ReportFailure;
};

/** What is the same in every request of one fetch. */
export type Operation = Pick<SubgraphRequest<unknown>, "document" | "text">;

/**
 * Asks a subgraph and hands its answer to `settle`, which runs at once when the answer is at hand. A subgraph that
 * cannot be reached, or answers no GraphQL, has answered with one error that lies nowhere in particular.
 */
export function ask<C>(
  subgraph: Subgraph<C>,
  operation: Operation,
  variables: JsonObject,
  execution: Execution<C>,
  settle: (result: SubgraphResult) => void,
): MaybePromise<void> {
  const lost = (reason: unknown) => settle(unavailable(subgraph, reason));
  const check = (result: SubgraphResult) => {
    if (result.data || result.errors) settle(result);
    else lost(new Error("the answer has neither data nor errors"));
  };
  const { context, signal } = execution;
  let result: MaybePromise<SubgraphResult>;
  try {
    signal?.throwIfAborted();
    result = subgraph.executor.execute({ ...operation, variables, context, signal, scope: execution });
  } catch (reason) {
    return lost(reason);
  }
  if (!isPromise(result)) return check(result);
  return (signal ? unlessAborted(result, signal) : result).then(check, lost);
}

/** Waits no longer than the request lives: also for a subgraph that does not hear of it. */
function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function unavailable(subgraph: Subgraph<never>, reason: unknown): SubgraphResult {
  subgraph.reportFailure(subgraph.name, reason);
  return { data: null, errors: [unreachable(subgraph.name)] };
}

/** What clients are told of a subgraph that does not answer. */
export function unreachable(name: string): SubgraphError {
  return { message: `The ${name} subgraph cannot be reached.`, extensions: { code: "unavailable" } };
}

/** A subgraph's error, at its place in the client's result. `path` is a path in the data. */
export function toClientError(error: SubgraphError, path: ResponsePath | undefined): GraphQLError {
  const extensions = { code: "internal_error", ...error.extensions };
  return new GraphQLError(error.message, { extensions, path: path ? toClientPath(path) : null });
}

/** A path in the data, as the client knows it. */
export function toClientPath(path: Readonly<ResponsePath>): ResponsePath {
  return path.map((key) => (typeof key === "string" ? clientKey(key) : key));
}

/** How far down a path of an error a subgraph's answer has values: where the error left a null. */
export function nulledBy(answer: unknown, path: Readonly<ResponsePath>): Readonly<ResponsePath> {
  let at = answer;
  const depth = path.findIndex((key) => {
    if (typeof at !== "object" || at === null) return true;
    at = (at as Readonly<Record<string | number, unknown>>)[key];
    return false;
  });
  return depth < 0 ? path : path.slice(0, depth);
}

/** The variables of the operation that a fetch uses. Those that were not given stay away. */
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
