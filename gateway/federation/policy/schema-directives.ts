import {
  type ConstDirectiveNode,
  type ConstValueNode,
  type DocumentNode,
  Kind,
  valueFromASTUntyped,
} from "graphql";
import { type SupergraphSource, toSupergraphDocument } from "../supergraph-source.ts";

/** Uses of a specification's directive in a supergraph, by coordinate: `Type`, `Type.field`, `Type.field(arg)`. */
export type DirectiveUses = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/**
 * The uses of the directives of Federation's specifications, by the name in the specification: a supergraph may
 * rename them (`@link(as:)`, `import`).
 */
export function readDirectiveUses(
  supergraph: SupergraphSource,
  specifications: readonly string[],
): Readonly<Record<string, DirectiveUses>> {
  const document = toSupergraphDocument(supergraph);
  const names = localNames(document);
  return Object.fromEntries(specifications.map((name) => [name, usesOf(document, names.get(name) ?? name)]));
}

type Carrier = {
  readonly name?: { readonly value: string } | undefined;
  readonly directives?: readonly ConstDirectiveNode[] | undefined;
  readonly fields?: readonly Carrier[] | undefined;
  readonly values?: readonly Carrier[] | undefined;
  readonly arguments?: readonly Carrier[] | undefined;
};

function usesOf(document: DocumentNode, directive: string): DirectiveUses {
  const uses = new Map<string, Readonly<Record<string, unknown>>>();
  const collect = (coordinate: string, { directives = [] }: Carrier) => {
    const found = directives.find(({ name }) => name.value === directive);
    if (found) uses.set(coordinate, argumentsOf(found));
  };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.DIRECTIVE_DEFINITION || !("name" in definition)) continue;
    const type = definition as Carrier;
    const typeName = type.name?.value ?? "";
    collect(typeName, type);
    for (const field of [...(type.fields ?? []), ...(type.values ?? [])]) {
      const fieldName = `${typeName}.${field.name?.value}`;
      collect(fieldName, field);
      for (const argument of field.arguments ?? [])
        collect(`${fieldName}(${argument.name?.value})`, argument);
    }
  }
  return uses;
}

function argumentsOf({ arguments: given = [] }: ConstDirectiveNode): Readonly<Record<string, unknown>> {
  return Object.fromEntries(given.map(({ name, value }) => [name.value, valueFromASTUntyped(value)]));
}

/** The local name of each directive in this supergraph, by its name in the specification. */
function localNames(document: DocumentNode): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.SCHEMA_DEFINITION) continue;
    for (const link of definition.directives ?? []) {
      if (link.name.value !== "link") continue;
      const value = (name: string) => link.arguments?.find((one) => one.name.value === name)?.value;
      const specification = textOf(value("url"))?.split("/").at(-2);
      if (!specification) continue;
      const alias = textOf(value("as"));
      if (alias) names.set(specification, alias);
      for (const [imported, as] of importsOf(value("import"))) names.set(imported, as);
    }
  }
  return names;
}

function importsOf(value: ConstValueNode | undefined): readonly (readonly [string, string])[] {
  const imports: unknown = value ? valueFromASTUntyped(value) : [];
  if (!Array.isArray(imports)) return [];
  return imports.map((one) => {
    const { name = one, as = name } = Object(one) as { name?: unknown; as?: unknown };
    return [String(name).replace("@", ""), String(as).replace("@", "")] as const;
  });
}

function textOf(value: ConstValueNode | undefined): string | undefined {
  return value?.kind === Kind.STRING ? value.value : undefined;
}
