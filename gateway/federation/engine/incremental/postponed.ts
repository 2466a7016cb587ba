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
