import type { GraphQLEnumType, GraphQLInterfaceType } from "graphql";
import type { Denial } from "./guards.ts";
import type { JsonObject, ResponsePath } from "./subgraph-executor.ts";
import type { Violation } from "./violations.ts";

/** One run of a projection. `path` is the place that is being looked at. */
export type Projection = {
  readonly variables: Readonly<JsonObject>;
  readonly path: ResponsePath;
  readonly violations: Violation[];
  /** Only root fields that were asked for already are looked at. */
  readonly isPartial?: boolean;
};

/** Shapes one value. `BROKEN` is a null where none may be: whoever holds the value becomes null. */
export type Complete = (value: unknown, run: Projection, key: string | number) => unknown;

/** The mark of a null where none may be. */
export const BROKEN = Symbol("null in a place that is not nullable");

/** A value that may not be null. */
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

/** A list, whose items are completed one by one until one breaks. */
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

/** A value of the enum that only subgraphs may know becomes null, and its name stays here. */
export function completeEnum(type: GraphQLEnumType): Complete {
  const known = new Set<unknown>(type.getValues().map((value) => value.name));
  return (value, run, key) => {
    if (value === null || value === undefined || known.has(value)) return value ?? null;
    return violate(run, key, `Enum ${type.name} cannot represent this value.`);
  };
}

/** A field that its guard does not give to who asks. */
export function completeDenied(denial: Denial, isNullable: boolean): Complete {
  return (_, run, key) => {
    run.violations.push({ ...denial, path: [...run.path, key] });
    return isNullable ? null : BROKEN;
  };
}

/** Only an interface object that no other subgraph told the type of comes here. */
export function completeUnknownTypename(type: GraphQLInterfaceType): Complete {
  return (_, run, key) => {
    run.violations.push({
      path: [...run.path, key],
      message: `The type of this ${type.name} is not known.`,
    });
    return BROKEN;
  };
}

/** Puts null in the place of a value that the public schema does not know, and says so. */
export function violate(run: Projection, key: string | number, message: string): null {
  run.violations.push({ path: [...run.path, key], message });
  return null;
}
