import type { ExecutionResult, GraphQLError } from "graphql";
import type { SubscriptionPlan } from "./compile-plan.ts";
import { type Execution, toClientError, unreachable } from "./execution.ts";
import { MapIterator } from "./map-iterator.ts";
import type { SubgraphResult } from "./subgraph-executor.ts";

/**
 * Opens the source of a subscription and completes each of its events with what other subgraphs know. Every event
 * is an execution of its own, so that nothing cached for one is seen by the next.
 */
export async function openSubscription<C>(
  plan: SubscriptionPlan<C>,
  start: () => Execution<C>,
  finish: (execution: Execution<C>) => ExecutionResult,
): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
  const { source, subgraph, rest } = plan;
  const map = async (event: SubgraphResult): Promise<ExecutionResult> => {
    const execution = start();
    source.settle(execution, event);
    if (event.data) await rest(execution);
    return finish(execution);
  };
  const mapError = (reason: unknown): GraphQLError => {
    subgraph.reportFailure(subgraph.name, reason);
    return toClientError(unreachable(subgraph.name), undefined);
  };
  const opening = start();
  const { context, signal, variables } = opening;
  const request = { context, signal, scope: opening, variables: source.variables(variables) };
  let events: AsyncIterator<SubgraphResult> | SubgraphResult;
  try {
    signal?.throwIfAborted();
    events = await subgraph.executor.subscribe({ ...source.operation, ...request });
  } catch (reason) {
    return { errors: [mapError(reason)] };
  }
  if (!isIterator(events)) return refused(events);
  const onAbort = () => void iterator.return();
  const onEnd = () => signal?.removeEventListener("abort", onAbort);
  const iterator = new MapIterator(events, { map, mapError, onEnd });
  signal?.addEventListener("abort", onAbort);
  // It may have aborted while the source was opening, before anybody listened.
  if (signal?.aborted) onAbort();
  return iterator;
}

function refused({ errors }: SubgraphResult): ExecutionResult {
  return { errors: (errors ?? []).map((error) => toClientError(error, undefined)) };
}

function isIterator(
  value: AsyncIterator<SubgraphResult> | SubgraphResult,
): value is AsyncIterator<SubgraphResult> {
  return "next" in value;
}
