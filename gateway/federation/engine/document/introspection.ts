import {
  type DocumentNode,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import { type Fragments, readFragments } from "./fragments.ts";

/** An operation in two parts: one answered by the schema itself, one by subgraphs. */
export type SplitOperation = {
  /** The fields `__schema` and `__type`; undefined when there are none. */
  readonly introspection: DocumentNode | undefined;
  /** Everything else, without the root `__typename`; undefined when nothing is left for a subgraph. */
  readonly rest: DocumentNode | undefined;
};

/** Removes introspection from an operation: the planner does not support it. */
export function splitIntrospection(
  document: DocumentNode,
  operation: OperationDefinitionNode,
): SplitOperation {
  const fragments = readFragments(document);
  const keep = (wanted: (field: FieldNode) => boolean) => {
    const selections = filterSelections(operation.selectionSet, fragments, wanted);
    if (selections.length === 0) return undefined;
    const selectionSet = { kind: Kind.SELECTION_SET, selections } as const;
    return { ...document, definitions: [{ ...operation, selectionSet }, ...fragments.values()] };
  };
  return {
    introspection: keep((field) => isIntrospection(field)),
    rest: keep((field) => !field.name.value.startsWith("__")),
  };
}

/** Whether a root field is answered by the schema itself. */
export function isIntrospection(field: FieldNode): boolean {
  return field.name.value === "__schema" || field.name.value === "__type";
}

/** Filters the root fields. Fragments are inlined where they are spread, as only a part of each may remain. */
function filterSelections(
  set: SelectionSetNode | undefined,
  fragments: Fragments,
  wanted: (field: FieldNode) => boolean,
): SelectionNode[] {
  return (set?.selections ?? []).flatMap((selection): SelectionNode[] => {
    if (selection.kind === Kind.FIELD) return wanted(selection) ? [selection] : [];
    const fragment =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
    const selections = filterSelections(fragment?.selectionSet, fragments, wanted);
    if (!fragment || selections.length === 0) return [];
    const { typeCondition } = fragment;
    return [
      {
        kind: Kind.INLINE_FRAGMENT,
        selectionSet: { kind: Kind.SELECTION_SET, selections },
        ...(typeCondition && { typeCondition }),
        ...(selection.directives && { directives: selection.directives }),
      },
    ];
  });
}
