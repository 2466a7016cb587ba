import type { GraphQLError, InlineFragmentNode } from "graphql";
import type { Execution, Step } from "../execution.ts";
import type { PlanNode } from "../planner.ts";
import { compilePlan, type PlanContext } from "../planning/compile-plan.ts";
import type { JsonObject, MaybePromise, ResponsePath } from "../subgraph-executor.ts";

/** The requests of one deferred fragment. A request that several fragments need is sent once. */
export type LaterStage<C> = {
  run(execution: Execution<C>): MaybePromise<void>;
  /** The failures of its requests, when they have run. */
  failuresIn(execution: Execution<C>): Failures;
};

type Failures = { readonly errors: readonly GraphQLError[]; readonly nulled: readonly ResponsePath[] };
/** One request in one execution. */
type Run = { readonly running: MaybePromise<void> } & Failures;

/** Compiles the plans of the deferred fragments. */
export function compileStages<C>(
  plans: ReadonlyMap<InlineFragmentNode, PlanNode>,
  context: PlanContext<C>,
): ReadonlyMap<InlineFragmentNode, LaterStage<C>> {
  const shared = new Map<PlanNode, Step<C>>();
  const runs = new WeakMap<JsonObject, Map<PlanNode, Run>>();
  const runsOf = ({ data }: Execution<C>) => {
    const known = runs.get(data) ?? new Map<PlanNode, Run>();
    runs.set(data, known);
    return known;
  };
  return new Map(
    [...plans].map(([fragment, node]): [InlineFragmentNode, LaterStage<C>] => {
      const own: PlanNode[] = [];
      const wrapFetch = (fetch: PlanNode, compile: () => Step<C>): Step<C> => {
        own.push(fetch);
        const known = shared.get(fetch);
        if (known) return known;
        const once = runOnce(fetch, compile(), runsOf);
        shared.set(fetch, once);
        return once;
      };
      const run = compilePlan({ node }, { ...context, wrapFetch });
      const failuresIn = (execution: Execution<C>) => {
        const found = own.flatMap((fetch) => runsOf(execution).get(fetch) ?? []);
        return {
          errors: found.flatMap(({ errors }) => errors),
          nulled: found.flatMap(({ nulled }) => nulled),
        };
      };
      return [fragment, { run, failuresIn }];
    }),
  );
}

/** The data is shared by all requests of an execution; failures are recorded for each request. */
function runOnce<C>(
  fetch: PlanNode,
  step: Step<C>,
  runsOf: (execution: Execution<C>) => Map<PlanNode, Run>,
): Step<C> {
  return (execution) => {
    const runs = runsOf(execution);
    const known = runs.get(fetch);
    if (known) return known.running;
    const own: Execution<C> = { ...execution, errors: [], nulled: [], scope: execution.scope ?? execution };
    const { errors, nulled } = own;
    const running = step(own);
    runs.set(fetch, { running, errors, nulled });
    return running;
  };
}
