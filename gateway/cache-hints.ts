import {
  type DocumentNode,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  Kind,
  OperationTypeNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { readDirectiveUses } from "./policy/schema-directives.ts";
import type { Admitted } from "./policy.ts";

/** How long answers hold. */
export interface CacheHints {
  /** The value of `Cache-Control` for an answer without failures. */
  of(operation: Admitted): string;
}

type Hint = { readonly maxAge: number; readonly isPrivate: boolean };

const NOT_AT_ALL = "no-store";

/**
 * Reads `@cacheControl(maxAge:, scope:)` of the supergraph. An answer holds as long as the part that holds the least:
 * root fields and objects without a hint not at all, their leaves as long as the object that they are in.
 */
export function createCacheHints(supergraphSdl: string, schema: GraphQLSchema): CacheHints {
  const { cacheControl = new Map() } = readDirectiveUses(supergraphSdl, ["cacheControl"]);
  const known = new WeakMap<DocumentNode, string>();
  const hintOf = (coordinate: string): Hint | undefined => {
    const use = cacheControl.get(coordinate);
    return use && { maxAge: Number(use.maxAge ?? 0), isPrivate: use.scope === "PRIVATE" };
  };
  return {
    of({ document, operation }) {
      if (operation.operation !== OperationTypeNode.QUERY || cacheControl.size === 0) return NOT_AT_ALL;
      const control = known.get(document) ?? toControl(findHints(schema, document, hintOf));
      known.set(document, control);
      return control;
    },
  };
}

/** Of all operations of the document: with several, the strictest counts. */
function findHints(
  schema: GraphQLSchema,
  document: DocumentNode,
  hintOf: (coordinate: string) => Hint | undefined,
): readonly Hint[] {
  const types = new TypeInfo(schema);
  const roots = new Set([schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]);
  const hints: Hint[] = [];
  visit(
    document,
    visitWithTypeInfo(types, {
      [Kind.FIELD](node) {
        const parent = types.getParentType();
        const field = types.getFieldDef();
        if (!parent || !field || node.name.value.startsWith("__")) return;
        const type = getNamedType(field.type);
        const hint = hintOf(`${parent.name}.${field.name}`) ?? hintOf(type.name);
        const isRoot = roots.has(parent as never);
        if (hint) hints.push(hint);
        else if (isRoot || isCompositeType(type)) hints.push({ maxAge: 0, isPrivate: true });
      },
    }),
  );
  return hints;
}

function toControl(hints: readonly Hint[]): string {
  const maxAge = hints.length > 0 ? Math.min(...hints.map((hint) => hint.maxAge)) : 0;
  if (maxAge <= 0) return NOT_AT_ALL;
  return `max-age=${Math.floor(maxAge)}, ${hints.some(({ isPrivate }) => isPrivate) ? "private" : "public"}`;
}
