import type { Rewrite, RewriteSegment } from "../planner.ts";
import type { JsonObject, ResponsePath } from "../subgraph-executor.ts";
import { satisfies, type TypeIndex } from "./type-index.ts";

/** The planner's changes to data sent to or received from a subgraph, compiled. */
export interface Rewrites {
  /** Applies the changes in place. */
  apply(value: JsonObject): void;
  /** Converts a path of the subgraph's result to the path after its keys are renamed. */
  rename(path: readonly (string | number)[]): ResponsePath;
}

type Step = { readonly key: string } | { readonly types: ReadonlySet<string> };
type Change = { readonly steps: readonly Step[]; readonly setTo?: string; readonly renameTo?: string };

/** Compiles a list of changes; undefined for an empty list, which is the common case. */
export function compileRewrites(
  rewrites: readonly Rewrite[] | null | undefined,
  types: TypeIndex,
): Rewrites | undefined {
  if (!rewrites || rewrites.length === 0) return undefined;
  const changes = rewrites.map((rewrite) => toChange(rewrite, types));
  return {
    apply(value) {
      for (const change of changes) applyAt(change, value, 0);
    },
    rename(path) {
      const renamed = [...path];
      for (const change of changes) renameIn(change, path, renamed);
      return renamed;
    },
  };
}

function toChange(rewrite: Rewrite, types: TypeIndex): Change {
  const toSteps = (path: readonly RewriteSegment[]) =>
    path.map((segment) =>
      "Key" in segment ? { key: segment.Key } : { types: types.satisfying(segment.TypenameEquals) },
    );
  if ("KeyRenamer" in rewrite) {
    return { steps: toSteps(rewrite.KeyRenamer.path), renameTo: rewrite.KeyRenamer.renameKeyTo };
  }
  const setter = "ValueSetter" in rewrite ? rewrite.ValueSetter : rewrite;
  return { steps: toSteps(setter.path), setTo: setter.setValueTo };
}

function applyAt(change: Change, value: unknown, at: number): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) applyAt(change, item, at);
    return;
  }
  const object = value as JsonObject;
  const step = change.steps[at];
  if (!step) return;
  if ("types" in step) {
    if (satisfies(object.__typename, step.types)) applyAt(change, object, at + 1);
  } else if (at < change.steps.length - 1) applyAt(change, object[step.key], at + 1);
  else if (change.setTo !== undefined) object[step.key] = change.setTo;
  else if (change.renameTo !== undefined) renameKey(object, step.key, change.renameTo);
}

function renameKey(object: JsonObject, from: string, to: string): void {
  if (from === to || !(from in object)) return;
  object[to] = object[from];
  delete object[from];
}

/** An error path contains no types; the planner's aliases are unique, so the keys are sufficient. */
function renameIn(change: Change, path: readonly (string | number)[], renamed: ResponsePath): void {
  if (change.renameTo === undefined) return;
  const keys = change.steps.filter((step) => "key" in step).map((step) => step.key);
  let matched = 0;
  for (const [index, segment] of path.entries()) {
    if (typeof segment === "number") continue;
    if (segment !== keys[matched]) return;
    matched += 1;
    if (matched < keys.length) continue;
    renamed[index] = change.renameTo;
    return;
  }
}
