import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInputType,
  Kind,
  typeFromAST,
  type ValueNode,
  type VariableNode,
  visit,
} from "graphql";

/**
 * Whether an operation has a variable whose input type contains itself. graphql-jit never finishes compiling such a
 * variable, so graphql-js has to run the operation.
 */
export function hasRecursiveVariable(schema: GraphQLSchema, document: DocumentNode): boolean {
  return document.definitions.some(
    (definition) =>
      definition.kind === Kind.OPERATION_DEFINITION &&
      (definition.variableDefinitions ?? []).some((variable) => {
        const type = typeFromAST(schema, variable.type as Parameters<typeof typeFromAST>[1]);
        return isInputType(type) && isRecursive(type);
      }),
  );
}

/** The variables inside an object or a list of an argument, without their `$`. */
export function nestedVariables(document: DocumentNode): readonly string[] {
  const names = new Set<string>();
  const add = { Variable: ({ name }: VariableNode) => void names.add(name.value) };
  const collect = (node: ValueNode) => {
    visit(node, add);
    return false;
  };
  visit(document, { ObjectValue: collect, ListValue: collect });
  return [...names];
}

/** Whether an input type contains itself. */
export function isRecursive(type: GraphQLInputType, outer: readonly GraphQLInputType[] = []): boolean {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return false;
  if (outer.includes(named)) return true;
  return Object.values(named.getFields()).some((field) => isRecursive(field.type, [...outer, named]));
}
