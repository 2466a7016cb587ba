import { createClient as createSseClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import { WebSocket } from "ws";

/** What a client follows, and what it does with each result's data. */
export type Followed = {
  readonly origin: string;
  readonly secret: string;
  readonly query: string;
  readonly onData: (data: unknown) => void;
};

/** Follows a subscription by a client that applications use; the function returned ends it. */
export type FollowBy = (followed: Followed) => () => unknown;

type Urql = {
  createClient(options: object): {
    subscription(
      query: string,
      variables: object,
    ): { subscribe(onResult: (result: { readonly data?: unknown }) => void): { unsubscribe(): void } };
  };
  readonly fetchExchange: unknown;
  subscriptionExchange(options: {
    forwardSubscription(operation: { readonly query?: string }): {
      subscribe(sink: never): { unsubscribe(): void };
    };
  }): unknown;
};
/** By a name that the compiler does not follow: React's types come with urql's, and would change those of the browser. */
const URQL: string = "urql";
const { createClient: createUrqlClient, fetchExchange, subscriptionExchange } = (await import(URQL)) as Urql;

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const ignore = () => {};

/** The streaming clients that are installed, each on every transport that it has in common with the graph. */
export const STREAMING_CLIENTS: Readonly<Record<string, FollowBy>> = {
  "graphql-ws": ({ origin, secret, query, onData }) => {
    const client = openSocketClient(origin, secret);
    client.subscribe({ query }, { next: ({ data }) => onData(data), error: ignore, complete: ignore });
    return () => client.dispose();
  },
  "graphql-sse, a connection for each operation": (followed) => followEvents(followed, false),
  "graphql-sse, one connection": (followed) => followEvents(followed, true),
  "urql over a socket": ({ origin, secret, query, onData }) => {
    const client = openSocketClient(origin, secret);
    const urql = createUrqlClient({
      url: `${origin}/graphql`,
      exchanges: [
        subscriptionExchange({
          forwardSubscription: ({ query: text = "" }) => ({
            subscribe: (sink) => ({
              unsubscribe: client.subscribe({ query: text }, sink),
            }),
          }),
        }),
      ],
    });
    const { unsubscribe } = urql.subscription(query, {}).subscribe(({ data }) => data && onData(data));
    return () => {
      unsubscribe();
      return client.dispose();
    };
  },
  "urql over server-sent events": ({ origin, secret, query, onData }) => {
    const urql = createUrqlClient({
      url: `${origin}/graphql/stream`,
      preferGetMethod: false,
      fetchSubscriptions: true,
      fetchOptions: { headers: bearer(secret) },
      exchanges: [fetchExchange],
    });
    return urql.subscription(query, {}).subscribe(({ data }) => data && onData(data)).unsubscribe;
  },
  "a multipart reader that waits for the end of each part": followMultipart,
};

function openSocketClient(origin: string, secret: string) {
  return createSocketClient({
    url: `${origin.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: bearer(secret),
  });
}

function followEvents({ origin, secret, query, onData }: Followed, singleConnection: boolean) {
  const client = createSseClient({
    url: `${origin}/graphql/stream`,
    singleConnection,
    headers: bearer(secret),
  } as Parameters<typeof createSseClient>[0]);
  client.subscribe({ query }, { next: ({ data }) => onData(data), error: ignore, complete: ignore });
  return () => client.dispose();
}

/** Reads as Apollo Client does: a part counts when the boundary behind it has come. */
function followMultipart({ origin, secret, query, onData }: Followed) {
  const leaving = new AbortController();
  const read = async () => {
    const { body } = await fetch(`${origin}/graphql`, {
      method: "POST",
      signal: leaving.signal,
      headers: {
        ...bearer(secret),
        "content-type": "application/json",
        accept: "multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json",
      },
      body: JSON.stringify({ query }),
    });
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of body ?? []) {
      const parts = (text + decoder.decode(chunk as Uint8Array, { stream: true })).split("\r\n--graphql");
      text = parts.pop() ?? "";
      for (const part of parts) {
        const json = part.split("\r\n\r\n")[1];
        const { payload } = json === undefined ? {} : JSON.parse(json);
        if (payload) onData(payload.data);
      }
    }
  };
  read().catch(ignore);
  return () => leaving.abort();
}
