import "./reflect.ts";
import { buildSubgraphSchema, type GraphQLResolverMap } from "@apollo/subgraph";
import { printSchemaWithDirectives } from "@graphql-tools/utils";
import {
  type ConstDirectiveNode,
  type ConstValueNode,
  type FieldDefinitionNode,
  type GraphQLArgument,
  type GraphQLNamedType,
  type GraphQLSchema,
  isObjectType,
  Kind,
  parse,
  print,
  visit,
} from "graphql";
import {
  type BuildSchemaOptions,
  buildSchemaSync,
  createResolversMap,
  getMetadataStorage,
} from "type-graphql";
import { checkTextsIn } from "../../../src/kernel/check.ts";
import { type RoutedSocket, SubscriptionError } from "../events/errors-as-events.ts";
import { guard, guardReference, guardSource, type Resolve } from "../failures.ts";
import { DEFAULT_SIZE } from "./connection.ts";
import { keepDefaults } from "./default-values.ts";
import { inTurns, untilAborted } from "./root-turns.ts";

/** The Federation directives that our types may use. */
const FEDERATION_DIRECTIVES = [
  "@key",
  "@shareable",
  "@requires",
  "@external",
  "@provides",
  "@override",
  "@inaccessible",
  "@tag",
  "@interfaceObject",
  "@authenticated",
  "@requiresScopes",
  "@policy",
  "@cost",
  "@listSize",
  "@composeDirective",
] as const;

/** The header of every subgraph's SDL. */
export const FEDERATION_LINK = `extend schema
  @link(
    url: "https://specs.apollo.dev/federation/v2.9"
    import: [${FEDERATION_DIRECTIVES.map((name) => `"${name}"`).join(", ")}]
  )
`;

/**
 * Cache lifetimes. `@composeDirective` makes composition keep a directive that it does not know; the URL is only a
 * name.
 */
const CACHE_LINK = `
  extend schema
    @link(url: "https://zerograph.dev/specs/cacheControl/v0.1", import: ["@cacheControl"])
    @composeDirective(name: "@cacheControl")

  directive @cacheControl(maxAge: Int!) on FIELD_DEFINITION | OBJECT | INTERFACE | UNION
`;

/** One subgraph: the SDL that composition reads, and the executable schema. */
export type Subgraph = { readonly name: string; readonly sdl: string; readonly schema: GraphQLSchema };

/**
 * Finds an entity by the key that another subgraph sent; null when there is none. It is called once per entity: use a
 * loader. (A method's type, so that a resolver may name the key it expects.)
 */
type ReferenceResolver<C> = { find(reference: object, context: C): unknown }["find"];

/** What a subgraph has besides its resolvers. */
export type SubgraphOptions<C> = {
  /** By the name of the entity's type. */
  readonly references?: Readonly<Record<string, ReferenceResolver<C>>>;
  /** Types that no query reaches. */
  readonly orphanedTypes?: NonNullable<BuildSchemaOptions["orphanedTypes"]>;
  readonly scalarsMap?: NonNullable<BuildSchemaOptions["scalarsMap"]>;
};

/**
 * Builds a subgraph from decorated classes. Errors of its resolvers carry the REST `code`, and nothing else of what was
 * thrown. The SDL follows the order of the classes.
 */
export function buildSubgraph<C extends object>(
  name: string,
  resolvers: BuildSchemaOptions["resolvers"],
  { references = {}, orphanedTypes = [], scalarsMap = [] }: SubgraphOptions<C> = {},
): Subgraph {
  sortArguments();
  const plain = buildSchemaSync({
    ...{ resolvers, orphanedTypes, scalarsMap },
    ...{ validate: false, pubSub: NO_PUBSUB },
    // It introspects the schema to find faults, which parsing its SDL below finds as well.
    skipCheck: true,
  });
  const sdl = FEDERATION_LINK + CACHE_LINK + toSdl(plain);
  const resolverMap = guardResolvers(createResolversMap(plain), plain);
  for (const [type, find] of Object.entries(references)) {
    resolverMap[type] = { ...resolverMap[type], __resolveReference: guardReference(find) };
  }
  const schema = buildSubgraphSchema([
    { typeDefs: parse(sdl, { noLocation: true }), resolvers: resolverMap as GraphQLResolverMap },
  ]);
  return { name, sdl, schema: keepDefaults(schema, plain) };
}

/** The SDL as composition reads it. Paged lists carry `@listSize`, for cost analysis. */
function toSdl(schema: GraphQLSchema): string {
  const document = parse(printSchemaWithDirectives(schema), { noLocation: true });
  const definitions = document.definitions.filter(({ kind }) => kind !== Kind.SCHEMA_DEFINITION);
  return print(
    visit(
      { ...document, definitions },
      {
        ObjectTypeDefinition: (type) => {
          const value = ROOTS[type.name.value];
          return value === undefined
            ? undefined
            : { ...type, description: { kind: Kind.STRING, value, block: true } };
        },
        FieldDefinition: (field) =>
          isPaged(field) ? { ...field, directives: [...(field.directives ?? []), PAGED] } : undefined,
      },
    ),
  );
}

/** The root types, which have no class. */
const ROOTS: Readonly<Record<string, string>> = {
  Query:
    "Fields that read data. Queries change nothing and can be repeated. `prepare...` and `check...` compute something, such as a transaction for a wallet to sign. A field that fails is null, with the reason in `errors`, and the fields beside it are still answered. A field is also null where its description says so.",
  Mutation:
    "Operations that change data. A mutation returns a payload: the result, or `userErrors` for a form to show. A failure that the user cannot correct, such as a missing credential or an outage, is reported in `errors`, and the mutation is null.",
  Subscription:
    "Streams of events over WebSocket, server-sent events or multipart HTTP. Events carry a `cursor` unless stated otherwise: after a disconnection, pass the last one as `after` to resume without losing events.",
};

function isPaged({ arguments: args = [], type }: FieldDefinitionNode): boolean {
  return (
    args.some(({ name }) => name.value === "first") && print(type).replace("!", "").endsWith("Connection")
  );
}

/** A page is as long as its arguments say; without them, as the default. */
const PAGED: ConstDirectiveNode = {
  kind: Kind.DIRECTIVE,
  name: { kind: Kind.NAME, value: "listSize" },
  arguments: Object.entries<ConstValueNode>({
    assumedSize: { kind: Kind.INT, value: `${DEFAULT_SIZE}` },
    slicingArguments: textList("first", "last"),
    sizedFields: textList("nodes", "edges"),
    requireOneSlicingArgument: { kind: Kind.BOOLEAN, value: false },
  }).map(([name, value]) => ({ kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: name }, value })),
};

function textList(...texts: readonly string[]): ConstValueNode {
  return { kind: Kind.LIST, values: texts.map((value) => ({ kind: Kind.STRING, value })) };
}

/** Decorators of parameters run from the last to the first; without this, arguments would read in reverse. */
function sortArguments(): void {
  getMetadataStorage().params.sort((first, second) => first.index - second.index);
}

/** type-graphql requires one, even when every subscription brings its own source. */
const NO_PUBSUB: NonNullable<BuildSchemaOptions["pubSub"]> = {
  publish() {},
  subscribe() {
    throw new Error("every subscription brings its own source");
  },
};

type Resolvers = Record<string, object>;

function guardResolvers(map: Resolvers, schema: GraphQLSchema): Resolvers {
  const guarded: Resolvers = {};
  for (const [type, members] of Object.entries(map)) {
    const isPlain = Object.getPrototypeOf(members) === Object.prototype;
    guarded[type] = isPlain ? guardMembers(members, schema.getType(type)) : members;
  }
  return guarded;
}

/** Fields are wrapped; enum values and type resolution are not. */
function guardMembers(members: object, type: GraphQLNamedType | undefined): object {
  const fields = isObjectType(type) ? type.getFields() : {};
  const guarded = Object.entries(members).map(([field, member]: [string, unknown]) => {
    if (field === "__resolveType") return [field, typeNameOf];
    if (field.startsWith("__")) return [field, member];
    if (typeof member === "function") {
      const conditions = (fields[field]?.args ?? []).filter(isCondition).map(({ name }) => name);
      const resolve = checkConditions(conditions, member as Resolve);
      const inTurn = isRoot(type) ? inTurns(resolve) : resolve;
      return [field, guard(type?.name === "Mutation" ? untilAborted(inTurn) : inTurn)];
    }
    return isSubscription(member)
      ? [
          field,
          { ...member, subscribe: follow(member.subscribe), resolve: guard(rethrowFailures(member.resolve)) },
        ]
      : [field, member];
  });
  return Object.fromEntries(guarded);
}

function isRoot(type: GraphQLNamedType | undefined): boolean {
  return type?.name === "Query" || type?.name === "Mutation";
}

/** An argument that selects rows: a filter, a tag or its name, or the id of what they belong to. */
function isCondition({ name }: GraphQLArgument): boolean {
  return /^(?:filter|tag|name|tagName)$|[a-z]Id$/.test(name);
}

/** Refuses a condition with a text that no row can have, which would silently match nothing. */
function checkConditions(names: readonly string[], resolve: Resolve): Resolve {
  if (names.length === 0) return resolve;
  return (parent, args, ...rest) => {
    for (const name of names) checkTextsIn((args as Readonly<Record<string, unknown>>)[name], name);
    return resolve(parent, args, ...rest);
  };
}

/** The type of a value of an abstract type, which carries its name: graphql-jit does not wait for type-graphql's promise. */
function typeNameOf({ __typename }: { readonly __typename?: string }): string | undefined {
  return __typename;
}

/** Opens a source; for third-party routers, one that emits its failures as events. */
function follow(subscribe: Resolve): Resolve {
  const open = guardSource(subscribe);
  return (...call) => {
    const { routed } = Object(call[2]) as { routed?: RoutedSocket };
    return routed ? routed.follow(() => open(...call)) : open(...call);
  };
}

function rethrowFailures(resolve: Resolve): Resolve {
  return (event, ...rest) => {
    if (event instanceof SubscriptionError) throw event.failure;
    return resolve(event, ...rest);
  };
}

function isSubscription(member: unknown): member is { subscribe: Resolve; resolve: Resolve } {
  return typeof member === "object" && member !== null && "subscribe" in member && "resolve" in member;
}
