import {
  type DocumentNode,
  type GraphQLAbstractType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNullableType,
  isEnumType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type OperationDefinitionNode,
} from "graphql";
import {
  BROKEN,
  type Complete,
  completeDenied,
  completeEnum,
  completeList,
  completeNonNull,
  completeUnknownTypename,
  type Projection,
  violate,
} from "./completion.ts";
import {
  collectFields,
  type Selected,
  type SelectedField,
  type Selecting,
} from "./document/collect-fields.ts";
import type { Condition } from "./document/conditions.ts";
import { readFragments } from "./document/fragments.ts";
import type { Denied } from "./guards.ts";
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

/** Compiles the shape of an operation, which must be valid against the public `schema`; `denied` fields are null. */
export function compileProjection(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  denied: Denied,
): Project {
  const fragments = readFragments(document);
  const root = schema.getRootType(operation.operation);
  if (!root) throw new Error(`the schema has no ${operation.operation} type`);
  return compileShape({ schema, fragments, denied }, root, [
    { set: operation.selectionSet, condition: undefined },
  ]);
}

function compileShape(
  compiler: Compiler,
  type: GraphQLObjectType | GraphQLInterfaceType,
  selected: readonly Selected[],
): Shape {
  const fields = collectFields(compiler, type, selected).flatMap((field) => {
    const shaped = {
      key: field.key,
      dataKey: field.kind === "data" ? field.dataKey : field.key,
      complete: compileField(compiler, type, field),
    };
    return placesOf(field).map((place, at) => ({ ...shaped, ...place, isRepeated: at > 0 }));
  });
  fields.sort((first, second) => first.position - second.position);
  return (source, run) => shape(fields, source, run);
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
  type: GraphQLObjectType | GraphQLInterfaceType,
  field: SelectedField,
): Complete {
  if (field.kind === "introspection") return (value) => value;
  if (field.kind === "typename") return isObjectType(type) ? () => type.name : completeUnknownTypename(type);
  if (field.denial) return completeDenied(field.denial, !isNonNullType(field.type));
  return compileValue(compiler, field.type, field.selected, `${type.name}.${field.name}`);
}

function compileValue(
  compiler: Compiler,
  type: GraphQLOutputType,
  selected: readonly Selected[],
  field: string,
): Complete {
  if (isNonNullType(type)) {
    return completeNonNull(compileValue(compiler, getNullableType(type), selected, field), field);
  }
  if (isListType(type)) return completeList(compileValue(compiler, type.ofType, selected, field), field);
  if (isEnumType(type)) return completeEnum(type);
  if (isLeafType(type)) return (value) => value ?? null;
  return isObjectType(type)
    ? completeObject(compiler, type, selected)
    : completeAbstract(compiler, type, selected);
}

function completeObject(
  compiler: Compiler,
  type: GraphQLObjectType,
  selected: readonly Selected[],
): Complete {
  let shape: Shape | undefined;
  return (value, run, key) => {
    if (value === null || value === undefined) return null;
    if (!isObject(value)) return violate(run, key, `The value of type ${type.name} is not an object.`);
    shape ??= compileShape(compiler, type, selected);
    return shapeAt(shape, value, run, key);
  };
}

function completeAbstract(
  compiler: Compiler,
  type: GraphQLAbstractType,
  selected: readonly Selected[],
): Complete {
  const shapes = new Map<unknown, Shape | undefined>();
  const compile = (typename: unknown) => {
    const runtime = typeof typename === "string" ? compiler.schema.getType(typename) : type;
    const known = isObjectType(runtime) || isInterfaceType(runtime);
    return known ? compileShape(compiler, runtime, selected) : undefined;
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
