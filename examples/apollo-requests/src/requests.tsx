import { NetworkStatus } from "@apollo/client";
import { useQuery } from "@apollo/client/react";
import { useState } from "react";
import { graphql } from "./graphql/index.ts";
import { ALL, FilterForm, Problem, RequestTable } from "./view.tsx";

const REQUESTS = graphql(`
  query Requests($after: Cursor, $statuses: [RequestStatus!], $modelId: ID) {
    viewer {
      account {
        id
        requests(first: 5, after: $after, filter: { statuses: $statuses, modelId: $modelId }) {
          edges { cursor node { id requestId createdAt modelId status cost { total } } }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  }
`);

/** The list: another filter is another list of the cache, and `fetchMore` adds the next page to it. */
export function Requests() {
  const [filter, setFilter] = useState(ALL);
  const { data, error, networkStatus, fetchMore } = useQuery(REQUESTS, {
    variables: filter,
  });
  const list = data?.viewer?.account?.requests;
  const isLoading = networkStatus < NetworkStatus.ready;
  const after = list?.pageInfo.endCursor;
  return (
    <section aria-label="Requests">
      <FilterForm onFilter={setFilter} />
      <Problem error={error} />
      <RequestTable
        requests={list?.edges.map(({ node }) => node) ?? []}
        isLoading={isLoading}
        onMore={list?.pageInfo.hasNextPage ? () => void fetchMore({ variables: { after } }) : undefined}
      />
    </section>
  );
}
