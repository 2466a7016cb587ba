import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient as createSseClient } from "graphql-sse";
import { createClient as createSocketClient, type Client as SocketClient } from "graphql-ws";
import { WebSocket } from "ws";

/** A subscription for a client, and callbacks for what the client receives. */
export type Followed = {
  readonly origin: string;
  readonly secret: string;
  readonly query: string;
  /** Read again at each connection, so that a getter may return the last cursor. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The number of retries of an SSE client, also after a refusal. */
  readonly reconnects?: number;
  readonly onData: (data: unknown) => void;
  /** Errors of a result, or the reason why the subscription ended. */
  readonly onFailure?: (reason: unknown) => void;
  readonly onComplete?: () => void;
};

/** Follows a subscription with a client library; the returned function ends it. */
export type FollowBy = (followed: Followed) => () => unknown;

/** A result as links and network layers pass it on. */
export type ClientResult = { readonly data?: unknown; readonly errors?: unknown };

const RECONNECT_MS = 20;
/** Ten seconds of attempts. */
const MAX_RECONNECTS = 500;

export const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

/** A sink that passes data and errors of results to the application. */
export function sinkOf({ onData, onFailure, onComplete }: Followed) {
  return {
    next: ({ data, errors }: ClientResult) => {
      if (errors) onFailure?.(errors);
      if (data) onData(data);
    },
    error: (reason: unknown) => onFailure?.(reason),
    complete: () => onComplete?.(),
  };
}

/**
 * graphql-ws's client, which reconnects after a cut. A socket that is closed with a code of 4400 to 4499 is
 * not reopened.
 */
export function openSocketClient({ origin, secret }: Followed): SocketClient {
  return createSocketClient({
    url: `${origin.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: bearer(secret),
    retryAttempts: MAX_RECONNECTS,
    retryWait: () => sleep(RECONNECT_MS),
    shouldRetry: (reason) => Math.floor(Number(Object(reason).code) / 100) !== 44,
  });
}

/** graphql-sse's client, which reconnects after a cut. */
export function openEventClient(
  { origin, secret, reconnects = MAX_RECONNECTS }: Followed,
  singleConnection: boolean,
): Client<boolean> {
  return createSseClient<boolean>({
    url: `${origin}/graphql/stream`,
    singleConnection,
    headers: bearer(secret),
    retryAttempts: reconnects,
    retry: () => sleep(RECONNECT_MS),
  });
}

/**
 * The error codes in a failure of any of the clients: those of GraphQL errors, else that of the closed
 * socket, or the status of the response.
 */
export function codesOf(reason: unknown): readonly string[] {
  const { errors, graphQLErrors, source, code, response, statusCode, networkError } = Object(reason);
  const lists: readonly unknown[] = [reason, errors, graphQLErrors, source?.errors].filter(Array.isArray);
  const codes = lists.flat().map((error) => String(Object(error).extensions?.code));
  if (codes.length > 0) return codes;
  if (networkError !== undefined) return codesOf(networkError);
  const number = [code, statusCode, response?.status].find((found) => typeof found === "number");
  // Apollo Client gives the code of a close within a sentence.
  const [, closed] = /^Error: Socket closed with event (\d+)/.exec(String(reason)) ?? [];
  return [String(number ?? closed ?? reason)];
}
