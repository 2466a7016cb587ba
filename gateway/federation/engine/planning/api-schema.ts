import {
  buildASTSchema,
  type ConstDirectiveNode,
  type DefinitionNode,
  type DirectiveDefinitionNode,
  DirectiveLocation,
  type DirectiveNode,
  type DocumentNode,
  type GraphQLSchema,
  isScalarType,
  isSpecifiedScalarType,
  Kind,
  parse,
  visit,
} from "graphql";
import { readExactly } from "../../../../subgraphs/shared/schema/exact-literal.ts";
import { type SupergraphSource, toSupergraphDocument } from "../../supergraph-source.ts";
import { INCREMENTAL_SDL } from "../incremental/directives.ts";

/** Both views of a supergraph. */
export type Supergraph = {
  /** The complete composed schema, including the planner's directives and hidden elements. */
  readonly full: GraphQLSchema;
  /** The clients' view: without federation elements, and without inaccessible ones. */
  readonly api: GraphQLSchema;
};

/** Directives that clients can read by introspection. */
const PUBLIC_DIRECTIVES: ReadonlySet<string> = new Set(["deprecated", "specifiedBy", "oneOf"]);

/** Reads a composed supergraph. Descriptions and deprecations are preserved. */
export function readSupergraph(source: SupergraphSource): Supergraph {
  const document = toSupergraphDocument(source);
  const build = (sdl: DocumentNode) => buildASTSchema(sdl, { assumeValid: true, assumeValidSDL: true });
  const api = build(toApiDocument(document));
  for (const type of Object.values(api.getTypeMap()))
    if (isScalarType(type) && !isSpecifiedScalarType(type)) type.parseLiteral = readExactly;
  return { full: build(document), api };
}

type MaybeHidden = { readonly directives?: readonly DirectiveNode[] | undefined };

function isInaccessible(node: MaybeHidden): boolean {
  return node.directives?.some((directive) => directive.name.value === "inaccessible") ?? false;
}

function toApiDocument(document: DocumentNode): DocumentNode {
  const specifications = namesOfSpecifications(document);
  const hidden = new Set<string>();
  const definitions = document.definitions.filter((definition) => {
    const isPublic = isPublicDefinition(definition, specifications);
    if (!isPublic && "name" in definition && definition.name) hidden.add(definition.name.value);
    return isPublic;
  });
  const defined = new Set(
    definitions.flatMap((one) => (one.kind === Kind.DIRECTIVE_DEFINITION ? one.name.value : [])),
  );
  const added = parse(INCREMENTAL_SDL, { noLocation: true }).definitions.filter(
    (one) => one.kind === Kind.DIRECTIVE_DEFINITION && !defined.has(one.name.value),
  );
  const drop = (node: MaybeHidden) => (isInaccessible(node) ? null : undefined);
  return visit(
    { ...document, definitions: [...definitions, ...added] },
    {
      // `enter` sees the node before its directives are removed below.
      FieldDefinition: { enter: drop },
      InputValueDefinition: { enter: drop },
      EnumValueDefinition: { enter: drop },
      Directive: (node) => (PUBLIC_DIRECTIVES.has(node.name.value) ? undefined : null),
      NamedType: (node, key) => (typeof key === "number" && hidden.has(node.name.value) ? null : undefined),
    },
  );
}

function isPublicDefinition(definition: DefinitionNode, specifications: ReadonlySet<string>): boolean {
  if (definition.kind === Kind.DIRECTIVE_DEFINITION) return isPublicDirective(definition, specifications);
  if (!("name" in definition) || !definition.name) return true;
  const [namespace, rest] = definition.name.value.split("__", 2);
  if (rest !== undefined && specifications.has(namespace ?? "")) return false;
  return !isInaccessible(definition);
}

/** Our own executable directives are kept; type-system directives are not. */
function isPublicDirective(
  definition: DirectiveDefinitionNode,
  specifications: ReadonlySet<string>,
): boolean {
  const name = definition.name.value;
  if (PUBLIC_DIRECTIVES.has(name)) return true;
  if (specifications.has(name.split("__", 1)[0] ?? "")) return false;
  return definition.locations.some((location) => EXECUTABLE.has(location.value));
}

const EXECUTABLE: ReadonlySet<string> = new Set([
  DirectiveLocation.QUERY,
  DirectiveLocation.MUTATION,
  DirectiveLocation.SUBSCRIPTION,
  DirectiveLocation.FIELD,
  DirectiveLocation.FRAGMENT_DEFINITION,
  DirectiveLocation.FRAGMENT_SPREAD,
  DirectiveLocation.INLINE_FRAGMENT,
  DirectiveLocation.VARIABLE_DEFINITION,
]);

/** The specifications that the supergraph links (`join`, `tag`, ...), by their local names. */
function namesOfSpecifications(document: DocumentNode): Set<string> {
  const names = new Set(["link", "join", "core", "federation"]);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.SCHEMA_DEFINITION) continue;
    for (const directive of definition.directives ?? []) {
      if (directive.name.value !== "link") continue;
      const name = textOf(directive, "as") ?? textOf(directive, "url")?.split("/").at(-2);
      if (name) names.add(name);
    }
  }
  return names;
}

function textOf(directive: ConstDirectiveNode, argument: string): string | undefined {
  const value = directive.arguments?.find((candidate) => candidate.name.value === argument)?.value;
  return value?.kind === Kind.STRING ? value.value : undefined;
}
