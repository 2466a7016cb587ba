import { relayNetwork } from "@zerograph/client/relay";
import { Environment, RecordSource, Store } from "relay-runtime";

/** Without a credential: this page's server adds the key. */
export const environment = new Environment({
  network: relayNetwork({ url: "/graphql" }),
  store: new Store(new RecordSource()),
});
