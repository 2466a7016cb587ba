import { type GraphQLSchema, getNamedType } from "graphql";
import { fieldsOf } from "./schema-walk.ts";

const PAGE = ["first", "after", "last", "before"];

/** What else a page may be given: whose list it is, and as of when a list is read that has versions. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  "Query.sealedKeys": ["to"],
  "Query.agentTokenHistory": ["contract", "tokenId"],
  "Query.kvEntries": ["streamId", "prefix", "prefixText", "version", "reverse"],
  "KvStream.entries": ["prefix", "prefixText", "version", "reverse"],
  "File.entries": ["path"],
  "DirectPath.fineTuningAccounts": ["version", "at"],
};

/** A page takes its place, `filter` and `orderBy`, and else only what names the list. */
export function listsAreFilteredByInputs(schema: GraphQLSchema): readonly string[] {
  return fieldsOf(schema)
    .filter(({ type }) => getNamedType(type).name.endsWith("Connection"))
    .flatMap(({ path, args }) => {
      const allowed = [...PAGE, "filter", "orderBy", ...(SUBJECTS[path] ?? [])];
      return args
        .filter(({ name }) => !allowed.includes(name))
        .map(({ name }) => `${path}(${name}) is a condition of a list: put it into its filter`);
    });
}

/** Every page takes all four arguments of a place. */
export function listsArePagedBothWays(schema: GraphQLSchema): readonly string[] {
  return fieldsOf(schema)
    .filter(({ type }) => getNamedType(type).name.endsWith("Connection"))
    .filter(({ args }) => !PAGE.every((page) => args.some(({ name }) => name === page)))
    .map(({ path }) => `${path} is a page without ${PAGE.join(", ")}`);
}
