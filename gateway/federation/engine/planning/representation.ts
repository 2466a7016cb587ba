import type { RequiredSelection } from "../planner.ts";
import { isObject, type JsonObject } from "../subgraph-executor.ts";
import type { TypeIndex } from "./type-index.ts";

/**
 * Creates the representation of an entity; undefined when the entity lacks a required part, as after a failed fetch.
 * Parts that only some fields need may be missing: they are added to `missing`.
 */
export type Represent = (
  entity: JsonObject,
  variables: Readonly<JsonObject>,
  missing: string[],
) => JsonObject | undefined;

/** The parts of a type's representation that only some of its fields need. */
export type OptionalParts = (type: string) => ReadonlySet<string>;

/** Copies one part of an entity. Returns false when the part is missing. */
type Copy = (
  entity: JsonObject,
  into: JsonObject,
  variables: Readonly<JsonObject>,
  missing: string[],
) => boolean;

/** Compiles the planner's `requires`. A null part is sent as null: `@requires` may include it. */
export function compileRepresentation(
  selections: readonly RequiredSelection[],
  types: TypeIndex,
  optionalOf: OptionalParts,
): Represent {
  const copy = all(
    selections.map((selection) =>
      selection.kind === "InlineFragment"
        ? copyFragment(selection, types, optionalOf(selection.typeCondition))
        : copyOne(selection, types),
    ),
  );
  return (entity, variables, missing) => {
    const representation: JsonObject = {};
    if (!copy(entity, representation, variables, missing)) return undefined;
    if (representation.__typename === undefined) return undefined;
    for (const key in representation) {
      if (key !== "__typename" && representation[key] !== null) return representation;
    }
    return undefined;
  };
}

/**
 * The identity of an entity: its key if it has a single one. Several keys are combined as JSON, which is the most
 * expensive operation per entity.
 */
export function compileIdentity(
  selections: readonly RequiredSelection[],
): (representation: JsonObject) => string {
  const keys = new Set(selections.flatMap(namesOfKeys));
  const [key] = keys;
  if (key === undefined || keys.size > 1) return (representation) => JSON.stringify(representation);
  return (representation) => {
    const value = representation[key];
    return typeof value === "object"
      ? JSON.stringify(representation)
      : `${representation.__typename} ${value}`;
  };
}

function namesOfKeys(selection: RequiredSelection): string[] {
  if (selection.kind === "InlineFragment") return selection.selections.flatMap(namesOfKeys);
  if (selection.kind === "FragmentSpread" || selection.name === "__typename") return [];
  return [selection.alias ?? selection.name];
}

function copyAll(
  selections: readonly RequiredSelection[],
  types: TypeIndex,
  optional?: ReadonlySet<string>,
): Copy {
  return all(
    selections.map((selection) => {
      const copy = copyOne(selection, types);
      if (selection.kind !== "Field" || !optional?.has(selection.name)) return copy;
      return unlessMissing(copy, selection.name, selection.alias ?? selection.name);
    }),
  );
}

function all(copies: readonly Copy[]): Copy {
  return (entity, into, variables, missing) => {
    for (const copy of copies) if (!copy(entity, into, variables, missing)) return false;
    return true;
  };
}

function unlessMissing(copy: Copy, name: string, key: string): Copy {
  return (entity, into, variables, missing) => {
    if (copy(entity, into, variables, missing)) return true;
    delete into[key];
    missing.push(name);
    return true;
  };
}

function copyOne(selection: RequiredSelection, types: TypeIndex): Copy {
  if (selection.kind === "Field") return copyField(selection, types);
  if (selection.kind === "InlineFragment") return copyFragment(selection, types);
  throw new Error(`the plan uses the undefined fragment ${selection.value}`);
}

function copyField(field: Extract<RequiredSelection, { kind: "Field" }>, types: TypeIndex): Copy {
  const { name } = field;
  const key = field.alias ?? name;
  if (!field.selections || field.selections.length === 0) {
    return (entity, into) => {
      const value = entity[name] === undefined ? entity[key] : entity[name];
      into[key] = value;
      return value !== undefined;
    };
  }
  const copy = copyAll(field.selections, types);
  return (entity, into, variables) => {
    const value = copyNested(entity[name] === undefined ? entity[key] : entity[name], copy, variables);
    into[key] = value;
    return value !== undefined;
  };
}

function copyNested(value: unknown, copy: Copy, variables: Readonly<JsonObject>): unknown {
  if (value === undefined || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => copyNested(item, copy, variables));
    return items.includes(undefined) ? undefined : items;
  }
  const into: JsonObject = {};
  return isObject(value) && copy(value, into, variables, []) ? into : undefined;
}

function copyFragment(
  fragment: Extract<RequiredSelection, { kind: "InlineFragment" }>,
  types: TypeIndex,
  optional?: ReadonlySet<string>,
): Copy {
  const names = types.satisfying([fragment.typeCondition]);
  const copy = copyAll(fragment.selections, types, optional);
  const { skipIf, includeIf } = fragment;
  return (entity, into, variables, missing) => {
    if (skipIf && variables[skipIf] === true) return true;
    if (includeIf && variables[includeIf] === false) return true;
    const typename = entity.__typename;
    if (typeof typename === "string")
      return names.has(typename) ? copy(entity, into, variables, missing) : true;
    // For an object without a type, several fragments may apply: each copies what it finds.
    copy(entity, into, variables, missing);
    return true;
  };
}
