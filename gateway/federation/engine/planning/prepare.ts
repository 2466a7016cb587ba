import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  type InlineFragmentNode,
  OperationTypeNode,
  print,
} from "graphql";
import { renameAliases } from "../document/aliases.ts";
import { type FlattenOptions, flattenFragments } from "../document/flatten-fragments.ts";
import { splitIntrospection } from "../document/introspection.ts";
import { applyConditions } from "../document/planner-document.ts";
import type { Step } from "../execution.ts";
import { type Denied, withoutDenied } from "../guards.ts";
import { type Expanded, expandOperation } from "../incremental/expand.ts";
import { compileStages, type LaterStage } from "../incremental/later-stages.ts";
import { readNeeds } from "../incremental/needs.ts";
import { partitionPlan } from "../incremental/partition.ts";
import type { Planner } from "../planner.ts";
import { compileProjection, type Project } from "../projection.ts";
import { denial, findUnsupported, refusal } from "../refusal.ts";
import type { JsonObject } from "../subgraph-executor.ts";
import {
  compilePlan,
  compileSubscriptionPlan,
  type PlanContext,
  type SubscriptionPlan,
} from "./compile-plan.ts";
import { interfaceObjectTypes } from "./interface-objects.ts";
import type { Rollout } from "./rollout.ts";

/** A compiled operation: everything that does not depend on the request. */
export type Prepared<C> = {
  /** An estimate of its memory. */
  readonly sizeBytes: number;
  readonly introspection: DocumentNode | undefined;
  readonly project: Project;
  readonly run: Step<C> | undefined;
  /** What follows the result of `run`; undefined if the result is delivered at once. */
  readonly later: Later<C> | undefined;
  readonly subscription: SubscriptionPlan<C> | undefined;
};

/** The parts of a result after the first. */
type Later<C> = {
  readonly stages: ReadonlyMap<InlineFragmentNode, LaterStage<C>>;
  /** The shape of the whole result. */
  readonly projectWhole: Project;
};

/** The dependencies of compilation. */
export type Preparation<C> = {
  readonly api: GraphQLSchema;
  readonly planner: Planner;
  readonly planContext: PlanContext<C>;
  readonly flattening: FlattenOptions;
};

/** An operation, and the caller it is compiled for. */
export type ToPrepare = {
  readonly document: DocumentNode;
  readonly operationName: string | null;
  readonly denied: Denied;
  readonly rollout: Rollout;
  /** The values of the variables that conditions read. */
  readonly flags: Readonly<JsonObject>;
  /** Whether the client accepts the result in parts. */
  readonly isIncremental: boolean;
};

/**
 * Plans and compiles an operation. Denied fields are not planned, so that no subgraph receives a request for them.
 * Throws a GraphQLError for an operation that the engine does not run.
 */
export async function prepareOperation<C>(
  preparation: Preparation<C>,
  toPrepare: ToPrepare,
): Promise<Prepared<C>> {
  const { api, planner, planContext, flattening } = preparation;
  const { document, operationName, denied, rollout } = toPrepare;
  const operation = getOperationAST(document, operationName);
  if (!operation) throw refusal("The document does not have this operation.");
  const unsupported = findUnsupported(document);
  if (unsupported) throw unsupported;
  if (toPrepare.isIncremental && operation.operation !== OperationTypeNode.SUBSCRIPTION) {
    const expanded = expandOperation(document, operation, toPrepare);
    if (expanded.hasStreams || expanded.deferred.length > 0)
      return prepareInParts(preparation, toPrepare, expanded);
  }
  const project = compileProjection(api, document, operation, { denied });
  const { introspection, rest } = splitAllowed(document, operationName, denied);
  const isSubscription = operation.operation === OperationTypeNode.SUBSCRIPTION;
  if (isSubscription && !rest) throw denial(denied);
  const simple = rest && simplify(flattening, rest, toPrepare);
  const plan = simple ? await planner.plan(print(simple), operation.name?.value ?? null, rollout) : {};
  return {
    sizeBytes: sizeOf(plan),
    introspection,
    project,
    run: isSubscription ? undefined : compilePlan(plan, planContext),
    later: undefined,
    subscription: isSubscription ? compileSubscriptionPlan(plan, planContext) : undefined,
  };
}

/** The whole operation is planned, and its plan split by what is delivered when. */
async function prepareInParts<C>(
  { api, planner, planContext, flattening }: Preparation<C>,
  toPrepare: ToPrepare,
  { document, operation, denied, deferred, hasStreams }: Expanded,
): Promise<Prepared<C>> {
  const { operationName, rollout } = toPrepare;
  const { introspection, rest } = splitAllowed(document, operationName, denied);
  const simple = rest && simplify(flattening, rest, toPrepare);
  const name = operation.name?.value ?? null;
  const plan = simple ? await planner.plan(print(simple), name, rollout) : {};
  const untyped = interfaceObjectTypes(planContext.supergraph);
  const needs = readNeeds(operation, { schema: api, denied, untyped });
  const { initial, later } = partitionPlan(plan, needs, planContext.types);
  const projectWhole = compileProjection(api, document, operation, { denied });
  const postponed = new Set(deferred.filter((fragment) => later.has(fragment)));
  const isInParts = hasStreams || postponed.size > 0;
  return {
    sizeBytes: sizeOf(plan, ...later.values()),
    introspection,
    project: isInParts
      ? compileProjection(api, document, operation, { denied, deferred: postponed })
      : projectWhole,
    run: compilePlan(initial, planContext),
    later: isInParts ? { stages: compileStages(later, planContext), projectWhole } : undefined,
    subscription: undefined,
  };
}

/** A compiled operation takes about this many bytes for each character of its plan as JSON. */
const BYTES_PER_CHARACTER = 8;

function sizeOf(...plans: readonly object[]): number {
  return BYTES_PER_CHARACTER * JSON.stringify(plans).length;
}

/**
 * The operation for the planner: without the conditions, nested fragments and aliases that it confuses. Undefined
 * when its conditions leave no selection.
 */
function simplify(
  flattening: FlattenOptions,
  document: DocumentNode,
  { operationName, flags }: ToPrepare,
): DocumentNode | undefined {
  const applied = applyConditions(document, flags);
  const operation = getOperationAST(applied, operationName);
  if (!operation) return undefined;
  const flat = flattenFragments(flattening, applied, operation);
  return flat && renameAliases(flat);
}

function splitAllowed(document: DocumentNode, operationName: string | null, denied: Denied) {
  const allowed = withoutDenied(document, denied);
  const operation = getOperationAST(allowed, operationName);
  return operation ? splitIntrospection(allowed, operation) : { introspection: undefined, rest: undefined };
}
