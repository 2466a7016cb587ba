import { readdirSync, readFileSync } from "node:fs";
import {
  type DocumentNode,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInputType,
  Kind,
  OperationTypeNode,
  parse,
  TypeInfo,
  typeFromAST,
  type VariableDefinitionNode,
  validate,
  valueFromAST,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { findGuardedFields, type GuardedFields } from "../federation/engine/guards.ts";
import type { Graph, GraphContext } from "../federation/graph.ts";
import type { TrustedDocuments } from "../federation/policy/trusted-documents.ts";
import { type ArgumentPlace, findArgumentPlaces } from "./argument-names.ts";
import { type Definitions, described, type JsonSchema, toJsonSchema } from "./json-schema.ts";

const EXAMPLES = new URL("../../schema/examples/", import.meta.url);
const MAX_NAME_LENGTH = 64;

/** A query or mutation that an MCP client may call: a trusted document, with its variables as arguments. */
export type DocumentTool = {
  /** The name of its operation in snake case. */
  readonly name: string;
  readonly description: string;
  readonly isQuery: boolean;
  readonly inputSchema: JsonSchema;
  readonly text: string;
  /** Where its arguments are in the document. */
  readonly places: readonly ArgumentPlace[];
  /** The fields that not everyone may read. */
  readonly guarded: GuardedFields<Pick<GraphContext, "principal">>;
};

/**
 * The tools of a graph, by name: the operator's trusted documents if there are any, otherwise the examples of the
 * schema. Subscriptions, documents of several operations or of another graph, and repeated names are left out.
 */
export function createDocumentTools(
  { apiSchema, guardOf }: Pick<Graph, "apiSchema" | "guardOf">,
  trusted: TrustedDocuments,
): ReadonlyMap<string, DocumentTool> {
  const texts = trusted.all.length > 0 ? trusted.all.map(({ text }) => text) : readExamples();
  const tools = new Map<string, DocumentTool>();
  for (const text of texts) {
    const document = parse(text);
    if (validate(apiSchema, document).length > 0) continue;
    const tool = toTool(apiSchema, document, text);
    if (!tool || tools.has(tool.name)) continue;
    tools.set(tool.name, { ...tool, guarded: findGuardedFields(apiSchema, document, guardOf) });
  }
  return tools;
}

function readExamples(): readonly string[] {
  return readdirSync(EXAMPLES)
    .filter((file) => file.endsWith(".graphql"))
    .toSorted()
    .map((file) => readFileSync(new URL(file, EXAMPLES), "utf8"));
}

function toTool(
  schema: GraphQLSchema,
  document: DocumentNode,
  text: string,
): Omit<DocumentTool, "guarded"> | undefined {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const [operation] = operations;
  if (operations.length !== 1 || !operation?.name || operation.operation === OperationTypeNode.SUBSCRIPTION)
    return undefined;
  const uses = readUses(schema, document);
  return {
    name: toSnakeCase(operation.name.value).slice(0, MAX_NAME_LENGTH),
    description: leadingComment(text) ?? uses.roots.join(" "),
    isQuery: operation.operation === OperationTypeNode.QUERY,
    inputSchema: argumentsSchema(schema, operation.variableDefinitions ?? [], uses.variables),
    text,
    places: findArgumentPlaces(document),
  };
}

function argumentsSchema(
  schema: GraphQLSchema,
  variables: readonly VariableDefinitionNode[],
  descriptions: ReadonlyMap<string, string>,
): JsonSchema {
  const definitions: Definitions = new Map();
  const members = variables.map(({ variable, type: node, defaultValue }) => {
    const type = typeFromAST(schema, node);
    const name = variable.name.value;
    if (!isInputType(type)) throw new Error(`the variable $${name} has an unknown type`);
    const value = described(toJsonSchema(type, definitions), descriptions.get(name));
    const standard = defaultValue && valueFromAST(defaultValue, type);
    return [name, standard === undefined ? value : { ...value, default: standard }] as const;
  });
  const required = variables
    .filter(({ type, defaultValue }) => type.kind === Kind.NON_NULL_TYPE && !defaultValue)
    .map(({ variable }) => variable.name.value);
  return {
    type: "object",
    properties: Object.fromEntries(members),
    ...(required.length > 0 && { required }),
    ...(definitions.size > 0 && { $defs: Object.fromEntries(definitions) }),
    additionalProperties: false,
  };
}

/** The descriptions of the root fields of a document, and of the arguments and input fields that its variables fill. */
function readUses(schema: GraphQLSchema, document: DocumentNode) {
  const types = new TypeInfo(schema);
  const roots: string[] = [];
  const variables = new Map<string, string>();
  const note = (
    node: { readonly kind: string; readonly name?: { readonly value: string } },
    text: unknown,
  ) => {
    if (node.kind === Kind.VARIABLE && node.name && typeof text === "string" && text !== "")
      variables.set(node.name.value, text);
  };
  const queryTypes: readonly unknown[] = [schema.getQueryType(), schema.getMutationType()];
  visit(
    document,
    visitWithTypeInfo(types, {
      Field() {
        const description = types.getFieldDef()?.description;
        if (description && queryTypes.includes(types.getParentType())) roots.push(description);
      },
      Argument({ value }) {
        note(value, types.getArgument()?.description);
      },
      ObjectField({ name, value }) {
        const parent = getNamedType(types.getParentInputType());
        if (isInputObjectType(parent)) note(value, parent.getFields()[name.value]?.description);
      },
    }),
  );
  return { roots, variables };
}

/** The comment at the beginning of a document. */
function leadingComment(text: string): string | undefined {
  const lines = /^(?:#[^\n]*\n)+/.exec(text)?.[0].split("\n") ?? [];
  const comment = lines.map((line) => line.replace(/^#\s?/, "")).join(" ");
  return comment.trim() === "" ? undefined : comment.trim();
}

function toSnakeCase(name: string): string {
  return name.replace(/[a-z0-9](?=[A-Z])/g, "$&_").toLowerCase();
}
