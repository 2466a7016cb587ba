import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { resumingExchange } from "@zerograph/client/urql";
import { Client, fetchExchange } from "urql";

const url = "/graphql";
/** Objects without an id are parts of what they are in. */
const embedded = () => null;

/** Without a credential: this page's server adds the key. */
export const client = new Client({
  url,
  preferGetMethod: false,
  exchanges: [
    cacheExchange({
      keys: {
        Balance: embedded,
        Cost: embedded,
        DirectLedger: embedded,
        DirectPath: embedded,
        Viewer: embedded,
      },
      // The pages of a list are one list for each filter.
      resolvers: { Account: { requests: relayPagination() } },
    }),
    fetchExchange,
    resumingExchange({ url }),
  ],
});
