import { createContext, type ReactElement, type ReactNode, useContext, useSyncExternalStore } from "react";
import type { Client, ConnectionState } from "../core/client.ts";

const ClientContext = createContext<Client | undefined>(undefined);

/** Gives the hooks below it their client. */
export function ZerographProvider({
  client,
  children,
}: {
  readonly client: Client;
  readonly children?: ReactNode;
}): ReactElement {
  return <ClientContext.Provider value={client}>{children}</ClientContext.Provider>;
}

/** The given client, or that of the provider. Throws an `Error` without any. */
export function useClient(given?: Client): Client {
  const provided = useContext(ClientContext);
  const client = given ?? provided;
  if (!client) throw new Error("Wrap the component in <ZerographProvider client={createClient({ url })}>.");
  return client;
}

/** The state of all subscriptions of the client together. */
export function useConnection(): ConnectionState {
  const client = useClient();
  return useSyncExternalStore(
    (listener) => client.onState(listener),
    () => client.state,
    () => "idle",
  );
}
