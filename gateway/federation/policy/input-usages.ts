import {
  type ArgumentNode,
  type DefinitionNode,
  type DirectiveNode,
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  getNullableType,
  isInputObjectType,
  isListType,
  Kind,
  type OperationDefinitionNode,
  type ValueNode,
} from "graphql";
import { visitSelections } from "../engine/document/typed-selections.ts";
import { fieldOf, type InputLimits, isAnyJson } from "./input-limits.ts";

/** A place where a variable is used. */
type Usage = { readonly variable: string; readonly type: GraphQLInputType; readonly coordinate: string };

/** The arguments of a document that `InputLimits` bounds. */
export type Inputs = {
  /** The error for a literal in the document that is too long. */
  readonly refusal: GraphQLError | undefined;
  /** Checks the variables of an operation; undefined when all are within the limits. */
  refuseVariables(
    operation: OperationDefinitionNode,
    variables: Readonly<Record<string, unknown>>,
  ): GraphQLError | undefined;
  /** The argument or input field that a variable of an operation is given for; undefined for an unused one. */
  fieldOf(operation: OperationDefinitionNode, variable: string): string | undefined;
};

/** Reads the arguments of a valid document once; variables are then checked with each request. */
export function readInputs(schema: GraphQLSchema, limits: InputLimits, document: DocumentNode): Inputs {
  const reader = new Reader(limits);
  const known = new Map<OperationDefinitionNode, readonly Usage[]>();
  const usages = new Map<string, Found>();
  for (const definition of document.definitions)
    usages.set(keyOf(definition), reader.read(schema, definition));
  const usagesIn = (operation: OperationDefinitionNode) => {
    const used = known.get(operation) ?? reachable(keyOf(operation), usages);
    known.set(operation, used);
    return used;
  };
  return {
    refusal: reader.refusal,
    fieldOf(operation, name) {
      const usage = usagesIn(operation).find(({ variable }) => variable === name);
      return usage && fieldOf(usage.coordinate);
    },
    refuseVariables(operation, variables) {
      for (const { variable, type, coordinate } of usagesIn(operation)) {
        const refusal = limits.refuseValue(variables[variable], type, coordinate, { step: variable });
        if (refusal) return refusal;
      }
      return undefined;
    },
  };
}

/** The variable usages of one definition, and the fragments that it spreads. */
type Found = { readonly usages: ReadonlyMap<string, Usage>; readonly spreads: ReadonlySet<string> };

class Reader {
  readonly #limits: InputLimits;
  refusal: GraphQLError | undefined;

  constructor(limits: InputLimits) {
    this.#limits = limits;
  }

  read(schema: GraphQLSchema, definition: DefinitionNode): Found {
    const usages = new Map<string, Usage>();
    const spreads = new Set<string>();
    const collect = (args: readonly ArgumentNode[] = [], owner: Owner | undefined, name: string) => {
      for (const { name: given, value } of args) {
        const argument = owner?.args.find((one) => one.name === given.value);
        if (argument) this.#walk(value, argument.type, `${name}(${argument.name})`, usages);
      }
    };
    const collectDirectives = ({ directives = [] }: { readonly directives?: readonly DirectiveNode[] }) => {
      for (const { arguments: args, name } of directives)
        collect(args, schema.getDirective(name.value) ?? undefined, `@${name.value}`);
    };
    if ("directives" in definition) collectDirectives(definition);
    if ("variableDefinitions" in definition) definition.variableDefinitions?.forEach(collectDirectives);
    visitSelections(schema, definition, (selection, parent, field) => {
      collectDirectives(selection);
      if (selection.kind === Kind.FRAGMENT_SPREAD) spreads.add(selection.name.value);
      if (field && selection.kind === Kind.FIELD)
        collect(selection.arguments, field, `${parent.name}.${field.name}`);
    });
    return { usages, spreads };
  }

  #walk(node: ValueNode, type: GraphQLInputType, coordinate: string, usages: Map<string, Usage>): void {
    const nullable = getNullableType(type);
    if (node.kind === Kind.VARIABLE)
      return void usages.set(`${node.name.value} ${coordinate}`, {
        variable: node.name.value,
        type,
        coordinate,
      });
    if (isListType(nullable)) {
      const items = node.kind === Kind.LIST ? node.values : [node];
      this.refusal ??= this.#limits.refuseItems(items.length, coordinate);
      for (const item of items) this.#walk(item, nullable.ofType, coordinate, usages);
    } else if (isInputObjectType(nullable) && node.kind === Kind.OBJECT) {
      const fields = nullable.getFields();
      for (const { name, value } of node.fields) {
        const field = fields[name.value];
        if (field) this.#walk(value, field.type, `${nullable.name}.${field.name}`, usages);
      }
    } else if (node.kind === Kind.OBJECT || node.kind === Kind.LIST) {
      // Any JSON, which may contain variables.
      const inner = node.kind === Kind.LIST ? node.values : node.fields.map(({ value }) => value);
      for (const value of inner) this.#walk(value, type, coordinate, usages);
    } else if ("value" in node && typeof node.value === "string" && !isAnyJson(type)) {
      this.refusal ??= this.#limits.refuseText(node.value, coordinate);
      if (node.kind === Kind.INT) this.refusal ??= this.#limits.refuseNumber(Number(node.value), coordinate);
    }
  }
}

type Owner = { readonly args: readonly GraphQLArgument[] };

function keyOf(definition: DefinitionNode): string {
  const name = "name" in definition ? (definition.name?.value ?? "") : "";
  return `${definition.kind} ${name}`;
}

/** The usages of an operation and of all fragments that it reaches. */
function reachable(start: string, all: ReadonlyMap<string, Found>): readonly Usage[] {
  const used = new Map<string, Usage>();
  const seen = new Set<string>();
  const waiting = [start];
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    const found = all.get(key);
    if (!found || seen.has(key)) continue;
    seen.add(key);
    for (const [place, usage] of found.usages) used.set(place, usage);
    for (const name of found.spreads) waiting.push(`${Kind.FRAGMENT_DEFINITION} ${name}`);
  }
  return [...used.values()];
}
