import type { GraphQLEnumType, GraphQLInterfaceType } from "graphql";
import type { Denial } from "./guards.ts";
import type { JsonObject, ResponsePath } from "./subgraph-executor.ts";
import type { Violation } from "./violations.ts";

/** One run of a projection. `path` is the current position in the result. */
export type Projection = {
  readonly variables: Readonly<JsonObject>;
  readonly path: ResponsePath;
  readonly violations: Violation[];
  /** Only root fields that were already fetched are completed. */
  readonly isPartial?: boolean;
};

/** Completes one value. `BROKEN` is a null in a non-nullable position: the parent becomes null. */
export type Complete = (value: unknown, run: Projection, key: string | number) => unknown;

/** Marks a null in a non-nullable position. */
export const BROKEN = Symbol("null in a place that is not nullable");

/** Completes a non-nullable value. */
export function completeNonNull(complete: Complete, field: string): Complete {
  return (value, run, key) => {
    const result = complete(value, run, key);
    if (result !== null) return result;
    if (value === null || value === undefined) {
      const message = `Cannot return null for non-nullable field ${field}.`;
      run.violations.push({ path: [...run.path, key], message });
    }
    return BROKEN;
  };
}

/** Completes a list item by item, until an item breaks it. */
export function completeList(complete: Complete, field: string): Complete {
  return (value, run, key) => {
    if (value === null || value === undefined) return null;
    if (!Array.isArray(value)) return violate(run, key, `The value of ${field} is not a list.`);
    const result: unknown[] = new Array(value.length);
    let broken = false;
    run.path.push(key);
    for (let index = 0; index < value.length && !broken; index++) {
      result[index] = complete(value[index], run, index);
      broken = result[index] === BROKEN;
    }
    run.path.pop();
    return broken ? null : result;
  };
}

/** An enum value that is not in the public schema becomes null, and its name stays private. */
export function completeEnum(type: GraphQLEnumType): Complete {
  const known = new Set<unknown>(type.getValues().map((value) => value.name));
  return (value, run, key) => {
    if (value === null || value === undefined || known.has(value)) return value ?? null;
    return violate(run, key, `Enum ${type.name} cannot represent this value.`);
  };
}

/** Completes a field that its guard denies to the caller. */
export function completeDenied(denial: Denial, isNullable: boolean): Complete {
  return (_, run, key) => {
    run.violations.push({ ...denial, path: [...run.path, key] });
    return isNullable ? null : BROKEN;
  };
}

/** Reached only by an interface object whose type no other subgraph resolved. */
export function completeUnknownTypename(type: GraphQLInterfaceType): Complete {
  return (_, run, key) => {
    run.violations.push({
      path: [...run.path, key],
      message: `The type of this ${type.name} is unknown.`,
    });
    return BROKEN;
  };
}

/** Replaces a value that the public schema does not allow by null, and records the violation. */
export function violate(run: Projection, key: string | number, message: string): null {
  run.violations.push({ path: [...run.path, key], message });
  return null;
}
