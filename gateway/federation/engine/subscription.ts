import type { ExecutionResult, GraphQLError } from "graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import { type Execution, orUnavailable, type Subgraph, toClientError, unreachable } from "./execution.ts";
import { MapIterator } from "./map-iterator.ts";
import type { SubscriptionPlan } from "./planning/compile-plan.ts";
import { type ResumePlan, readPosition } from "./resume-plan.ts";
import { ResumedSource } from "./resumed-source.ts";
import type { JsonObject, MaybePromise, SubgraphExecutor, SubgraphResult } from "./subgraph-executor.ts";

type Source = AsyncIterator<SubgraphResult>;

/** How an engine runs subscriptions. */
export type Subscribing<C> = {
  readonly start: () => Execution<C>;
  readonly finish: (execution: Execution<C>) => ExecutionResult;
  /** How long to try resuming a lost source. */
  readonly resumeMs: number;
};

/**
 * Opens the source of a subscription and completes each of its events with the data of other subgraphs. Every event
 * is a separate execution, so that nothing cached for one is seen by the next. A lost source is resumed after its
 * last event, where possible.
 */
export async function openSubscription<C>(
  plan: SubscriptionPlan<C>,
  { start, finish, resumeMs }: Subscribing<C>,
): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
  const { source, subgraph, rest } = plan;
  const map = async (event: SubgraphResult): Promise<ExecutionResult> => {
    const execution = start();
    source.settle(execution, orUnavailable(subgraph, event));
    if (event.data) await rest(execution);
    return finish(execution);
  };
  const mapError = (reason: unknown): GraphQLError => {
    if (reason instanceof AppError) return toClientError(named(reason), undefined);
    subgraph.reportFailure(subgraph.name, reason);
    return toClientError(unreachable(subgraph.name), undefined);
  };
  const opening = start();
  const { signal } = opening;
  let events: Source | SubgraphResult;
  try {
    signal?.throwIfAborted();
    events = await openSource(plan, opening, resumeMs);
  } catch (reason) {
    return { errors: [mapError(reason)] };
  }
  if (!isSource(events)) return refused(events);
  const onAbort = () => void iterator.return();
  const onEnd = () => signal?.removeEventListener("abort", onAbort);
  const iterator = new MapIterator(events, { map, mapError, onEnd });
  signal?.addEventListener("abort", onAbort);
  // The signal may have aborted while the source was opening, before the listener was added.
  if (signal?.aborted) onAbort();
  return iterator;
}

async function openSource<C>(
  { source, subgraph, resume }: SubscriptionPlan<C>,
  opening: Execution<C>,
  resumeMs: number,
): Promise<Source | SubgraphResult> {
  const { context, signal } = opening;
  const variables = source.variables(opening.variables);
  const { executor } = subgraph;
  const request = { ...source.operation, context, signal, scope: opening, variables };
  if (!resume) return executor.subscribe(request);
  const open = (after: string | null): MaybePromise<Source | SubgraphResult> =>
    executor.subscribe({ ...request, ...resume.operation, variables: resume.variables(variables, after) });
  const after = resume.after(opening.variables);
  const position = after ?? (executor.isRemote ? await positionOf(resume, subgraph, opening) : undefined);
  const opened = await open(after);
  if (!isSource(opened)) return opened;
  return new ResumedSource(opened, position, {
    open,
    cursorOf: resume.cursorOf,
    patienceMs: resumeMs,
    onLost: (reason) => subgraph.reportFailure(subgraph.name, reason),
  });
}

/** Pending position requests by executor: subscriptions that open together share one. */
const positions = new WeakMap<object, Promise<string | undefined>>();

/** The current position of a subgraph's streams; undefined when the subgraph does not report it. */
function positionOf<C>(
  { position }: ResumePlan,
  { executor }: Subgraph<C>,
  { context }: Execution<C>,
): Promise<string | undefined> {
  if (!position) return Promise.resolve(undefined);
  const pending = positions.get(executor) ?? fetchPosition(executor, { ...position, context });
  positions.set(executor, pending);
  return pending.finally(() => positions.delete(executor));
}

async function fetchPosition<C>(
  executor: SubgraphExecutor<C>,
  request: { readonly context: C } & NonNullable<ResumePlan["position"]>,
): Promise<string | undefined> {
  const variables: JsonObject = {};
  try {
    return readPosition(await executor.execute({ ...request, variables, scope: {}, signal: undefined }));
  } catch {
    // If the subgraph is unreachable, the source reports it.
    return undefined;
  }
}

function named({ message, code }: AppError) {
  return { message, extensions: { code } };
}

function refused({ errors }: SubgraphResult): ExecutionResult {
  return { errors: (errors ?? []).map((error) => toClientError(error, undefined)) };
}

function isSource(value: Source | SubgraphResult): value is Source {
  return "next" in value;
}
