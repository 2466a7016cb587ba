import {
  type DocumentNode,
  type GraphQLSchema,
  getNamedType,
  Kind,
  OperationTypeNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { oncePer } from "../../src/kernel/once-per.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { GuardOf } from "../federation/engine/guards.ts";
import type { Admitted } from "../federation/policy/policy.ts";
import { readDirectiveUses } from "../federation/policy/schema-directives.ts";
import type { SupergraphSource } from "../federation/supergraph-source.ts";

/** The cache lifetime of responses. */
export interface CacheHints {
  /** The value of `Cache-Control` for a response without errors. */
  of(operation: Admitted, principal: Principal): string;
}

const NOT_AT_ALL = "no-store";

/**
 * Reads `@cacheControl(maxAge:)` of the supergraph. A response lives as long as its shortest-lived field: a root
 * field without a hint and a guarded field are not cached, and any other field without a hint inherits from its
 * parent. A response to a request with a credential is `private`.
 */
export function createCacheHints(
  supergraph: SupergraphSource,
  schema: GraphQLSchema,
  guardOf: GuardOf<{ readonly principal: Principal }>,
): CacheHints {
  const { cacheControl = new Map() } = readDirectiveUses(supergraph, ["cacheControl"]);
  const hintOf = (coordinate: string): number | undefined => {
    const maxAge = cacheControl.get(coordinate)?.maxAge;
    return maxAge === undefined ? undefined : Number(maxAge);
  };
  const maxAgeOf = oncePer((document: DocumentNode) => leastAge(schema, document, hintOf, guardOf));
  return {
    of({ document, operation }, { kind }) {
      if (operation.operation !== OperationTypeNode.QUERY || cacheControl.size === 0) return NOT_AT_ALL;
      const maxAge = maxAgeOf(document);
      if (maxAge <= 0) return NOT_AT_ALL;
      return `max-age=${Math.floor(maxAge)}, ${kind === "anonymous" ? "public" : "private"}`;
    },
  };
}

/** Over all operations of the document: the strictest counts. Seconds. */
function leastAge(
  schema: GraphQLSchema,
  document: DocumentNode,
  hintOf: (coordinate: string) => number | undefined,
  guardOf: GuardOf<{ readonly principal: Principal }>,
): number {
  const types = new TypeInfo(schema);
  const roots = new Set<unknown>([
    schema.getQueryType(),
    schema.getMutationType(),
    schema.getSubscriptionType(),
  ]);
  let least = Number.POSITIVE_INFINITY;
  const apply = (maxAge: number | undefined) => {
    if (maxAge !== undefined) least = Math.min(least, maxAge);
  };
  visit(
    document,
    visitWithTypeInfo(types, {
      [Kind.FIELD](node) {
        const parent = types.getParentType();
        const field = types.getFieldDef();
        if (!parent || !field || node.name.value.startsWith("__")) return;
        const type = getNamedType(field.type).name;
        const hint = hintOf(`${parent.name}.${field.name}`) ?? hintOf(type);
        apply(guardOf(parent.name, field.name, type) ? 0 : (hint ?? (roots.has(parent) ? 0 : undefined)));
      },
    }),
  );
  return Number.isFinite(least) ? least : 0;
}
