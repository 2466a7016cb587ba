import { ApolloClient, HttpLink, InMemoryCache } from "@apollo/client";
import { Client, cacheExchange, fetchExchange } from "@urql/core";
import { createClient, EventsLost, execute, type Subscription } from "@zerograph/client";
import { resumingLink } from "@zerograph/client/apollo";
import { BalanceChangedDocument, type BalanceChangedSubscription } from "@zerograph/client/operations";
import { relayNetwork } from "@zerograph/client/relay";
import { resumingExchange } from "@zerograph/client/urql";
import { verify } from "@zerograph/client/verify";
import { Environment, RecordSource, Store } from "relay-runtime";

/** What must compile against the published types, and what must not. */
const url = "https://router.example";
const client = createClient({ url, credential: async () => "sk-1" });
const subscription: Subscription<BalanceChangedSubscription> = client.subscribe(BalanceChangedDocument, {});
for await (const { data, cursor } of subscription) {
  const available: string = data.balanceChanged.balance.available;
  console.log(available, cursor);
  // @ts-expect-error: the document does not select it
  console.log(data.balanceChanged.nothing);
}
if (subscription.error instanceof EventsLost) console.log(subscription.error.cursor);

const link = resumingLink({ url }).concat(new HttpLink({ uri: `${url}/graphql` }));
new ApolloClient({ link, cache: new InMemoryCache() });
new Client({
  url,
  preferGetMethod: false,
  exchanges: [cacheExchange, fetchExchange, resumingExchange(client)],
});
new Environment({ network: relayNetwork({ url }), store: new Store(new RecordSource()) });
for await (const { data, hasNext } of execute(client, "{ viewer { kind } }")) console.log(data, hasNext);
const { ok } = await verify({ bundle: "{}" });
export const isVerified: boolean = ok;
