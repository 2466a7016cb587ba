import {
  type ConstDirectiveNode,
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  getNullableType,
  isListType,
  Kind,
  parse,
  type SelectionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";

const DEFER = directiveOf("@defer");
const STREAMS = [0, 1, 2].map((count) => directiveOf(`@stream(initialCount: ${count})`));
const SHARE = 0.35;

/** A query with `@defer` and `@stream` in places that depend on a seed. */
export function inRandomParts(schema: GraphQLSchema, document: DocumentNode, seed: number): DocumentNode {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
  const types = new TypeInfo(schema);
  const defer = <T extends SelectionNode>(node: T): T | undefined =>
    random() < SHARE ? { ...node, directives: [...(node.directives ?? []), DEFER] } : undefined;
  return visit(
    document,
    visitWithTypeInfo(types, {
      InlineFragment: { leave: (node) => defer(node) },
      FragmentSpread: { leave: (node) => defer(node) },
      Field: {
        leave(node): FieldNode | undefined {
          const type = types.getType();
          const stream = STREAMS[Math.floor(random() * STREAMS.length)];
          if (!type || !isListType(getNullableType(type)) || random() > SHARE || !stream) return undefined;
          return { ...node, directives: [...(node.directives ?? []), stream] };
        },
      },
      SelectionSet: {
        leave(set) {
          if (random() > SHARE) return undefined;
          const split = Math.floor(random() * set.selections.length);
          const later: SelectionNode = {
            kind: Kind.INLINE_FRAGMENT,
            directives: [DEFER],
            selectionSet: { kind: Kind.SELECTION_SET, selections: set.selections.slice(split) },
          };
          return { ...set, selections: [...set.selections.slice(0, split), later] };
        },
      },
    }),
  );
}

function directiveOf(text: string): ConstDirectiveNode {
  const [operation] = parse(`{ f ${text} }`, { noLocation: true }).definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error("no operation");
  const [directive] = operation.selectionSet.selections[0]?.directives ?? [];
  if (!directive) throw new Error("no directive");
  return directive as ConstDirectiveNode;
}
