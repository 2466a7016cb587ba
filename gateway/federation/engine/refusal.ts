import { type DocumentNode, GraphQLError } from "graphql";
import { contentsOf } from "./document/contents.ts";
import type { Denied } from "./guards.ts";

/** The error for an operation that the engine refuses, for a reason that its author can fix. */
export function refusal(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "graphql_refused" } });
}

/** The error for a subscription to a field that is denied to the caller. */
export function denial(denied: Denied): GraphQLError {
  for (const [{ alias, name }, { code, message }] of denied)
    return new GraphQLError(message, { path: [(alias ?? name).value], extensions: { code } });
  return refusal("A subscription must have a root field.");
}

/** The error for valid GraphQL that is not supported: names that are members of every JavaScript object. */
export function findUnsupported(document: DocumentNode): GraphQLError | undefined {
  const { responseKeys, variables } = contentsOf(document);
  for (const name of variables)
    if (name in Object.prototype) return refusal(`"$${name}" cannot be a variable.`);
  for (const key of responseKeys)
    if (key in Object.prototype) return refusal(`"${key}" cannot be a response key.`);
  return undefined;
}
