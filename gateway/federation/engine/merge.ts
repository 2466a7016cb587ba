import { isObject, type JsonObject } from "./subgraph-executor.ts";

/**
 * Merges the result of one subgraph into those of others. Lists are merged by position. A null never replaces a
 * value: the other subgraph had the data.
 */
export function mergeInto(target: JsonObject, source: JsonObject): void {
  for (const key in source) {
    const before = target[key];
    const after = source[key];
    if (before === undefined || before === null) target[key] = after;
    else if (typeof before === "object") mergeValue(before, after);
    else if (after !== null && after !== undefined) target[key] = after;
  }
}

function mergeValue(before: object, after: unknown): void {
  if (Array.isArray(before)) {
    if (Array.isArray(after)) mergeList(before, after);
  } else if (isObject(after)) mergeInto(before as JsonObject, after);
}

function mergeList(target: unknown[], source: readonly unknown[]): void {
  for (let index = 0; index < source.length; index++) {
    const before = target[index];
    if (typeof before === "object" && before !== null) mergeValue(before, source[index]);
    else target[index] = source[index] ?? before ?? null;
  }
}

/**
 * A deep copy of JSON. An entity in several places gets one copy for each: later fetches may write different values
 * under one alias in different places.
 */
export function copyJson<T>(value: T): T;
export function copyJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => copyJson(item));
  if (!isObject(value)) return value;
  const copy: JsonObject = {};
  for (const key in value) copy[key] = copyJson(value[key]);
  return copy;
}
