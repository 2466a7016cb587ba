import { type GraphQLSchema, isAbstractType } from "graphql";

/** Which objects satisfy a type condition, by `__typename`. */
export interface TypeIndex {
  /** Every `__typename` that satisfies one of these conditions; an interface object satisfies its own name. */
  satisfying(conditions: readonly string[]): ReadonlySet<string>;
}

/** Reads the possible types from the supergraph, including hidden types: plans may use them. */
export function createTypeIndex(supergraph: GraphQLSchema): TypeIndex {
  return {
    satisfying(conditions) {
      const names = new Set(conditions);
      for (const condition of conditions) {
        const type = supergraph.getType(condition);
        if (!isAbstractType(type)) continue;
        for (const object of supergraph.getPossibleTypes(type)) names.add(object.name);
      }
      return names;
    },
  };
}

/** Whether an object satisfies a condition. An object without `__typename` does: no other condition requested it. */
export function satisfies(typename: unknown, names: ReadonlySet<string>): boolean {
  return typeof typename !== "string" || names.has(typename);
}
