import {
  bearer,
  type FollowBy,
  type Followed,
  openEventClient,
  openSocketClient,
  sinkOf,
} from "../followed.ts";
import { APOLLO_CLIENTS } from "./apollo-clients.ts";
import { RELAY_CLIENTS } from "./relay-clients.ts";

type Urql = {
  createClient(options: object): {
    subscription(
      query: string,
      variables: object,
    ): { subscribe(onResult: (result: UrqlResult) => void): { unsubscribe(): void } };
  };
  readonly fetchExchange: unknown;
  subscriptionExchange(options: {
    forwardSubscription(operation: { readonly query?: string }): {
      subscribe(sink: never): { unsubscribe(): void };
    };
  }): unknown;
};
type UrqlResult = { readonly data?: unknown; readonly error?: unknown; readonly hasNext: boolean };
/**
 * By a name that the compiler does not follow: React's types come with urql's, and would change those of the
 * browser.
 */
const URQL: string = "urql";
const { createClient: createUrqlClient, fetchExchange, subscriptionExchange } = (await import(URQL)) as Urql;

/** The installed streaming clients, each on every transport that it shares with the graph. */
export const STREAMING_CLIENTS: Readonly<Record<string, FollowBy>> = {
  "graphql-ws": (followed) => {
    const client = openSocketClient(followed);
    client.subscribe(payloadOf(followed), sinkOf(followed));
    return () => client.dispose();
  },
  "graphql-sse, a connection for each operation": (followed) => followEvents(followed, false),
  "graphql-sse, one connection": (followed) => followEvents(followed, true),
  "urql over a socket": (followed) => {
    const client = openSocketClient(followed);
    const urql = createUrqlClient({
      url: `${followed.origin}/graphql`,
      exchanges: [
        subscriptionExchange({
          forwardSubscription: ({ query = "" }) => ({
            subscribe: (sink) => ({
              unsubscribe: client.subscribe({ ...payloadOf(followed), query }, sink),
            }),
          }),
        }),
      ],
    });
    const stop = followUrql(urql, followed);
    return () => {
      stop();
      return client.dispose();
    };
  },
  "urql over server-sent events": (followed) => followUrqlEvents(followed, "/graphql"),
  "urql over server-sent events at /graphql/stream": (followed) =>
    followUrqlEvents(followed, "/graphql/stream"),
  ...APOLLO_CLIENTS,
  ...RELAY_CLIENTS,
};

function payloadOf({ query, variables = {} }: Followed) {
  return { query, variables };
}

function followEvents(followed: Followed, singleConnection: boolean) {
  const client = openEventClient(followed, singleConnection);
  client.subscribe(payloadOf(followed), sinkOf(followed));
  return () => client.dispose();
}

function followUrqlEvents(followed: Followed, path: string): () => void {
  const urql = createUrqlClient({
    url: followed.origin + path,
    preferGetMethod: false,
    fetchSubscriptions: true,
    fetchOptions: { headers: bearer(followed.secret) },
    exchanges: [fetchExchange],
  });
  return followUrql(urql, followed);
}

/** The last result is repeated to signal the end. */
function followUrql(urql: ReturnType<Urql["createClient"]>, followed: Followed): () => void {
  const { query, variables = {}, onData, onFailure, onComplete } = followed;
  let last: Partial<UrqlResult> = {};
  return urql.subscription(query, variables).subscribe((result) => {
    const { data, error, hasNext } = result;
    if (error && error !== last.error) onFailure?.(error);
    if (!error && data && data !== last.data) onData(data);
    if (!hasNext) onComplete?.();
    last = result;
  }).unsubscribe;
}
