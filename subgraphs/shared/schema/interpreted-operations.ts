import { type DocumentNode, type GraphQLSchema, Kind } from "graphql";
import { oncePer } from "../../../src/kernel/once-per.ts";
import { hasRecursiveVariable, nestedVariables } from "./variable-usage.ts";

/** Of a document: whether graphql-js always runs it, and else the variables without which it does. */
type Facts = { readonly isInterpreted: boolean; readonly needed: readonly string[] };

/**
 * Whether graphql-js has to run an operation that Mercurius would run compiled by graphql-jit: the compiled code never
 * ends for an input type that contains itself, writes null for an omitted variable inside an object or a list, refuses
 * an omitted variable of a non-null type although it has a default, and is that of one operation of a document,
 * whichever of them is named.
 */
export function interpretedIn(
  schema: GraphQLSchema,
): (document: DocumentNode, variables: Readonly<Record<string, unknown>> | null | undefined) => boolean {
  const factsOf = oncePer((document: DocumentNode): Facts => {
    const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    return {
      isInterpreted: operations.length > 1 || hasRecursiveVariable(schema, document),
      needed: [...nestedVariables(document), ...requiredWithDefault(document)],
    };
  });
  return (document, variables) => {
    const { isInterpreted, needed } = factsOf(document);
    return isInterpreted || needed.some((name) => variables?.[name] === undefined);
  };
}

/** The variables of a non-null type that have a default. */
function requiredWithDefault({ definitions }: DocumentNode): readonly string[] {
  return definitions.flatMap((definition) => {
    if (definition.kind !== Kind.OPERATION_DEFINITION) return [];
    return (definition.variableDefinitions ?? []).flatMap(({ variable, type, defaultValue }) =>
      defaultValue && type.kind === Kind.NON_NULL_TYPE ? [variable.name.value] : [],
    );
  });
}
