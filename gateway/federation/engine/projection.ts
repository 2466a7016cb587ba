import {
  type DirectiveNode,
  type DocumentNode,
  type GraphQLAbstractType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNullableType,
  type InlineFragmentNode,
  isEnumType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import {
  BROKEN,
  type Complete,
  completeDelivered,
  completeDenied,
  completeEnum,
  completeList,
  completeNonNull,
  completeStreamed,
  completeUnknownTypename,
  type Postponed,
  type Projection,
  type Streaming,
  violate,
} from "./completion.ts";
import { introspectionKey } from "./document/aliases.ts";
import {
  collectFields,
  type Selected,
  type SelectedField,
  type Selecting,
} from "./document/collect-fields.ts";
import type { Condition } from "./document/conditions.ts";
import { readFragments } from "./document/fragments.ts";
import type { Denied } from "./guards.ts";
import { initialCountOf, labelOf } from "./incremental/directives.ts";
import { isObject, type JsonObject } from "./subgraph-executor.ts";

/** Shapes the subgraphs' data into the client's result: its fields, order and nulls. */
export type Project = (data: JsonObject, run: Projection) => JsonObject | null;

type Shape = (source: JsonObject, run: Projection) => JsonObject | null;
type ShapedField = {
  readonly key: string;
  readonly dataKey: string;
  readonly condition: Condition;
  /** Whether the field may occur earlier in the result. */
  readonly isRepeated: boolean;
  readonly complete: Complete;
};

/** The input for compiling a projection. */
type Compiler = Selecting;

/**
 * Compiles the shape of an operation, which must be valid against the public `schema`; `denied` fields are null. With
 * `deferred`, these fragments and the rest of streamed lists are postponed; the operation must be expanded then.
 */
export function compileProjection(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  { denied, deferred }: { readonly denied: Denied; readonly deferred?: ReadonlySet<InlineFragmentNode> },
): Project {
  const fragments = readFragments(document);
  const root = schema.getRootType(operation.operation);
  if (!root) throw new Error(`the schema has no ${operation.operation} type`);
  const compiler = { schema, fragments, denied, deferred };
  return compileShape(compiler, root, { selected: [always(operation.selectionSet)], delivered: [] });
}

function always(set: SelectionSetNode): Selected {
  return { set, condition: undefined };
}

/** The selections of an object, and those of it that were delivered before. */
type Sets = { readonly selected: readonly Selected[]; readonly delivered: readonly Selected[] };
type Objects = GraphQLObjectType | GraphQLInterfaceType;

function compileShape(compiler: Compiler, type: Objects, sets: Sets): Shape {
  const before = deliveredFields(compiler, type, sets);
  const collected = collectFields(compiler, type, sets.selected);
  const fields = collected.fields.flatMap((field) => {
    const known = before.get(field.key);
    if (known && !(field.kind === "data" && field.selected.length > 0)) return [];
    const shaped = {
      key: field.key,
      dataKey: dataKeyOf(field),
      complete: compileField(compiler, type, field, known),
    };
    return placesOf(field).map((place, at) => ({ ...shaped, ...place, isRepeated: at > 0 }));
  });
  fields.sort((first, second) => first.position - second.position);
  const { later } = collected;
  if (later.length === 0) return (source, run) => shape(fields, source, run);
  const postponed = later.map((fragment) => compilePostponed(compiler, type, fragment, sets));
  return (source, run) => {
    const result = shape(fields, source, run);
    if (result && run.postponed) for (const add of postponed) add(source, run, run.postponed);
    return result;
  };
}

function dataKeyOf(field: SelectedField): string {
  if (field.kind === "data") return field.dataKey;
  return field.kind === "introspection" ? introspectionKey(field.key) : field.key;
}

function deliveredFields(
  compiler: Compiler,
  type: Objects,
  { delivered }: Sets,
): ReadonlyMap<string, SelectedField> {
  if (delivered.length === 0) return new Map();
  return new Map(collectFields(compiler, type, delivered).fields.map((field) => [field.key, field]));
}

/** A fragment that is delivered after the fields around it, without those. */
function compilePostponed(
  compiler: Compiler,
  type: Objects,
  fragment: InlineFragmentNode,
  { selected, delivered }: Sets,
): (source: JsonObject, run: Projection, postponed: Postponed[]) => void {
  let shape: Shape | undefined;
  const [directive] = fragment.directives ?? [];
  const label = directive && labelOf(directive);
  return (source, { path }, postponed) => {
    shape ??= compileShape(compiler, type, {
      selected: [always(fragment.selectionSet)],
      delivered: [...delivered, ...selected],
    });
    const own = shape;
    const project = (run: Projection) => own(source, run);
    postponed.push({ kind: "fragment", fragment, path: [...path], label, project });
  };
}

/** Most fields have one place: after the first unconditional place, others do not matter. */
function placesOf({ places }: SelectedField): SelectedField["places"] {
  const always = places.findIndex(({ condition }) => condition === undefined);
  return always < 0 ? places : places.slice(0, always + 1);
}

function shape(fields: readonly ShapedField[], source: JsonObject, run: Projection): JsonObject | null {
  const result: JsonObject = {};
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index];
    if (!field || (field.condition && !field.condition(run.variables))) continue;
    if (run.isPartial && run.path.length === 0 && !Object.hasOwn(source, field.dataKey)) continue;
    if (field.isRepeated && Object.hasOwn(result, field.key)) continue;
    const value = field.complete(source[field.dataKey], run, field.key);
    if (value === BROKEN) return null;
    result[field.key] = value;
  }
  return result;
}

function compileField(
  compiler: Compiler,
  type: Objects,
  field: SelectedField,
  known: SelectedField | undefined,
): Complete {
  if (field.kind === "introspection") return (value) => value;
  if (field.kind === "typename") return isObjectType(type) ? () => type.name : completeUnknownTypename(type);
  if (field.denial) return completeDenied(field.denial, !isNonNullType(field.type));
  const delivered = known?.kind === "data" ? known.selected : [];
  const sets = { selected: field.selected, delivered };
  const name = [type.name, field.name].join(".");
  const stream = known ? undefined : toStreaming(field.stream);
  return compileValue(compiler, field.type, sets, { name, stream });
}

function toStreaming(directive: DirectiveNode | undefined): Streaming | undefined {
  if (!directive) return undefined;
  return {
    label: labelOf(directive),
    initialCount: (variables) => initialCountOf(directive, variables),
  };
}

type Named = { readonly name: string; readonly stream?: Streaming | undefined };

function compileValue(compiler: Compiler, type: GraphQLOutputType, sets: Sets, field: Named): Complete {
  const complete = compileAny(compiler, type, sets, field);
  return sets.delivered.length > 0 && !isNonNullType(type) ? completeDelivered(complete) : complete;
}

function compileAny(compiler: Compiler, type: GraphQLOutputType, sets: Sets, field: Named): Complete {
  const { name, stream } = field;
  if (isNonNullType(type)) {
    return completeNonNull(compileValue(compiler, getNullableType(type), sets, field), name);
  }
  if (isListType(type)) {
    const item = compileValue(compiler, type.ofType, sets, { name });
    return stream ? completeStreamed(item, name, stream) : completeList(item, name);
  }
  if (isEnumType(type)) return completeEnum(type);
  if (isLeafType(type)) return (value) => value ?? null;
  return isObjectType(type) ? completeObject(compiler, type, sets) : completeAbstract(compiler, type, sets);
}

function completeObject(compiler: Compiler, type: GraphQLObjectType, sets: Sets): Complete {
  let shape: Shape | undefined;
  return (value, run, key) => {
    if (value === null || value === undefined) return null;
    if (!isObject(value)) return violate(run, key, `The value of type ${type.name} is not an object.`);
    shape ??= compileShape(compiler, type, sets);
    return shapeAt(shape, value, run, key);
  };
}

function completeAbstract(compiler: Compiler, type: GraphQLAbstractType, sets: Sets): Complete {
  const shapes = new Map<unknown, Shape | undefined>();
  const compile = (typename: unknown) => {
    const runtime = typeof typename === "string" ? compiler.schema.getType(typename) : type;
    const known = isObjectType(runtime) || isInterfaceType(runtime);
    return known ? compileShape(compiler, runtime, sets) : undefined;
  };
  return (value, run, key) => {
    if (value === null || value === undefined) return null;
    const typename = isObject(value) ? value.__typename : undefined;
    if (!shapes.has(typename)) shapes.set(typename, compile(typename));
    const shape = shapes.get(typename);
    if (!shape || !isObject(value)) return violate(run, key, `The value is not a known ${type.name}.`);
    return shapeAt(shape, value, run, key);
  };
}

function shapeAt(shape: Shape, value: JsonObject, run: Projection, key: string | number): JsonObject | null {
  run.path.push(key);
  const result = shape(value, run);
  run.path.pop();
  return result;
}
