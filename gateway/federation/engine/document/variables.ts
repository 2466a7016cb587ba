import { GraphQLError, type GraphQLSchema, getVariableValues, type OperationDefinitionNode } from "graphql";
import type { JsonObject } from "../subgraph-executor.ts";

/** The variables of a request are invalid for its operation. */
export class InvalidVariables extends Error {
  /** As sent to the client. */
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super("the variables are invalid for the operation");
    this.errors = errors.map(({ message, nodes }) => {
      return new GraphQLError(message, { nodes: nodes ?? null, extensions: { code: "invalid_parameter" } });
    });
  }
}

/** The coerced variables of an operation, with defaults. Throws InvalidVariables. */
export function coerceVariables(
  api: GraphQLSchema,
  { variableDefinitions }: OperationDefinitionNode,
  given: Readonly<JsonObject> | null | undefined,
): Readonly<JsonObject> {
  if (!variableDefinitions || variableDefinitions.length === 0) return {};
  const { coerced, errors } = getVariableValues(api, variableDefinitions, given ?? {}, { maxErrors: 20 });
  if (errors) throw new InvalidVariables(errors);
  return coerced ?? {};
}

/** Refuses null for variables used where null is not allowed: a default made their nullable type valid there. */
export function refuseNulls(required: ReadonlySet<string>, variables: Readonly<JsonObject>): void {
  const nulls = [...required].filter((name) => variables[name] === null);
  if (nulls.length === 0) return;
  throw new InvalidVariables(
    nulls.map((name) => new GraphQLError(`Variable "$${name}" is null where null is not allowed.`)),
  );
}
