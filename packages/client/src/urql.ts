import { type Exchange, type ExecutionResult, subscriptionExchange } from "@urql/core";
import { type ClientOrOptions, clientOf, graphErrorsOf, observe } from "./adapter.ts";

/**
 * An exchange for subscriptions that resume by themselves: `exchanges: [cacheExchange, fetchExchange,
 * resumingExchange({ url, credential })]`. With a client of `createClient` instead of settings, its state tells whether
 * events arrive. A refusal by the server is among the `graphQLErrors`, as with urql's own exchanges.
 */
export function resumingExchange(given: ClientOrOptions): Exchange {
  const client = clientOf(given);
  return subscriptionExchange({
    forwardSubscription: ({ query = "", variables = {} }) => ({
      subscribe: ({ next, error, complete }) => ({
        unsubscribe: observe(client, query, variables, {
          next: (result) => next(result as ExecutionResult),
          error: (reason) => {
            const errors = graphErrorsOf(reason);
            if (!errors) return error(reason);
            next({ data: null, errors } as ExecutionResult);
            complete();
          },
          complete,
        }),
      }),
    }),
  });
}
