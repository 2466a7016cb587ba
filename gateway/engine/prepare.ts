import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
  OperationTypeNode,
  print,
} from "graphql";
import type { Planner } from "../planner.ts";
import { renameAliases } from "./aliases.ts";
import {
  compilePlan,
  compileSubscriptionPlan,
  type PlanContext,
  type SubscriptionPlan,
} from "./compile-plan.ts";
import type { Step } from "./execution.ts";
import { splitIntrospection } from "./introspection.ts";
import { compileProjection, type Project } from "./projection.ts";
import { refusal, refuseUnsupported } from "./refusal.ts";

/** An operation, compiled: all that does not depend on the request. */
export type Prepared<C> = {
  readonly operation: OperationDefinitionNode;
  readonly introspection: DocumentNode | undefined;
  readonly project: Project;
  readonly run: Step<C> | undefined;
  readonly subscription: SubscriptionPlan<C> | undefined;
};

/** What operations are compiled with. */
export type Preparation<C> = {
  readonly api: GraphQLSchema;
  readonly planner: Planner;
  readonly planContext: PlanContext<C>;
};

/** Plans and compiles an operation. Throws a GraphQLError when it is one that the engine does not run. */
export async function prepareOperation<C>(
  { api, planner, planContext }: Preparation<C>,
  document: DocumentNode,
  operationName: string | null,
): Promise<Prepared<C>> {
  const operation = getOperationAST(document, operationName);
  if (!operation) throw refusal(unknownOperation(operationName));
  refuseUnsupported(document);
  const project = compileProjection(api, document, operation);
  const { introspection, rest } = splitIntrospection(document, operation);
  const plan = rest ? await planner.plan(print(renameAliases(rest)), operation.name?.value ?? null) : {};
  const isSubscription = operation.operation === OperationTypeNode.SUBSCRIPTION;
  return {
    operation,
    introspection,
    project,
    run: isSubscription ? undefined : compilePlan(plan, planContext),
    subscription: isSubscription ? compileSubscriptionPlan(plan, planContext) : undefined,
  };
}

function unknownOperation(operationName: string | null): string {
  return operationName === null
    ? "The document has several operations: name the one to run."
    : `The document has no operation named "${operationName}".`;
}
