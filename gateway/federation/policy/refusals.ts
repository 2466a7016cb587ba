import { GraphQLError, type GraphQLFormattedError, type OperationDefinitionNode } from "graphql";

const INTERNAL = { message: "Something went wrong on our side.", code: "internal_error" } as const;

/** A refusal before anything is asked. `limit` names what was too much. */
export function refuse(message: string, details: Readonly<Record<string, unknown>> = {}): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "graphql_refused", ...details } });
}

/** An operation that is over a limit. */
export function tooMuch(limit: string, found: number | undefined, most: number): GraphQLError {
  const words = limit.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const amount = found !== undefined && Number.isSafeInteger(found) ? `${found}, and ` : "above ";
  return refuse(`The ${words} of this operation is too much: ${amount}${most} is the most.`, { limit, most });
}

/** A subscription is not answered by one response: it goes to the streams. */
export function refuseSubscription(operation: OperationDefinitionNode | undefined): GraphQLError | undefined {
  if (operation?.operation !== "subscription") return undefined;
  return refuse(
    "Subscribe over graphql-transport-ws at /graphql, over server-sent events at /graphql/stream, or with " +
      "`accept: multipart/mixed;subscriptionSpec=1.0`.",
  );
}

/**
 * What a client sees of an error: never a stack, and no text of an unexpected error. Whoever runs the gateway
 * finds that in the log.
 */
export function showError(formatted: GraphQLFormattedError): GraphQLFormattedError {
  const { stacktrace: _hidden, ...extensions } = formatted.extensions ?? {};
  const { code } = extensions;
  if (code !== undefined && code !== "INTERNAL_SERVER_ERROR" && code !== INTERNAL.code)
    return { ...formatted, extensions };
  const shown = { message: INTERNAL.message, extensions: { code: INTERNAL.code } };
  return formatted.path ? { ...shown, path: formatted.path } : shown;
}
