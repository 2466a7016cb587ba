import { ApolloClient, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQL17Alpha9Handler } from "@apollo/client/incremental";
import { relayStylePagination } from "@apollo/client/utilities";
import { resumingLink } from "@zerograph/client/apollo";

const url = "/graphql";

/** Without a credential: this page's server adds the key. */
export const client = new ApolloClient({
  link: resumingLink({ url }).concat(new HttpLink({ uri: url })),
  // The pages of a list are one list for each filter.
  cache: new InMemoryCache({
    typePolicies: { Account: { fields: { requests: relayStylePagination(["filter"]) } } },
  }),
  // Reads what `@defer` delivers, in the present format.
  incrementalHandler: new GraphQL17Alpha9Handler(),
});
