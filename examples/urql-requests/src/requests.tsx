import { useState } from "react";
import { useQuery } from "urql";
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

/** The list: another filter is another list of the cache, which has all pages of it so far. */
export function Requests() {
  const [filter, setFilter] = useState(ALL);
  const [after, setAfter] = useState<string | null>(null);
  const [{ data, error, fetching, stale }] = useQuery({ query: REQUESTS, variables: { ...filter, after } });
  const list = data?.viewer?.account?.requests;
  const { hasNextPage = false, endCursor = null } = list?.pageInfo ?? {};
  return (
    <section aria-label="Requests">
      <FilterForm
        onFilter={(next) => {
          setFilter(next);
          setAfter(null);
        }}
      />
      <Problem error={error} />
      <RequestTable
        requests={list?.edges.map(({ node }) => node) ?? []}
        isLoading={fetching || stale}
        onMore={hasNextPage ? () => setAfter(endCursor) : undefined}
      />
    </section>
  );
}
