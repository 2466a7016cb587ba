import type { GraphQLEnumType, GraphQLInterfaceType, InlineFragmentNode } from "graphql";
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
  /** Receives what is delivered later; without it, nothing is left out but deferred fragments. */
  readonly postponed?: Postponed[];
};

/** What a projection left out, to be delivered later. Paths are those of the client. */
export type Postponed =
  | {
      readonly kind: "fragment";
      readonly fragment: InlineFragmentNode;
      readonly path: ResponsePath;
      readonly label: string | undefined;
      /** Completes the fragment at its path. Null if a null reaches the object around it. */
      readonly project: (run: Projection) => JsonObject | null;
    }
  | {
      readonly kind: "list";
      readonly path: ResponsePath;
      readonly label: string | undefined;
      readonly items: readonly unknown[];
      /** The index of the next item. */
      readonly at: number;
      readonly complete: Complete;
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

/** How a list is streamed: its label, and how many items are completed at once. */
export type Streaming = {
  readonly label: string | undefined;
  readonly initialCount: (variables: Readonly<JsonObject>) => number;
};

/** Completes the first items of a list and postpones the others. */
export function completeStreamed(complete: Complete, field: string, streaming: Streaming): Complete {
  const completeAll = completeList(complete, field);
  return (value, run, key) => {
    const count = streaming.initialCount(run.variables);
    if (!Array.isArray(value) || !run.postponed || value.length <= count) return completeAll(value, run, key);
    const first = completeAll(value.slice(0, count), run, key);
    const { label } = streaming;
    if (first !== null)
      run.postponed.push({
        ...{ kind: "list", path: [...run.path, key], label },
        ...{ items: value, at: count, complete },
      });
    return first;
  };
}

/** Completes a value of which a part was delivered before: an error in the rest must not replace that part by null. */
export function completeDelivered(complete: Complete): Complete {
  return (value, run, key) => {
    const result = complete(value, run, key);
    return result === null && value !== null && value !== undefined ? BROKEN : result;
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
