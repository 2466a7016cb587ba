import { type DocumentNode, GraphQLError, visit } from "graphql";
import type { Denied } from "./guards.ts";

/** An operation that the engine does not run, for a reason that its author can mend. */
export function refusal(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "graphql_refused" } });
}

/** A subscription to a field that who asks is not given. */
export function denial(denied: Denied): GraphQLError {
  for (const [{ alias, name }, { code, message }] of denied)
    return new GraphQLError(message, { path: [(alias ?? name).value], extensions: { code } });
  return refusal("A subscription has a field that is followed.");
}

/**
 * Throws for what is valid GraphQL and yet not answered here: incremental delivery, which the planner would
 * silently plan away, and response keys that name members of every JavaScript object.
 */
export function refuseUnsupported(document: DocumentNode): void {
  visit(document, {
    Directive({ name }) {
      if (name.value === "defer" || name.value === "stream") {
        throw refusal(`@${name.value} is not supported: results are delivered whole.`);
      }
    },
    Field({ alias, name }) {
      const key = (alias ?? name).value;
      if (key in Object.prototype) throw refusal(`"${key}" cannot be a response key.`);
    },
  });
}
