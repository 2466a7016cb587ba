import {
  type ConstValueNode,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
  getNullableType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  Kind,
  type OperationDefinitionNode,
  parseType,
  print,
  separateOperations,
  TypeInfo,
  type TypeNode,
  type ValueNode,
  type VariableDefinitionNode,
  type VariableNode,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { readExactly } from "../../../../subgraphs/shared/schema/exact-literal.ts";
import { isRecursive } from "../../../../subgraphs/shared/schema/variable-usage.ts";
import type { JsonObject } from "../subgraph-executor.ts";
import { CHILDREN } from "./contents.ts";
import { renameReserved } from "./reserved-variables.ts";

/** An operation without literals in its arguments. */
export type LiftedOperation = {
  /** The operation only, with a variable in place of each literal and without variable defaults. */
  readonly document: DocumentNode;
  /** All variables of the document, with the literals. `given` are the coerced ones of the client. */
  variables(given: Readonly<JsonObject>): Readonly<JsonObject>;
  /** Client variables used where null is not allowed, without their `$`. */
  readonly required: ReadonlySet<string>;
};

/**
 * Replaces the literals of an operation by variables. The planner rewrites literals, and not always correctly (large
 * integers, long fractions, escapes); and operations that differ only in literals share one plan. The document must
 * be valid. Throws a GraphQLError for a number that JSON cannot represent.
 */
export function liftLiterals(
  api: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): LiftedOperation {
  const isAlone = document.definitions.length === 1;
  const own = isAlone ? document : (separateOperations(document)[operation.name?.value ?? ""] ?? document);
  const prefix = prefixFor(operation);
  const renamed = renameReserved(own, operation, prefix);
  const lifting = new Lifting(api, prefix);
  const lifted = visit(renamed.document, lifting.visitor(), CHILDREN);
  const { fixed, computed, added, required } = lifting;
  return {
    document: {
      ...lifted,
      definitions: lifted.definitions.map((node) => {
        if (node.kind !== Kind.OPERATION_DEFINITION) return node;
        const existing = (node.variableDefinitions ?? []).map((one) => withoutDefault(one, required));
        return { ...node, variableDefinitions: [...existing, ...added] };
      }),
    },
    variables(given) {
      const variables = { ...renamed.variables(given), ...fixed };
      for (const [name, node] of computed) variables[name] = readExactly(node, variables);
      return variables;
    },
    required: new Set([...required].map(renamed.clientName)),
  };
}

/** The nodes of types, which all documents share. */
const typeNodes = new WeakMap<GraphQLInputType, TypeNode>();

function nodeOf(type: GraphQLInputType): TypeNode {
  const known = typeNodes.get(type) ?? parseType(String(type), { noLocation: true });
  typeNodes.set(type, known);
  return known;
}

class Lifting {
  /** Values that are the same in every request. */
  readonly fixed: JsonObject = {};
  /** Literals of custom scalars that contain variables. */
  readonly computed: [name: string, node: ValueNode][] = [];
  readonly added: VariableDefinitionNode[] = [];
  readonly required = new Set<string>();
  readonly #types: TypeInfo;
  readonly #prefix: string;
  readonly #variables = new Map<string, VariableNode>();

  constructor(api: GraphQLSchema, prefix: string) {
    this.#types = new TypeInfo(api);
    this.#prefix = prefix;
  }

  visitor() {
    const lift = (node: Exclude<ValueNode, VariableNode>) => this.#lift(node);
    return visitWithTypeInfo(this.#types, {
      VariableDefinition: () => false,
      Directive: ({ arguments: given = [] }) => {
        for (const { value } of given)
          if (value.kind === Kind.VARIABLE && isNonNullType(this.#types.getDirective()?.args[0]?.type))
            this.required.add(value.name.value);
        return false;
      },
      Variable: ({ name }) => {
        if (isNonNullType(this.#types.getInputType())) this.required.add(name.value);
      },
      ...{ IntValue: lift, FloatValue: lift, StringValue: lift, BooleanValue: lift },
      ...{ EnumValue: lift, NullValue: lift, ListValue: lift, ObjectValue: lift },
    });
  }

  /** Undefined for a literal whose parts are lifted instead. */
  #lift(node: Exclude<ValueNode, VariableNode>): VariableNode | undefined {
    const isList = node.kind === Kind.LIST;
    const type = isList ? this.#types.getParentInputType() : this.#types.getInputType();
    if (!type) return undefined;
    const hasVariables = containsVariable(node);
    if (hasVariables && !isScalarType(getNullableType(type))) return undefined;
    // graphql-jit, which third-party subgraphs also run, never finishes compiling a variable of such a type.
    if (isRecursive(type)) return undefined;
    if (hasVariables) refuseInfinite(node);
    const value = hasVariables ? undefined : toJson(node as ConstValueNode, type);
    // Equal literals share one variable: fields that merge have equal arguments.
    const key = `${type} ${hasVariables ? print(node) : JSON.stringify(value, keepMinusZero)}`;
    const known = this.#variables.get(key);
    if (known) return known;
    const name = { kind: Kind.NAME, value: `${this.#prefix}${this.added.length}` } as const;
    const variable = { kind: Kind.VARIABLE, name } as const;
    this.#variables.set(key, variable);
    this.added.push({ kind: Kind.VARIABLE_DEFINITION, variable, type: nodeOf(type) });
    if (hasVariables) this.computed.push([name.value, node]);
    else this.fixed[name.value] = value;
    return variable;
  }
}

function keepMinusZero(_: string, value: unknown): unknown {
  return Object.is(value, -0) ? "-0" : value;
}

/** A literal as JSON. A single value in place of a list stays a single value: JSON input allows it as well. */
function toJson(node: ConstValueNode, given: GraphQLInputType): unknown {
  const type = getNullableType(given);
  if (node.kind === Kind.NULL) return null;
  if (isListType(type))
    return node.kind === Kind.LIST
      ? node.values.map((item) => toJson(item, type.ofType))
      : toJson(node, type.ofType);
  if (isInputObjectType(type)) return toJsonObject(node, type);
  if (node.kind !== Kind.INT && node.kind !== Kind.FLOAT) {
    refuseInfinite(node);
    return readExactly(node);
  }
  if (type.toString() === "ID") return node.value;
  const number = Number(node.value);
  if (type.toString() === "Float" && !Number.isFinite(number)) throw infinite(node.value);
  refuseInfinite(node);
  // A JSON number would lose digits: scalars that accept such integers accept them as strings.
  const isExact = node.kind === Kind.FLOAT || type.toString() === "Float" || Number.isSafeInteger(number);
  return isExact ? number : node.value;
}

/** Throws for a number that JSON cannot represent, anywhere in a literal. */
function refuseInfinite(literal: ValueNode): void {
  visit(literal, {
    FloatValue({ value }) {
      if (!Number.isFinite(Number(value))) throw infinite(value);
    },
  });
}

function infinite(text: string): GraphQLError {
  return new GraphQLError(`${text} is beyond the range of a Float.`, {
    extensions: { code: "invalid_parameter" },
  });
}

/** With field defaults, as in coerced variables: graphql-jit does not apply defaults inside variables. */
function toJsonObject(node: ConstValueNode, type: GraphQLInputObjectType): JsonObject {
  const given = new Map(
    node.kind === Kind.OBJECT ? node.fields.map(({ name, value }) => [name.value, value]) : [],
  );
  const members: JsonObject = {};
  for (const field of Object.values(type.getFields())) {
    const value = given.get(field.name);
    if (value) members[field.name] = toJson(value, field.type);
    else if (field.defaultValue !== undefined) members[field.name] = field.defaultValue;
  }
  return members;
}

function containsVariable(node: ValueNode): boolean {
  if (node.kind === Kind.LIST) return node.values.some(containsVariable);
  if (node.kind === Kind.OBJECT) return node.fields.some(({ value }) => containsVariable(value));
  return node.kind === Kind.VARIABLE;
}

/** Coercion applies the default. If only the default allowed a nullable variable, its type becomes non-null. */
function withoutDefault(
  { defaultValue, ...definition }: VariableDefinitionNode,
  required: ReadonlySet<string>,
): VariableDefinitionNode {
  const { type, variable } = definition;
  const isNullable = type.kind !== Kind.NON_NULL_TYPE;
  return defaultValue && isNullable && required.has(variable.name.value)
    ? { ...definition, type: { kind: Kind.NON_NULL_TYPE, type } }
    : definition;
}

/** A prefix that no client variable starts with. */
function prefixFor({ variableDefinitions = [] }: OperationDefinitionNode): string {
  let prefix = "_literal";
  while (variableDefinitions.some(({ variable }) => variable.name.value.startsWith(prefix)))
    prefix = `_${prefix}`;
  return prefix;
}
