import { ApolloLink, CombinedGraphQLErrors, Observable } from "@apollo/client";
import { type ClientOrOptions, clientOf, graphErrorsOf, observe } from "./adapter.ts";
import { textOf } from "./core/document.ts";

/**
 * A link for subscriptions that resume by themselves; other operations go to the next link:
 * `link: resumingLink({ url, credential }).concat(new HttpLink({ uri }))`. With a client of `createClient` instead of
 * settings, its state tells whether events arrive. A refusal by the server is a `CombinedGraphQLErrors`, as with Apollo's
 * own links.
 */
export function resumingLink(given: ClientOrOptions): ApolloLink {
  const client = clientOf(given);
  return new ApolloLink((operation, forward) => {
    if (operation.operationType !== "subscription") return forward(operation);
    return new Observable<ApolloLink.Result>((observer) =>
      observe(client, textOf(operation.query), operation.variables, {
        next: (result) => observer.next(result as ApolloLink.Result),
        error: (reason) => {
          const errors = graphErrorsOf(reason);
          observer.error(errors ? new CombinedGraphQLErrors({ data: null, errors }) : reason);
        },
        complete: () => observer.complete(),
      }),
    );
  });
}
