import { buildSchema, findBreakingChanges, findDangerousChanges } from "graphql";
import { deprecationsIn } from "./schema-lint/deprecations.ts";

/** The effects of a change of the public schema on clients written for the previous version. */
export type SchemaChanges = {
  /** A client that worked is refused or gets a different result. */
  readonly breaking: readonly string[];
  /** What was deprecated, and is removed before the day that its deprecation names. Nothing allows this. */
  readonly early: readonly string[];
  /** A client that worked may be surprised: by a new enum value, or by a new default. */
  readonly dangerous: readonly string[];
};

/** Compares two versions of the public schema, as of a day (YYYY-MM-DD). */
export function compareSchemas(
  before: string,
  after: string,
  today = new Date().toISOString().slice(0, 10),
): SchemaChanges {
  const [old, fresh] = [buildSchema(before), buildSchema(after)];
  const kept = new Set(deprecationsIn(fresh).map(({ path }) => path));
  const early = deprecationsIn(old)
    .filter(({ path, removedOn = "9999" }) => !kept.has(path) && removedOn > today)
    .map(({ path, removedOn }) => `REMOVED_EARLY: ${path} stays deprecated until ${removedOn}.`);
  const describe = (change: { readonly type: string; readonly description: string }) =>
    `${change.type}: ${change.description}`;
  return {
    early,
    breaking: findBreakingChanges(old, fresh).map(describe).sort(),
    dangerous: findDangerousChanges(old, fresh).map(describe).sort(),
  };
}
