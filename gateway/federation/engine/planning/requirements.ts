import {
  type DocumentNode,
  type GraphQLSchema,
  isEnumType,
  isInterfaceType,
  isObjectType,
  Kind,
  parse,
  print,
  type SelectionNode,
  type SelectionSetNode,
  visit,
} from "graphql";
import type { Operation } from "../execution.ts";
import { joinsOf } from "./interface-objects.ts";

/** The data of other subgraphs that entity fields need (`@requires`). */
export interface Requirements {
  /** The members of a representation that a field needs, in addition to the keys of its type. */
  of(subgraph: string, type: string, field: string): ReadonlySet<string>;
  /** The members needed by all fields that the subgraph adds to the type. */
  ofType(subgraph: string, type: string): ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** Reads the requirements from the supergraph. */
export function readRequirements(supergraph: GraphQLSchema): Requirements {
  const graphs = supergraph.getType("join__Graph");
  const names = new Map(
    (isEnumType(graphs) ? graphs.getValues() : []).map(({ name, astNode }) => [
      name,
      joinsOf(astNode?.directives, "join__graph")[0]?.name ?? name,
    ]),
  );
  const byField = new Map<string, ReadonlySet<string>>();
  const byType = new Map<string, Set<string>>();
  for (const type of Object.values(supergraph.getTypeMap())) {
    if (!isObjectType(type) && !isInterfaceType(type)) continue;
    const keys = joinsOf(type.astNode?.directives, "join__type");
    const keysIn = (graph: string | undefined) =>
      new Set(keys.filter((join) => join.graph === graph).flatMap(({ key }) => membersOf(key)));
    for (const [field, { astNode }] of Object.entries(type.getFields()))
      for (const { graph, requires } of joinsOf(astNode?.directives, "join__field")) {
        const known = keysIn(graph);
        const members = membersOf(requires).filter((member) => !known.has(member));
        if (members.length === 0) continue;
        const place = `${names.get(graph ?? "") ?? graph} ${type.name}`;
        byField.set(`${place}.${field}`, new Set(members));
        byType.set(place, new Set([...(byType.get(place) ?? []), ...members]));
      }
  }
  return {
    of: (subgraph, type, field) => byField.get(`${subgraph} ${type}.${field}`) ?? NONE,
    ofType: (subgraph, type) => byType.get(`${subgraph} ${type}`) ?? NONE,
  };
}

/** The top-level members of a field set such as `weight size { width }`. */
function membersOf(fields: string | undefined): readonly string[] {
  if (!fields) return [];
  const [operation] = parse(`{ ${fields} }`, { noLocation: true }).definitions;
  const read = ({ selections }: SelectionSetNode): string[] =>
    selections.flatMap((selection) => {
      if (selection.kind === Kind.FIELD) return [selection.name.value];
      return selection.kind === Kind.INLINE_FRAGMENT ? read(selection.selectionSet) : [];
    });
  return operation?.kind === Kind.OPERATION_DEFINITION ? read(operation.selectionSet) : [];
}

/**
 * An entity request without the fields that depend on missing parts of the representations. Undefined when no field
 * is left to fetch.
 */
export function withoutDependents(
  document: DocumentNode,
  subgraph: string,
  { requirements, missing }: { readonly requirements: Requirements; readonly missing: readonly string[] },
): Operation | undefined {
  let isLeft = false;
  const needsMissing = (type: string, field: string) => {
    const needed = requirements.of(subgraph, type, field);
    return missing.some((member) => needed.has(member));
  };
  const reduce = (entity: SelectionNode): SelectionNode => {
    if (entity.kind !== Kind.INLINE_FRAGMENT) return entity;
    const type = entity.typeCondition?.name.value ?? "";
    const remaining = entity.selectionSet.selections.filter(
      (one) => one.kind !== Kind.FIELD || !needsMissing(type, one.name.value),
    );
    isLeft ||= remaining.some((one) => one.kind !== Kind.FIELD || one.name.value !== "__typename");
    const selections = remaining.length > 0 ? remaining : [TYPENAME];
    return { ...entity, selectionSet: { ...entity.selectionSet, selections } };
  };
  const reduced: DocumentNode = visit(document, {
    Field(field) {
      if (!field.selectionSet) return false;
      const selections = field.selectionSet.selections.map(reduce);
      return { ...field, selectionSet: { ...field.selectionSet, selections } };
    },
    InlineFragment: () => false,
  });
  if (!isLeft) return undefined;
  const text = print(withoutUnusedVariables(reduced));
  return { document: parse(text, { noLocation: true }), text };
}

const TYPENAME: SelectionNode = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: "__typename" } };

/** A document without the definitions of variables that it does not use. */
export function withoutUnusedVariables(document: DocumentNode): DocumentNode {
  const used = new Set<string>();
  visit(document, {
    VariableDefinition: () => false,
    Variable: ({ name }) => void used.add(name.value),
  });
  return visit(document, {
    VariableDefinition: ({ variable }) => (used.has(variable.name.value) ? false : null),
  });
}
