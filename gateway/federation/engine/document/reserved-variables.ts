import { type DocumentNode, type OperationDefinitionNode, visit } from "graphql";
import type { JsonObject } from "../subgraph-executor.ts";

/**
 * The variables that requests to subgraphs have besides those of the client: the planner's for the entities of a fetch
 * and of several in one request, and ours for the cursor of a resumed subscription.
 */
const RESERVED = /^(?:representations|__batch_reps_\d+|_after)$/;

/** An operation without variables of reserved names. */
type Renamed = {
  readonly document: DocumentNode;
  /** The client's variables under their names in the document. */
  variables(given: Readonly<JsonObject>): Readonly<JsonObject>;
  /** The client's name of a variable of the document. */
  readonly clientName: (name: string) => string;
};

/**
 * Gives the client's variables that have a reserved name another one, which begins with `prefix`: the planner declares
 * its own variable beside them, or in place of theirs. Nearly all operations have none.
 */
export function renameReserved(
  document: DocumentNode,
  { variableDefinitions = [] }: OperationDefinitionNode,
  prefix: string,
): Renamed {
  const reserved = variableDefinitions
    .map(({ variable }) => variable.name.value)
    .filter((name) => RESERVED.test(name));
  if (reserved.length === 0) return { document, variables: (given) => given, clientName: (name) => name };
  const renamed = new Map(reserved.map((name) => [name, `${prefix}_${name}`]));
  const clients = new Map(reserved.map((name) => [`${prefix}_${name}`, name]));
  return {
    document: visit(document, {
      Variable(variable) {
        const value = renamed.get(variable.name.value);
        return value === undefined ? undefined : { ...variable, name: { ...variable.name, value } };
      },
    }),
    variables: (given) =>
      Object.fromEntries(Object.entries(given).map(([name, value]) => [renamed.get(name) ?? name, value])),
    clientName: (name) => clients.get(name) ?? name,
  };
}
