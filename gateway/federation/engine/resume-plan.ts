import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  type ValueNode,
  type VariableDefinitionNode,
  valueFromASTUntyped,
  visit,
} from "graphql";
import type { Operation } from "./execution.ts";
import { isObject, type JsonObject, type SubgraphResult } from "./subgraph-executor.ts";

/** The argument that resumes a subscription; the events carry its value in `cursor`. */
const AFTER = "after";
const CURSOR = "cursor";
/** The query field that returns the current position of all event streams. */
const POSITION = "eventCursor";
const ALIAS = "_cursor";
const VARIABLE = "_after";

/** How to reopen a source after the last event it delivered. */
export type ResumePlan = {
  /** The source's operation, with a resume argument and the cursor of every event. */
  readonly operation: Operation;
  /** The cursor from which the client resumes; null when it wants future events only. */
  after(variables: Readonly<JsonObject>): string | null;
  /** The variables that open the source after a cursor. */
  variables(variables: JsonObject, after: string | null): JsonObject;
  cursorOf(event: SubgraphResult): string | undefined;
  /** Requests the current position of the streams: for a source that is lost before its first event. */
  readonly position: Operation | undefined;
};

/** Reads the streams' position from the subgraph's answer to `position`. */
export function readPosition({ data }: SubgraphResult): string | undefined {
  const cursor = data?.[POSITION];
  return typeof cursor === "string" ? cursor : undefined;
}

/**
 * Makes a source resumable if its field accepts `after` and its events have a `cursor`, according to the supergraph.
 * Undefined for all others, whose opening may have side effects.
 */
export function compileResume(
  { document }: Operation,
  subgraph: string,
  supergraph: GraphQLSchema,
): ResumePlan | undefined {
  const [operation, ...fragments] = document.definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) return undefined;
  const [root] = operation.selectionSet.selections;
  if (root?.kind !== Kind.FIELD || !root.selectionSet) return undefined;
  const field = supergraph.getSubscriptionType()?.getFields()[root.name.value];
  const after = field?.args.find(({ name }) => name === AFTER);
  if (!field || !after || !hasCursor(field)) return undefined;
  const given = root.arguments?.find(({ name }) => name.value === AFTER)?.value;
  const resumed = resumeBy(root, getNamedType(after.type).name, operation, fragments);
  const key = (root.alias ?? root.name).value;
  return {
    operation: { document: resumed, text: print(resumed) },
    after: (variables) => textOf(given && valueFromASTUntyped(given, variables)),
    variables: (variables, cursor) => ({ ...variables, [VARIABLE]: cursor }),
    cursorOf({ data }) {
      const event = data?.[key];
      return (isObject(event) && textOf(event[ALIAS])) || undefined;
    },
    position: knowsPosition(supergraph, subgraph) ? toOperation(`{ ${POSITION} }`) : undefined,
  };
}

function resumeBy(
  root: FieldNode,
  type: string,
  operation: OperationDefinitionNode,
  fragments: readonly DocumentNode["definitions"][number][],
): DocumentNode {
  const name = { kind: Kind.NAME, value: VARIABLE } as const;
  const variable = { kind: Kind.VARIABLE, name } as const;
  const others = root.arguments?.filter((argument) => argument.name.value !== AFTER) ?? [];
  const selections = [...(root.selectionSet?.selections ?? []), fieldOf(CURSOR, ALIAS)];
  const field: FieldNode = {
    ...root,
    arguments: [...others, { kind: Kind.ARGUMENT, name: nameOf(AFTER), value: variable }],
    selectionSet: { kind: Kind.SELECTION_SET, selections },
  };
  const selectionSet = { kind: Kind.SELECTION_SET, selections: [field] } as const;
  const definition: VariableDefinitionNode = {
    kind: Kind.VARIABLE_DEFINITION,
    variable,
    type: { kind: Kind.NAMED_TYPE, name: nameOf(type) },
  };
  const used = variablesIn([{ ...operation, variableDefinitions: [], selectionSet }, ...fragments]);
  const remaining = (operation.variableDefinitions ?? []).filter((one) => used.has(one.variable.name.value));
  const resumed = { ...operation, variableDefinitions: [...remaining, definition], selectionSet };
  return { kind: Kind.DOCUMENT, definitions: [resumed, ...fragments] };
}

function variablesIn(definitions: readonly DocumentNode["definitions"][number][]): ReadonlySet<string> {
  const used = new Set<string>();
  visit({ kind: Kind.DOCUMENT, definitions } as DocumentNode, {
    Variable: ({ name }) => void used.add(name.value),
  });
  return used;
}

function hasCursor(field: GraphQLField<unknown, unknown>): boolean {
  const event = getNamedType(field.type);
  return (isObjectType(event) || isInterfaceType(event)) && CURSOR in event.getFields();
}

/** Without an explicit `join__field`, every subgraph with queries has the field. */
function knowsPosition(supergraph: GraphQLSchema, subgraph: string): boolean {
  const query = supergraph.getQueryType();
  const field = query?.getFields()[POSITION];
  if (!field) return false;
  const own = graphsOf(field.astNode, "join__field");
  const graphs = own.length > 0 ? own : graphsOf(query?.astNode, "join__type");
  const names = supergraph.getType("join__Graph");
  const values = names?.astNode?.kind === Kind.ENUM_TYPE_DEFINITION ? (names.astNode.values ?? []) : [];
  const enumName = values.find(
    ({ directives }) =>
      argumentOf(
        directives?.find(({ name }) => name.value === "join__graph"),
        "name",
      ) === subgraph,
  );
  return enumName !== undefined && graphs.includes(enumName.name.value);
}

type Carrier = { readonly directives?: readonly Used[] | undefined };
type Used = {
  readonly name: { readonly value: string };
  readonly arguments?:
    | readonly { readonly name: { readonly value: string }; readonly value: ValueNode }[]
    | undefined;
};

function graphsOf(node: Carrier | null | undefined, directive: string): readonly unknown[] {
  const uses = node?.directives?.filter(({ name }) => name.value === directive) ?? [];
  return uses.map((use) => argumentOf(use, "graph"));
}

function argumentOf(use: Used | undefined, argument: string): unknown {
  const value = use?.arguments?.find(({ name }) => name.value === argument)?.value;
  return value && valueFromASTUntyped(value);
}

function toOperation(text: string): Operation {
  return { document: parse(text, { noLocation: true }), text };
}

function fieldOf(name: string, alias: string): FieldNode {
  return { kind: Kind.FIELD, alias: nameOf(alias), name: nameOf(name) };
}

function nameOf(value: string): { readonly kind: Kind.NAME; readonly value: string } {
  return { kind: Kind.NAME, value };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
