import { type Client, createClient } from "../../../../../packages/client/src/index.ts";

/** A client with an API key instead of the session. */
export function clientOfKey(apiKey: string): Client {
  return createClient({ url: "/graphql", credential: apiKey });
}
