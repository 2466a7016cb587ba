import {
  type DefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from "graphql";

/** Receives a selection and the type it is made on, and a field's definition. */
type VisitSelection = (
  selection: SelectionNode,
  parent: GraphQLNamedType,
  field: GraphQLField<unknown, unknown> | undefined,
) => void;

/**
 * Visits the selections of an operation or a fragment, which must be valid, with their types: in a fifth of the time of
 * `visitWithTypeInfo` of graphql-js. Fragments are not followed.
 */
export function visitSelections(
  schema: GraphQLSchema,
  definition: DefinitionNode,
  visit: VisitSelection,
): void {
  const visitSet = (set: SelectionSetNode, parent: GraphQLNamedType): void => {
    for (const selection of set.selections) {
      const field =
        selection.kind === Kind.FIELD ? findField(schema, parent, selection.name.value) : undefined;
      visit(selection, parent, field);
      if (selection.kind === Kind.FRAGMENT_SPREAD || !selection.selectionSet) continue;
      const type = selection.kind === Kind.FIELD ? field?.type : conditionOf(schema, selection, parent);
      if (type) visitSet(selection.selectionSet, getNamedType(type));
    }
  };
  if (!("selectionSet" in definition)) return;
  const root =
    definition.kind === Kind.OPERATION_DEFINITION
      ? schema.getRootType(definition.operation)
      : schema.getType(definition.typeCondition.name.value);
  if (root) visitSet(definition.selectionSet, root);
}

function conditionOf(
  schema: GraphQLSchema,
  { typeCondition }: Extract<SelectionNode, { kind: Kind.INLINE_FRAGMENT }>,
  parent: GraphQLNamedType,
): GraphQLNamedType | undefined {
  return typeCondition ? schema.getType(typeCondition.name.value) : parent;
}

/** The definition of a field, also of `__typename`, `__schema` and `__type`. */
function findField(
  schema: GraphQLSchema,
  parent: GraphQLNamedType,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
  if (parent === schema.getQueryType()) {
    if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
    if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
  }
  return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
}
