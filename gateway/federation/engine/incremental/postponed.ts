import type { GraphQLError } from "graphql";
import type { ResponsePath } from "../subgraph-executor.ts";

/** Whether the object or list that was completed is in a result: an error may have replaced an outer object by null. */
export function isReached(data: unknown, path: Readonly<ResponsePath>): boolean {
  let at = data;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return false;
    at = (at as Readonly<Record<string | number, unknown>>)[key];
  }
  return typeof at === "object" && at !== null;
}

/** Whether an error is of what is at a place, or below it. */
export function isBelow(error: GraphQLError, place: Readonly<ResponsePath>): boolean {
  const { path } = error;
  return path !== undefined && place.every((key, at) => path[at] === key);
}

/** Whether the field with an error is in data, or within a null there; `depth` keys of its path lead to the data. */
export function explainsNull(error: GraphQLError, data: unknown, depth: number): boolean {
  let at = data;
  for (const key of error.path?.slice(depth) ?? []) {
    if (typeof at !== "object" || at === null) return true;
    if (!Object.hasOwn(at, key)) return false;
    at = (at as Readonly<Record<string | number, unknown>>)[key];
  }
  return true;
}
