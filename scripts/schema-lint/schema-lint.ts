import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSchema, type GraphQLSchema } from "graphql";
import { deprecationsAreDated } from "./deprecations.ts";
import * as lists from "./lists.ts";
import * as mutations from "./mutations.ts";
import * as naming from "./naming.ts";
import * as nodes from "./nodes.ts";
import * as nullability from "./nullability.ts";
import * as scalars from "./scalars.ts";
import { elementsAreSpeltAndDescribed } from "./spelling.ts";

/** A rule of schema/rules.md: the faults of a public schema, one sentence each, by coordinate. */
type SchemaRule = (schema: GraphQLSchema) => readonly string[];

/** The rules, in the order of schema/rules.md. */
export const SCHEMA_RULES: Readonly<Record<string, SchemaRule>> = {
  elementsAreSpeltAndDescribed,
  ...naming,
  ...mutations,
  ...nodes,
  ...nullability,
  ...lists,
  ...scalars,
  deprecationsAreDated,
};

/** The faults of a public schema by every rule. */
export function lintSchema(schema: GraphQLSchema): readonly string[] {
  return Object.values(SCHEMA_RULES).flatMap((rule) => rule(schema));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = lintSchema(
    buildSchema(readFileSync(new URL("../../schema/api.graphql", import.meta.url), "utf8")),
  );
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
}
