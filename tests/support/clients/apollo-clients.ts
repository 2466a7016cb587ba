import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { parse } from "graphql";
import { bearer, type FollowBy, type Followed, openSocketClient } from "../followed.ts";

/** Apollo Client on both transports that it shares with the graph. */
export const APOLLO_CLIENTS: Readonly<Record<string, FollowBy>> = {
  "Apollo Client over multipart": (followed) => {
    const { origin, secret } = followed;
    return follow(followed, new HttpLink({ uri: `${origin}/graphql`, headers: bearer(secret) }));
  },
  "Apollo Client over a socket": (followed) => {
    const client = openSocketClient(followed);
    const stop = follow(followed, new GraphQLWsLink(client));
    return () => {
      stop();
      return client.dispose();
    };
  },
};

function follow({ query, variables = {}, onData, onFailure, onComplete }: Followed, link: ApolloLink) {
  // The client copies variables: a link inserts those whose cursor moves.
  const withCursor = new ApolloLink((operation, forward) => {
    operation.variables = { ...operation.variables };
    Object.defineProperties(operation.variables, Object.getOwnPropertyDescriptors(variables));
    return forward(operation);
  });
  const client = new ApolloClient({ link: withCursor.concat(link), cache: new InMemoryCache() });
  const subscription = client.subscribe({ query: parse(query), errorPolicy: "all" }).subscribe({
    next({ data, error }) {
      if (error) onFailure?.(error);
      if (data) onData(data);
    },
    error: (reason: unknown) => onFailure?.(reason),
    complete: () => onComplete?.(),
  });
  return () => {
    subscription.unsubscribe();
    client.stop();
  };
}
