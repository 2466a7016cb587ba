import { createClient as createSocket } from "graphql-ws";
import { useSyncExternalStore } from "react";
import { cacheExchange, createClient, fetchExchange, subscriptionExchange } from "urql";

/** One socket for all subscriptions. It is opened again for as long as it takes, unless the key is refused (4403). */
const socket = createSocket({
  url: new URL("/graphql", location.href).href.replace(/^http/, "ws"),
  keepAlive: 20_000,
  retryAttempts: Number.POSITIVE_INFINITY,
  shouldRetry: (reason) => (reason as Partial<CloseEvent>).code !== 4403,
});

export const client = createClient({
  url: "/graphql",
  preferGetMethod: false,
  exchanges: [
    cacheExchange,
    fetchExchange,
    subscriptionExchange({
      forwardSubscription({ query = "", variables }) {
        // A socket that opens again sends this again: behind the last event that came, so none is missed or shown twice.
        const request = { query, variables: { ...variables } };
        return {
          subscribe: (sink) => {
            const unsubscribe = socket.subscribe(request, {
              ...sink,
              next(result) {
                request.variables.after = cursorOf(result.data) ?? request.variables.after;
                sink.next({ data: result.data, errors: result.errors && [...result.errors] });
              },
            });
            return { unsubscribe };
          },
        };
      },
    }),
  ],
});

/** Every event of the graph carries its cursor one level down. */
function cursorOf(data: unknown): unknown {
  const [event] = Object.values(data ?? {});
  return (event as { cursor?: unknown } | undefined)?.cursor;
}

let isOpen = true;

/** Whether events can come in now. */
export function useIsConnected(): boolean {
  return useSyncExternalStore(
    (tell) => {
      const set = (open: boolean) => () => {
        isOpen = open;
        tell();
      };
      const stops = [socket.on("connected", set(true)), socket.on("closed", set(false))];
      return () => {
        for (const stop of stops) stop();
      };
    },
    () => isOpen,
  );
}
