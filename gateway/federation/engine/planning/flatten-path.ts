import type { PathSegment } from "../planner.ts";
import type { JsonObject, ResponsePath } from "../subgraph-executor.ts";
import { satisfies, type TypeIndex } from "./type-index.ts";

/** The places in the data that a Flatten node refers to. */
export interface FlattenPath {
  /** Calls `visit` with every object at the path. */
  visit(data: JsonObject, visit: (entity: JsonObject) => void): void;
  /** The same walk, with the path of every object: for errors only, as it allocates a list for each. */
  trace(data: JsonObject, visit: (entity: JsonObject, path: ResponsePath) => void): void;
}

type Step = { readonly field: string } | { readonly types: ReadonlySet<string> };
type Visit = (entity: JsonObject, path: ResponsePath | undefined) => void;

/** Compiles a path. Lists are traversed wherever they occur, so `@` needs no step. */
export function compileFlattenPath(path: readonly PathSegment[], types: TypeIndex): FlattenPath {
  const steps = path.filter((segment) => segment !== "@").map((segment) => toStep(segment, types));
  return {
    visit: (data, visit) => walk(steps, data, 0, undefined, visit),
    trace: (data, visit) => walk(steps, data, 0, [], (entity, at) => visit(entity, at?.slice() ?? [])),
  };
}

function toStep(segment: Exclude<PathSegment, "@">, types: TypeIndex): Step {
  if ("Field" in segment) return { field: segment.Field };
  return { types: types.satisfying(segment.TypeCondition) };
}

function walk(
  steps: readonly Step[],
  value: unknown,
  at: number,
  path: ResponsePath | undefined,
  visit: Visit,
): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      path?.push(index);
      walk(steps, value[index], at, path, visit);
      path?.pop();
    }
    return;
  }
  const entity = value as JsonObject;
  const step = steps[at];
  if (!step) visit(entity, path);
  else if ("field" in step) {
    path?.push(step.field);
    walk(steps, entity[step.field], at + 1, path, visit);
    path?.pop();
  } else if (satisfies(entity.__typename, step.types)) walk(steps, entity, at + 1, path, visit);
}
