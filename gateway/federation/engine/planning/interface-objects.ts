import { type ConstDirectiveNode, type GraphQLSchema, isInterfaceType, type ValueNode } from "graphql";

/**
 * The fields, as `Type.field` by object type, that a subgraph adds to an interface without defining its types
 * (`@interfaceObject`).
 */
export function interfaceObjectFields(supergraph: GraphQLSchema): ReadonlySet<string> {
  const found = new Set<string>();
  for (const type of Object.values(supergraph.getTypeMap())) {
    if (!isInterfaceType(type)) continue;
    const joins = joinsOf(type.astNode?.directives, "join__type");
    const objects = joins
      .filter(({ isInterfaceObject }) => isInterfaceObject === "true")
      .map(({ graph }) => graph);
    const isAdded = (directives: readonly ConstDirectiveNode[] | undefined) => {
      const graphs = joinsOf(directives, "join__field").map(({ graph }) => graph);
      return objects.length > 0 && graphs.length > 0 && graphs.every((graph) => objects.includes(graph));
    };
    for (const [name, field] of Object.entries(type.getFields()))
      if (isAdded(field.astNode?.directives))
        for (const owner of supergraph.getPossibleTypes(type)) found.add(`${owner.name}.${name}`);
  }
  return found;
}

/** The interfaces that some subgraph defines as one object: its answers do not name the type of their objects. */
export function interfaceObjectTypes(supergraph: GraphQLSchema): ReadonlySet<string> {
  const types = Object.values(supergraph.getTypeMap()).filter(
    (type) =>
      isInterfaceType(type) &&
      joinsOf(type.astNode?.directives, "join__type").some(
        ({ isInterfaceObject }) => isInterfaceObject === "true",
      ),
  );
  return new Set(types.map(({ name }) => name));
}

/** The arguments of each use of a directive, as text. */
export function joinsOf(
  directives: readonly ConstDirectiveNode[] | undefined,
  name: string,
): Readonly<Record<string, string>>[] {
  return (directives ?? [])
    .filter((directive) => directive.name.value === name)
    .map(({ arguments: given = [] }) =>
      Object.fromEntries(given.map((one) => [one.name.value, textOf(one.value)])),
    );
}

function textOf(value: ValueNode): string {
  return "value" in value ? String(value.value) : "";
}
