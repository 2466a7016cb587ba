import { ApolloClient, gql, HttpLink, InMemoryCache } from "@apollo/client";
import { parse } from "graphql";
import { type GraphQLResponse, Network } from "relay-runtime";

/** The results of an operation, as a client gives them to its application. */
type QueryResult = { readonly data?: unknown; readonly error?: unknown };
type Variables = Readonly<Record<string, unknown>>;

/** Sends one operation, a query or a mutation, with a client library. */
export type QueryClient = (text: string, variables: Variables) => Promise<QueryResult>;

/** Opens a client of a URL. Every operation is sent, whatever is cached. */
export type OpenQueryClient = (url: string) => QueryClient;

type UrqlAnswer = { toPromise(): Promise<QueryResult> };
type Urql = {
  createClient(options: object): {
    query(text: string, variables: Variables, context: object): UrqlAnswer;
    mutation(text: string, variables: Variables): UrqlAnswer;
  };
  readonly cacheExchange: unknown;
  readonly fetchExchange: unknown;
};
/** By a name that the compiler does not follow, as in `streaming-clients.ts`. */
const URQL: string = "urql";
const { createClient: createUrql, cacheExchange, fetchExchange } = (await import(URQL)) as Urql;

/** Official clients as their documentation sets them up, by what differs between their requests. */
export const QUERY_CLIENTS = {
  "Apollo Client": (url) => openApollo(url, {}),
  "Apollo Client by GET": (url) => openApollo(url, { useGETForQueries: true }),
  urql: (url) => openUrql({ url }),
  "urql by POST": (url) => openUrql({ url, preferGetMethod: false }),
  Relay: (url) => openRelay(url, {}),
  "Relay that accepts GraphQL's media type": (url) =>
    openRelay(url, {
      accept: "application/graphql-response+json; charset=utf-8, application/json; charset=utf-8",
    }),
} as const satisfies Readonly<Record<string, OpenQueryClient>>;

/** The application's name goes into headers, and the library's into `extensions`. */
function openApollo(uri: string, options: { readonly useGETForQueries?: boolean }): QueryClient {
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: new HttpLink({ uri, ...options }),
    clientAwareness: { name: "web", version: "1.0" },
  });
  return (text, variables) => {
    const document = gql(text);
    return isMutation(text)
      ? client.mutate({ mutation: document, variables, errorPolicy: "all" })
      : client.query({ query: document, variables, errorPolicy: "all", fetchPolicy: "no-cache" });
  };
}

/** Its cache adds `__typename` to every selection. */
function openUrql(options: { readonly url: string; readonly preferGetMethod?: boolean }): QueryClient {
  const client = createUrql({ ...options, exchanges: [cacheExchange, fetchExchange] });
  return (text, variables) =>
    isMutation(text)
      ? client.mutation(text, variables).toPromise()
      : client.query(text, variables, { requestPolicy: "network-only" }).toPromise();
}

/** Relay has no HTTP of its own: this is the `fetch` of its guide to the network layer. */
function openRelay(url: string, headers: Readonly<Record<string, string>>): QueryClient {
  const network = Network.create(async ({ text }, variables) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ query: text, variables }),
    });
    return (await response.json()) as GraphQLResponse;
  });
  return async (text, variables) => {
    const [definition] = parse(text).definitions;
    const name = (definition && "name" in definition && definition.name?.value) || "Anonymous";
    const operationKind = isMutation(text) ? "mutation" : "query";
    const params = { id: null, cacheID: name, name, operationKind, text, metadata: {} } as const;
    const { data, errors } = Object((await network.execute(params, variables, {}).toPromise()) ?? {});
    return { data, ...(errors && { error: errors }) };
  };
}

function isMutation(text: string): boolean {
  return text.startsWith("mutation");
}
