import { createClient } from "@zerograph/client";
import { Client, cacheExchange, fetchExchange } from "urql";

/** Follows jobs. Without a credential: this page's server adds the key. */
export const live = createClient({ url: "/graphql" });

/** Queries and mutations. */
export const client = new Client({
  url: "/graphql",
  preferGetMethod: false,
  exchanges: [cacheExchange, fetchExchange],
});
