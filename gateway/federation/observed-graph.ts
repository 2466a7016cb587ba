import { createHash } from "node:crypto";
import { type ExecutionResult, getOperationAST, type OperationDefinitionNode, print } from "graphql";
import type { Logger } from "../../src/kernel/log.ts";
import { errorType, inSpan, isTracing, openSpan } from "../../src/kernel/tracing.ts";
import type { Metrics } from "../../src/metrics/metrics.ts";
import type { Engine } from "./engine/engine.ts";
import { isInParts } from "./engine/incremental/parts.ts";
import type { Planner } from "./engine/planner.ts";
import { isPromise, type MaybePromise, type SubgraphExecutor } from "./engine/subgraph-executor.ts";

/** A fetch of a plan: its subgraph, its start within the operation and its duration, in milliseconds. */
type Fetch = { readonly subgraph: string; readonly atMs: number; readonly durationMs: number };

/** The record that an operation keeps for the slow log. */
export type Observed = { fetches?: FetchLog };
type FetchLog = { readonly sinceMs: number; readonly fetches: Fetch[]; dropped: number };

type Observing = {
  readonly metrics: Metrics | undefined;
  readonly log: Logger;
  /** Operations that take longer are logged; 0 disables the log. */
  readonly slowMs: number;
};

const MAX_FETCHES = 50;
const SLOW_PLAN_MS = 100;

/** An engine whose operations are counted, traced, and logged with their plan when slow. */
export function observeEngine<C extends object>(
  engine: Engine<C & Observed>,
  observing: Observing,
): Engine<C & Observed> {
  const { metrics, slowMs } = observing;
  type Request = Parameters<typeof engine.execute>[0];
  /** A result in parts counts as one operation, which ends with its first part. */
  const observed =
    <R extends object>(
      execute: (request: Request) => MaybePromise<R>,
      first: (result: R) => ExecutionResult,
    ) =>
    (request: Request): MaybePromise<R> => {
      if (!metrics && slowMs === 0 && !isTracing()) return execute(request);
      const operation = getOperationAST(request.document, request.operationName);
      const sinceMs = performance.now();
      const fetches: FetchLog | undefined = slowMs > 0 ? { sinceMs, fetches: [], dropped: 0 } : undefined;
      const logged = fetches ? { ...request, context: { ...request.context, fetches } } : request;
      const observe = (result: R) => {
        const durationMs = performance.now() - sinceMs;
        const outcome = outcomeOf(first(result));
        metrics?.graphOperation({ ...namesOf(operation), outcome, durationMs });
        if (fetches && durationMs > slowMs && operation)
          logSlow(observing, operation, { durationMs, fetches });
        return result;
      };
      const run = () => execute(logged);
      const result = isTracing() && operation ? traced(operation, run, first) : run();
      return isPromise(result) ? result.then(observe) : observe(result);
    };
  return {
    apiSchema: engine.apiSchema,
    execute: observed(engine.execute, (result) => result),
    executeIncrementally: observed(engine.executeIncrementally, (result) =>
      isInParts(result) ? result.first : result,
    ),
    async subscribe(request) {
      const operation = getOperationAST(request.document, request.operationName);
      const { type, name } = namesOf(operation);
      const sinceMs = performance.now();
      const opened = await inSpan(`${type} ${name}`, {}, () => engine.subscribe(request));
      const outcome = Symbol.asyncIterator in opened ? "opened" : outcomeOf(opened);
      metrics?.graphOperation({ type, name, outcome, durationMs: performance.now() - sinceMs });
      return opened;
    },
  };
}

function traced<R>(
  operation: OperationDefinitionNode,
  run: () => MaybePromise<R>,
  first: (result: R) => ExecutionResult,
): Promise<R> {
  const { type, name } = namesOf(operation);
  const facts = () => ({ "graphql.operation.type": type, "graphql.operation.name": name });
  return inSpan(`${type} ${name}`, { facts }, async (span) => {
    const result = await run();
    if (first(result).errors) span?.fail(outcomeOf(first(result)));
    return result;
  });
}

/** A subgraph whose requests are recorded for the slow log, and traced. */
export function observeExecutor<C extends Observed>(
  subgraph: string,
  executor: SubgraphExecutor<C>,
): SubgraphExecutor<C> {
  return {
    ...(executor.isRemote && { isRemote: true }),
    execute(request) {
      const { fetches } = request.context;
      if (!fetches && !isTracing()) return executor.execute(request);
      const facts = () => ({ "zerograph.subgraph": subgraph });
      const kind = executor.isRemote ? "client" : "internal";
      // The events of a subscription are read outside the trace of its opening.
      const span = openSpan(subgraph, { kind, onlyInside: true, facts });
      const sinceMs = performance.now();
      const end = () => {
        span?.end();
        if (!fetches) return;
        const [atMs, durationMs] = [sinceMs - fetches.sinceMs, performance.now() - sinceMs].map(Math.round);
        if (fetches.fetches.length < MAX_FETCHES)
          fetches.fetches.push({ subgraph, atMs: atMs ?? 0, durationMs: durationMs ?? 0 });
        else fetches.dropped += 1;
      };
      const lose = (error: unknown): never => {
        span?.fail(errorType(error));
        end();
        throw error;
      };
      try {
        const run = () => executor.execute(request);
        const result = span ? span.run(run) : run();
        if (isPromise(result))
          return result.then((answer) => {
            end();
            return answer;
          }, lose);
        end();
        return result;
      } catch (error) {
        return lose(error);
      }
    },
    subscribe: (request) => executor.subscribe(request),
    close: () => executor.close(),
  };
}

/** A planner whose plans are timed; slow ones are logged. */
export function observePlanner(planner: Planner, { metrics, log }: Omit<Observing, "slowMs">): Planner {
  return {
    async plan(text, name, overrides) {
      const sinceMs = performance.now();
      try {
        return await planner.plan(text, name, overrides);
      } finally {
        const durationMs = performance.now() - sinceMs;
        metrics?.graphPlan(durationMs);
        if (durationMs > SLOW_PLAN_MS)
          log.warn(
            { operation: name ?? "anonymous", planMs: Math.round(durationMs), characters: text.length },
            "an operation was slow to plan",
          );
      }
    },
  };
}

const MAX_NAME_LENGTH = 100;

function namesOf(operation: OperationDefinitionNode | null | undefined): {
  readonly type: string;
  readonly name: string;
} {
  if (!operation) return { type: "unknown", name: "unknown" };
  return {
    type: operation.operation,
    name: operation.name?.value.slice(0, MAX_NAME_LENGTH) ?? "anonymous",
  };
}

/** `ok`, or the code of the first error. */
function outcomeOf({ errors }: ExecutionResult): string {
  if (!errors || errors.length === 0) return "ok";
  const code = errors[0]?.extensions.code;
  return typeof code === "string" ? code : "error";
}

/** Logs the hash of the text: the text itself may contain people's prompts. */
function logSlow(
  { log }: Observing,
  operation: OperationDefinitionNode,
  { durationMs, fetches }: { readonly durationMs: number; readonly fetches: FetchLog },
): void {
  const { type, name } = namesOf(operation);
  const hash = createHash("sha256").update(print(operation)).digest("hex").slice(0, 16);
  log.warn(
    {
      operation: name,
      type,
      hash,
      durationMs: Math.round(durationMs),
      plan: fetches.fetches,
      ...(fetches.dropped > 0 && { furtherFetches: fetches.dropped }),
    },
    "an operation was slow",
  );
}
