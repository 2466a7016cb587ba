import {
  type DirectiveNode,
  type FieldNode,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type InlineFragmentNode,
  isAbstractType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from "graphql";
import type { Denial, Denied } from "../guards.ts";
import { refusal } from "../refusal.ts";
import { dataKey } from "./aliases.ts";
import { both, type Condition, compileCondition, either } from "./conditions.ts";
import type { Fragments } from "./fragments.ts";
import { isIntrospection } from "./introspection.ts";

/** A selection set and its condition: a response key may be selected twice under two conditions. */
export type Selected = { readonly set: SelectionSetNode; readonly condition: Condition };

/**
 * A response key of an object, merged from all its selections. In the result, the key has the position of the first
 * of its `places` whose condition holds: each place is a position among the object's fields, with a condition.
 */
export type SelectedField = {
  readonly key: string;
  readonly condition: Condition;
  readonly places: readonly Place[];
} & (
  | {
      readonly kind: "data";
      readonly name: string;
      readonly dataKey: string;
      readonly type: GraphQLOutputType;
      readonly selected: readonly Selected[];
      /** Why the field is denied to the caller; undefined if it is allowed. */
      readonly denial: Denial | undefined;
      /** How the list is streamed; undefined if it is delivered at once. */
      readonly stream: DirectiveNode | undefined;
    }
  | { readonly kind: "typename" }
  | { readonly kind: "introspection" }
);

type Place = { readonly position: number; readonly condition: Condition };

type Group = {
  readonly node: FieldNode;
  readonly nodes: FieldNode[];
  readonly places: Place[];
  readonly selected: Selected[];
};

/** The input for reading selections. */
export type Selecting = {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
  /** The fields that are denied to the caller. */
  readonly denied: Denied;
  /** Fragments that are delivered later; undefined where everything is delivered at once. */
  readonly deferred?: ReadonlySet<InlineFragmentNode> | undefined;
};

/** The fields of an object, and its fragments that are delivered later. */
type Collected = {
  readonly fields: readonly SelectedField[];
  readonly later: readonly InlineFragmentNode[];
};

/** The fields of an object of this type in the result, in the order of the operation. */
export function collectFields(
  { schema, fragments, denied, deferred }: Selecting,
  type: GraphQLObjectType | GraphQLInterfaceType,
  selected: readonly Selected[],
): Collected {
  const later: InlineFragmentNode[] = [];
  const groups = new Map<string, Group>();
  let positions = 0;
  const addField = (node: FieldNode, condition: Condition) => {
    const key = (node.alias ?? node.name).value;
    const group = groups.get(key) ?? { node, nodes: [], places: [], selected: [] };
    groups.set(key, group);
    group.nodes.push(node);
    group.places.push({ position: positions++, condition });
    if (node.selectionSet) group.selected.push({ set: node.selectionSet, condition });
  };
  const addSet = (set: SelectionSetNode, outer: Condition) => {
    for (const selection of set.selections) {
      const condition = both(outer, compileCondition(selection.directives));
      if (selection.kind === Kind.FIELD) {
        addField(selection, condition);
        continue;
      }
      const fragment =
        selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
      if (!fragment || !applies(schema, type, fragment.typeCondition?.name.value)) continue;
      if (fragment.kind === Kind.INLINE_FRAGMENT && deferred?.has(fragment)) later.push(fragment);
      else addSet(fragment.selectionSet, condition);
    }
  };
  for (const { set, condition } of selected) addSet(set, condition);
  const fields = [...groups].map(([key, group]) => describe(key, group, type, { denied, deferred }));
  return { fields, later };
}

function applies(
  schema: GraphQLSchema,
  type: GraphQLObjectType | GraphQLInterfaceType,
  condition: string | undefined,
): boolean {
  if (condition === undefined || condition === type.name) return true;
  const wanted = schema.getType(condition);
  return isAbstractType(wanted) && isObjectType(type) && schema.isSubType(wanted, type);
}

function describe(
  key: string,
  { node, nodes, places, selected }: Group,
  type: GraphQLObjectType | GraphQLInterfaceType,
  { denied, deferred }: Pick<Selecting, "denied" | "deferred">,
): SelectedField {
  const name = node.name.value;
  const condition = either(places.map((place) => place.condition));
  const common = { key, condition, places };
  if (name === "__typename") return { kind: "typename", ...common };
  if (isIntrospection(node)) return { kind: "introspection", ...common };
  const field = type.getFields()[name];
  if (!field) throw refusal(`Cannot query field "${name}" on type "${type.name}".`);
  // Of two selections, only one may be guarded: the other one provides the value.
  const denial = nodes.every((one) => denied.has(one)) ? denied.get(node) : undefined;
  const stream = deferred && node.directives?.find((directive) => directive.name.value === "stream");
  return {
    kind: "data",
    ...common,
    name,
    dataKey: dataKey(node),
    type: field.type,
    selected,
    denial,
    stream,
  };
}
