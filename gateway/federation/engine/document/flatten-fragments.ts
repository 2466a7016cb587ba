import {
  type DocumentNode,
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import { refusal } from "../refusal.ts";
import { type Fragments, readFragments } from "./fragments.ts";

/** The most selections of an operation with its fragments inlined, counted for each possible object type. */
const MAX_SELECTIONS = 20_000;
const TYPENAME: FieldNode = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: "__typename" } };

/** The input for flattening: the public schema, and the fields of `interfaceObjectFields`. */
export type FlattenOptions = {
  readonly schema: GraphQLSchema;
  readonly interfaceObjectFields: ReadonlySet<string>;
};

type Flattening = FlattenOptions & { readonly fragments: Fragments; left: number };
/** The selections of one object: for all of its possible types, and for some. */
type Selected = { readonly common: SelectionNode[]; readonly byType: Map<string, SelectionNode[]> };

/**
 * The operation without nested fragments: an object has the fields of its type, and one inline fragment for each
 * object type that has more. The planner fails on some nested fragments, and on type conditions that cannot be met.
 * The document must not contain conditions. Undefined when no subgraph request is needed. Throws a GraphQLError when
 * the operation grows too large.
 */
export function flattenFragments(
  options: FlattenOptions,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): DocumentNode | undefined {
  const flattening = { ...options, fragments: readFragments(document), left: MAX_SELECTIONS };
  const root = options.schema.getRootType(operation.operation);
  if (!root) throw new Error(`the schema has no ${operation.operation} type`);
  const selectionSet = flattenSet(flattening, root, operation.selectionSet);
  if (selectionSet.selections.every((one) => one.kind === Kind.FIELD && one.name.value === "__typename"))
    return undefined;
  return { ...document, definitions: [{ ...operation, selectionSet }] };
}

function flattenSet(flattening: Flattening, type: GraphQLNamedType, set: SelectionSetNode): SelectionSetNode {
  const selected: Selected = { common: [], byType: new Map() };
  collect(flattening, { type, types: undefined }, set, selected);
  refuseMixed(flattening, selected.byType);
  const selections = [...selected.common];
  for (const [name, own] of selected.byType)
    selections.push({
      kind: Kind.INLINE_FRAGMENT,
      typeCondition: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: name } },
      selectionSet: { kind: Kind.SELECTION_SET, selections: own },
    });
  return { kind: Kind.SELECTION_SET, selections: selections.length > 0 ? selections : [TYPENAME] };
}

/**
 * Refuses a field that a subgraph adds to an interface, when it is in a fragment on one type beside a fragment on
 * another: the planner would request it for one of the types only.
 */
function refuseMixed({ interfaceObjectFields }: Flattening, byType: Selected["byType"]): void {
  if (byType.size < 2 || interfaceObjectFields.size === 0) return;
  for (const [type, selections] of byType)
    for (const selection of selections) {
      if (selection.kind !== Kind.FIELD || !interfaceObjectFields.has(`${type}.${selection.name.value}`))
        continue;
      const { value: field } = selection.name;
      if (
        ![...byType.keys()].some((other) => other !== type && interfaceObjectFields.has(`${other}.${field}`))
      )
        continue;
      throw refusal(
        `Select "${selection.name.value}" of "${type}" on its interface: it cannot be selected in a fragment on one type beside fragments on other types.`,
      );
    }
}

/** The position of a selection: its type, and the object types it is limited to; undefined for all. */
type Place = { readonly type: GraphQLNamedType; readonly types: readonly string[] | undefined };

function collect(flattening: Flattening, place: Place, set: SelectionSetNode, into: Selected): void {
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) {
      addField(flattening, place, selection, into);
      continue;
    }
    const fragment =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : flattening.fragments.get(selection.name.value);
    if (!fragment) continue;
    const narrowed = narrow(flattening.schema, place, fragment.typeCondition?.name.value);
    if (narrowed) collect(flattening, narrowed, fragment.selectionSet, into);
  }
}

/** The position inside a fragment; undefined when no object has its type. */
function narrow(schema: GraphQLSchema, place: Place, condition: string | undefined): Place | undefined {
  const wanted = condition === undefined ? place.type : schema.getType(condition);
  if (!wanted || wanted === place.type) return place;
  const possible = place.types ?? namesOf(schema, place.type);
  const met = namesOf(schema, wanted).filter((name) => possible.includes(name));
  if (met.length === 0) return undefined;
  const isWider = place.types === undefined && isInterfaceOf(wanted, place.type);
  return isWider ? place : { type: wanted, types: met };
}

function isInterfaceOf(wanted: GraphQLNamedType, type: GraphQLNamedType): boolean {
  return isInterfaceType(wanted) && "getInterfaces" in type && type.getInterfaces().includes(wanted);
}

function namesOf(schema: GraphQLSchema, type: GraphQLNamedType): string[] {
  return isAbstractType(type) ? schema.getPossibleTypes(type).map(({ name }) => name) : [type.name];
}

function addField(flattening: Flattening, { type, types }: Place, field: FieldNode, into: Selected): void {
  flattening.left -= types?.length ?? 1;
  if (flattening.left < 0) throw refusal("The operation is too large with its fragments inlined.");
  const places = types ?? [undefined];
  for (const name of places) {
    const owner = name === undefined ? type : flattening.schema.getType(name);
    const flat = owner ? flattenField(flattening, owner, field) : field;
    if (name === undefined) into.common.push(flat);
    else into.byType.set(name, [...(into.byType.get(name) ?? []), flat]);
  }
}

function flattenField(flattening: Flattening, owner: GraphQLNamedType, field: FieldNode): FieldNode {
  if (!field.selectionSet || !(isObjectType(owner) || isInterfaceType(owner))) return field;
  const defined = owner.getFields()[field.name.value];
  if (!defined) throw refusal(`Cannot query field "${field.name.value}" on type "${owner.name}".`);
  return { ...field, selectionSet: flattenSet(flattening, getNamedType(defined.type), field.selectionSet) };
}
