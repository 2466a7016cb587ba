import { GraphQLError } from "graphql";
import type { RefusalReason } from "./refused-operations.ts";

const MESSAGES: Readonly<Record<RefusalReason, string>> = {
  crashed: "The query planner cannot plan this operation. Write it in another way, or split it.",
  failed: "The query planner cannot plan this operation. Write it in another way, or split it.",
  deadline: "Planning this operation takes too long. Split it into smaller operations.",
  too_large: "The plan of this operation is too large. Split it into smaller operations.",
};

/** An operation that is not planned: code `graphql_refused`, as its author can change it. */
export function planRefused(reason: RefusalReason): GraphQLError {
  return new GraphQLError(MESSAGES[reason], { extensions: { code: "graphql_refused" } });
}

/** New operations arrive faster than they can be planned: code `unavailable`. */
export function plannerBusy(): GraphQLError {
  return unavailable("Too many new operations at once. Try again later.");
}

/** The planner is restarting, or shutting down with the gateway: code `unavailable`. */
export function plannerUnavailable(): GraphQLError {
  return unavailable("The query planner is not available. Try again later.");
}

function unavailable(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "unavailable" } });
}
