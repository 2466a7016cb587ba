import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
} from "graphql";
import { oncePer } from "../../../src/kernel/once-per.ts";
import { type LiftedOperation, liftLiterals } from "./document/lift-literals.ts";
import { conditionVariables } from "./document/planner-document.ts";
import { coerceVariables, refuseNulls } from "./document/variables.ts";
import { refusal } from "./refusal.ts";
import type { JsonObject } from "./subgraph-executor.ts";
import type { ReportViolations } from "./violations.ts";

/** One client operation. The document must be parsed and valid against the engine's `apiSchema`. */
export type ExecutionRequest<C> = {
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<JsonObject> | null | undefined;
  readonly context: C;
  readonly signal?: AbortSignal | undefined;
};

/** An operation without literals, and the values of all of its variables. */
export type LiftedRequest<C> = ExecutionRequest<C> & {
  readonly variables: Readonly<JsonObject>;
  readonly reportViolations: ReportViolations;
};

/** Lifts the literals of a document once per document. */
export function createLifting<C>(
  api: GraphQLSchema,
  reportViolations: ReportViolations,
): (request: ExecutionRequest<C>) => LiftedRequest<C> {
  const operationsOf = oncePer((_: DocumentNode) => new Map<OperationDefinitionNode, LiftedOperation>());
  const liftedOf = (document: DocumentNode, operation: OperationDefinitionNode) => {
    const operations = operationsOf(document);
    const lifted = operations.get(operation) ?? liftLiterals(api, document, operation);
    operations.set(operation, lifted);
    return lifted;
  };
  return (request) => {
    const { document, operationName = null } = request;
    const operation = getOperationAST(document, operationName);
    if (!operation) throw refusal(unknownOperation(operationName));
    const given = coerceVariables(api, operation, request.variables);
    const lifted = liftedOf(document, operation);
    refuseNulls(lifted.required, given);
    return { ...request, document: lifted.document, variables: lifted.variables(given), reportViolations };
  };
}

/** The values of an operation's conditions, as a cache key: each combination has its own plan. */
export function createFlags(): (document: DocumentNode, variables: Readonly<JsonObject>) => string {
  const namesOf = oncePer(conditionVariables);
  return (document, variables) => {
    const names = namesOf(document);
    return names.length > 0 ? `?${names.map((name) => flagOf(variables[name])).join("")}` : "";
  };
}

/** `if` of `@defer` and `@stream` may be left out: it is true then, and not false. */
function flagOf(value: unknown): string {
  return value === undefined ? "-" : value === true ? "1" : "0";
}

function unknownOperation(operationName: string | null): string {
  return operationName === null
    ? "The document has several operations: send the operationName of one."
    : `The document has no operation named "${operationName}".`;
}
