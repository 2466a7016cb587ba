import { buildSchema, findBreakingChanges, findDangerousChanges } from "graphql";

/** The effects of a change of the public schema on clients written for the previous version. */
export type SchemaChanges = {
  /** A client that worked is refused or gets a different result. */
  readonly breaking: readonly string[];
  /** A client that worked may be surprised: by a new enum value, or by a new default. */
  readonly dangerous: readonly string[];
};

/** Compares two versions of the public schema. */
export function compareSchemas(before: string, after: string): SchemaChanges {
  const [old, fresh] = [buildSchema(before), buildSchema(after)];
  const describe = (change: { readonly type: string; readonly description: string }) =>
    `${change.type}: ${change.description}`;
  return {
    breaking: findBreakingChanges(old, fresh).map(describe).sort(),
    dangerous: findDangerousChanges(old, fresh).map(describe).sort(),
  };
}
