// @module-tag large
import { readFileSync } from "node:fs";
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache } from "@apollo/client";
import { buildSchema, parse } from "graphql";
import { Environment, RecordSource, requestSubscription, Store } from "relay-runtime";
import { afterEach, describe, expect, test } from "vitest";
import { resumingLink } from "../../packages/client/src/apollo.ts";
import { startsWithState } from "../../packages/client/src/core/snapshot-fields.ts";
import { type Client, createClient } from "../../packages/client/src/index.ts";
import { relayNetwork } from "../../packages/client/src/relay.ts";
import { clientTypes, committedClientTypes } from "../../scripts/client-types.ts";
import { KEYS, type KeysData, openKeyEvents } from "../support/client/key-events.ts";
import { compileForRelay } from "../support/clients/relay-clients.ts";
import { untilPublished } from "../support/events.ts";
import { startPausableProxy } from "../support/servers/pausable-proxy.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** How an app follows `KEYS` with its library. The returned function ends that. */
type Follow = (client: Client, app: FollowingApp) => () => void;
type FollowingApp = {
  readonly variables: { readonly after?: string };
  readonly onKey: (keyId: string) => void;
  readonly onError: (error: unknown) => void;
};

type UrqlResult = {
  readonly data?: KeysData;
  readonly error?: { readonly graphQLErrors: readonly unknown[] };
};
type Urql = {
  readonly Client: new (
    options: object,
  ) => {
    subscription(
      query: string,
      variables: object,
    ): { subscribe(onResult: (result: UrqlResult) => void): { unsubscribe(): void } };
    query(query: string, variables: object): Promise<{ readonly data?: unknown }>;
  };
  readonly fetchExchange: unknown;
};
/** By names that the compiler does not follow: React's types come with urql's, and would change those of the browser. */
const [URQL, EXCHANGE]: readonly [string, string] = ["urql", "../../packages/client/src/urql.ts"];
const urql = (await import(URQL)) as Urql;
const { resumingExchange } = (await import(EXCHANGE)) as { resumingExchange(client: Client): unknown };

/** The first error of a result, if Apollo Client takes it for one. */
function firstOf(error: unknown): unknown {
  return CombinedGraphQLErrors.is(error) ? error.errors[0] : error;
}

const LIBRARIES: Readonly<Record<string, Follow>> = {
  "Apollo Client": (client, { variables, onKey, onError }) => {
    const apollo = openApollo(client);
    const subscription = apollo.subscribe<KeysData>({ query: parse(KEYS), variables }).subscribe({
      next: ({ data, error }) => (data ? onKey(data.keyChanged.keyId) : onError(firstOf(error))),
      error: onError,
    });
    return () => subscription.unsubscribe();
  },
  urql: (client, { variables, onKey, onError }) => {
    const { unsubscribe } = openUrql(client)
      .subscription(KEYS, variables)
      .subscribe(({ data, error }) => {
        if (error) onError(error.graphQLErrors[0]);
        else if (data) onKey(data.keyChanged.keyId);
      });
    return unsubscribe;
  },
  Relay: (client, { variables, onKey, onError }) => {
    const { dispose } = requestSubscription(openRelay(client), {
      subscription: compileForRelay(KEYS),
      variables,
      onNext: (data) => onKey((data as KeysData).keyChanged.keyId),
      onError,
    });
    return dispose;
  },
};

describe.each(Object.entries(LIBRARIES))("%s", (library, follow) => {
  async function open(credential?: string) {
    const events = await openKeyEvents(stack());
    const proxy = await startPausableProxy(Number(new URL(stack().origin).port));
    const client = createClient({
      url: `http://127.0.0.1:${proxy.port}`,
      credential: credential ?? events.secret,
      subscriptions: { retry: { minPauseMs: 5, maxPauseMs: 50 } },
    });
    ends.push(
      () => proxy.close(),
      () => client.dispose(),
    );
    return { events, proxy, client };
  }

  test("receives each event once and in order while its connection is cut, after the cursor that it gives", async () => {
    const { events, proxy, client } = await open();
    const { eventCursor } = await client.query<{ eventCursor: string }, object>("{ eventCursor }");
    await events.emit();
    await untilPublished(stack().app.database);
    const received: string[] = [];
    const errors: unknown[] = [];
    const stop = follow(client, {
      variables: { after: eventCursor },
      onKey: (keyId) => void received.push(keyId),
      onError: (error) => void errors.push(error),
    });
    for (let cut = 0; cut < 3; cut++) {
      await until(() => received.length === events.emitted.length && client.state === "live");
      await proxy.cut();
      await events.emit(2);
      await until(() => client.state === "reconnecting");
      await proxy.open();
    }
    await until(() => received.length === events.emitted.length);
    expect(received).toEqual(events.emitted);
    expect(errors).toEqual([]);
    stop();
    await until(() => client.state === "idle" && stack().app.events.openStreams === 0);
  });

  test("receives the reason why a subscription ended, as the library knows errors of the server", async () => {
    const { client } = await open("mk-wrong");
    const code = "invalid_api_key";
    const errors: unknown[] = [];
    follow(client, { variables: {}, onKey: () => {}, onError: (error) => void errors.push(error) });
    await until(() => errors.length > 0);
    expect(errors[0]).toMatchObject(
      library === "Relay" ? { name: "OperationRefused", code } : { extensions: { code } },
    );
  });
});

test("queries go to the other links and exchanges of an app", async () => {
  const client = createClient({ url: stack().origin });
  const query = "{ viewer { kind } }";
  const viaApollo = await openApollo(client).query({ query: parse(query) });
  expect(viaApollo.data).toMatchObject({ viewer: { kind: "ANONYMOUS" } });
  const viaUrql = await openUrql(client).query(query, {});
  expect(viaUrql.data).toMatchObject({ viewer: { kind: "ANONYMOUS" } });
});

test("the committed operations are those that are generated from the schema", async () => {
  const schema = readFileSync("schema/api.graphql", "utf8");
  expect(committedClientTypes(), "run npm run schema").toBe(await clientTypes(schema));
});

test("only subscriptions that start with the state are opened again as long as nothing arrived", () => {
  const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));
  for (const { name, description } of Object.values(schema.getSubscriptionType()?.getFields() ?? {}))
    expect([name, startsWithState(name)]).toEqual([name, /current state/.test(description ?? "")]);
});

function openApollo(client: Client): ApolloClient {
  const link = resumingLink(client).concat(new HttpLink({ uri: client.url }));
  const apollo = new ApolloClient({ link: ApolloLink.from([link]), cache: new InMemoryCache() });
  ends.push(() => apollo.stop());
  return apollo;
}

function openRelay(client: Client) {
  return new Environment({ network: relayNetwork(client), store: new Store(new RecordSource()) });
}

function openUrql(client: Client) {
  return new urql.Client({
    url: client.url,
    preferGetMethod: false,
    exchanges: [urql.fetchExchange, resumingExchange(client)],
  });
}
