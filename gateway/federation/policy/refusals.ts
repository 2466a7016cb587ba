import { GraphQLError, type GraphQLFormattedError, type OperationDefinitionNode, type Source } from "graphql";

const INTERNAL = { message: "Something went wrong on our side.", code: "internal_error" } as const;

/** Where in a document something was found: clients receive its line and column. */
export type Place = { readonly source: Source; readonly positions: readonly number[] };

/** The error for an operation refused before it runs. `limit` names the exceeded limit. */
export function refuse(
  message: string,
  details: Readonly<Record<string, unknown>> = {},
  place?: Place,
): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "graphql_refused", ...details }, ...place });
}

/** The error for an operation that exceeds a limit. */
export function tooMuch(limit: string, found: number | undefined, most: number, place?: Place): GraphQLError {
  const words = limit.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const amount = found !== undefined && Number.isSafeInteger(found) ? `: it has ${found}` : "";
  return refuse(`This operation exceeds the limit of ${most} for ${words}${amount}.`, { limit, most }, place);
}

/** The error for a subscription sent for a single response, which belongs on a streaming transport. */
export function refuseSubscription(operation: OperationDefinitionNode | undefined): GraphQLError | undefined {
  if (operation?.operation !== "subscription") return undefined;
  return refuse(
    "Subscribe over graphql-transport-ws at /graphql, over server-sent events at /graphql/stream, or with " +
      "`accept: multipart/mixed;subscriptionSpec=1.0`.",
  );
}

/** An error as clients see it: never a stack, and no text of an unexpected error, which is only in the log. */
export function showError(formatted: GraphQLFormattedError): GraphQLFormattedError {
  const { stacktrace: _hidden, ...extensions } = formatted.extensions ?? {};
  const { code } = extensions;
  if (code !== undefined && code !== "INTERNAL_SERVER_ERROR" && code !== INTERNAL.code)
    return { ...formatted, extensions };
  const shown = { message: INTERNAL.message, extensions: { code: INTERNAL.code } };
  return formatted.path ? { ...shown, path: formatted.path } : shown;
}
