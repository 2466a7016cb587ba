import type { GraphQLSchema } from "graphql";
import { compileEntityStep } from "../entity-step.ts";
import type { Step, Subgraph } from "../execution.ts";
import { compileFetchStep, compileRootFetch, type RootFetch } from "../fetch-step.ts";
import type { ConditionNode, FetchNode, PathSegment, PlanNode, QueryPlan } from "../planner.ts";
import { compileResume, type ResumePlan } from "../resume-plan.ts";
import { isPromise, type MaybePromise } from "../subgraph-executor.ts";
import type { Requirements } from "./requirements.ts";
import type { SubgraphOperations } from "./subgraph-operations.ts";
import type { TypeIndex } from "./type-index.ts";

/** The context in which a plan is compiled. */
export type PlanContext<C> = {
  readonly supergraph: GraphQLSchema;
  readonly types: TypeIndex;
  readonly requirements: Requirements;
  readonly operations: SubgraphOperations;
  subgraph(name: string): Subgraph<C>;
  /** Compiles a request in another way; `compile` is the usual one. */
  wrapFetch?(node: PlanNode, compile: () => Step<C>): Step<C>;
};

/** A compiled subscription: its source, and the steps that follow each event. */
export type SubscriptionPlan<C> = {
  readonly source: RootFetch<C>;
  readonly subgraph: Subgraph<C>;
  /** How to reopen a lost source; undefined if it cannot be resumed. */
  readonly resume: ResumePlan | undefined;
  readonly rest: Step<C>;
};

const NOTHING: Step<unknown> = () => {};

/** Compiles the plan of a query or a mutation. */
export function compilePlan<C>(plan: QueryPlan, context: PlanContext<C>): Step<C> {
  return plan.node ? compileNode(plan.node, context) : NOTHING;
}

/** Compiles the plan of a subscription, whose first node is the source. */
export function compileSubscriptionPlan<C>(plan: QueryPlan, context: PlanContext<C>): SubscriptionPlan<C> {
  const nodes = plan.node?.kind === "Sequence" ? plan.node.nodes : plan.node ? [plan.node] : [];
  const [first, ...rest] = nodes;
  if (first?.kind !== "Subscription")
    throw new Error("the plan of a subscription does not start with a source");
  const { serviceName } = first.primary;
  const source = compileRootFetch<C>(first.primary, context);
  return {
    source,
    subgraph: context.subgraph(serviceName),
    resume: compileResume(source.operation, serviceName, context.supergraph),
    rest: sequence(rest.map((node) => compileNode(node, context))),
  };
}

function compileNode<C>(node: PlanNode, context: PlanContext<C>, path?: readonly PathSegment[]): Step<C> {
  switch (node.kind) {
    case "Sequence":
      return sequence(node.nodes.map((child) => compileNode(child, context, path)));
    case "Parallel":
      return compileParallel(node.nodes, context, path);
    case "Flatten":
      return compileNode(node.node, context, node.path);
    case "Condition":
      return compileBranches(node, context, path);
    case "BatchFetch": {
      const { aliases } = node.entityBatch;
      return wrap(node, context, () =>
        compileEntityStep(node, aliases, context.subgraph(node.serviceName), context),
      );
    }
    case "Subscription":
    case "Defer":
      throw new Error(`unexpected ${node.kind} node in the plan`);
    default:
      return wrap(node, context, () => compileFetch(node, context, path));
  }
}

function wrap<C>(node: PlanNode, { wrapFetch }: PlanContext<C>, compile: () => Step<C>): Step<C> {
  return wrapFetch ? wrapFetch(node, compile) : compile();
}

function compileFetch<C>(node: FetchNode, context: PlanContext<C>, path?: readonly PathSegment[]): Step<C> {
  const subgraph = context.subgraph(node.serviceName);
  if (!node.requires) {
    const step = compileFetchStep(node, subgraph, context);
    return node.operationKind === "mutation" ? unlessBroken(step) : step;
  }
  const alias = {
    alias: "_entities",
    representationsVariableName: "representations",
    paths: [path ?? []],
    requires: node.requires,
    inputRewrites: node.inputRewrites ?? [],
    outputRewrites: node.outputRewrites ?? [],
  };
  return compileEntityStep(node, [alias], subgraph, context);
}

/** As graphql-js does: once a non-nullable mutation field fails, later mutations do not run. */
function unlessBroken<C>(step: Step<C>): Step<C> {
  return (execution) => (execution.isBroken() ? undefined : step(execution));
}

function compileBranches<C>(
  node: ConditionNode,
  context: PlanContext<C>,
  path?: readonly PathSegment[],
): Step<C> {
  const whenTrue = node.ifClause ? compileNode(node.ifClause, context, path) : NOTHING;
  const whenFalse = node.elseClause ? compileNode(node.elseClause, context, path) : NOTHING;
  return (execution) => (execution.variables[node.condition] === true ? whenTrue : whenFalse)(execution);
}

/**
 * Runs independent nodes concurrently. A mutation among fetches waits for them: they complete the previous mutation,
 * and must not see the changes of this one.
 */
function compileParallel<C>(
  nodes: readonly PlanNode[],
  context: PlanContext<C>,
  path?: readonly PathSegment[],
): Step<C> {
  const compile = (node: PlanNode) => compileNode(node, context, path);
  const mutations = nodes.filter((node) => "operationKind" in node && node.operationKind === "mutation");
  if (mutations.length === 0) return parallel(nodes.map(compile));
  const fetches = nodes.filter((node) => !mutations.includes(node));
  return sequence([parallel(fetches.map(compile)), ...mutations.map(compile)]);
}

function sequence<C>(steps: readonly Step<C>[]): Step<C> {
  const [only, second] = steps;
  if (!only) return NOTHING;
  if (!second) return only;
  return (execution) => {
    const runFrom = (start: number): MaybePromise<void> => {
      for (let at = start; at < steps.length; at++) {
        const waiting = steps[at]?.(execution);
        if (waiting && isPromise(waiting)) return waiting.then(() => runFrom(at + 1));
      }
    };
    return runFrom(0);
  };
}

function parallel<C>(steps: readonly Step<C>[]): Step<C> {
  const [only, second] = steps;
  if (only && !second) return only;
  return (execution) => {
    const waiting: Promise<void>[] = [];
    for (const step of steps) {
      const running = step(execution);
      if (running && isPromise(running)) waiting.push(running);
    }
    return waiting.length > 0 ? Promise.all(waiting).then(() => {}) : undefined;
  };
}
