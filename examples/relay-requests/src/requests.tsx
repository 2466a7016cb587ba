import { useTransition } from "react";
import { graphql, usePaginationFragment } from "react-relay";
import type { requests_account$key } from "./__generated__/requests_account.graphql.ts";
import type { requestsListQuery } from "./__generated__/requestsListQuery.graphql.ts";
import { FilterForm, RequestTable } from "./view.tsx";

const PAGE_SIZE = 5;

/** The list: a filter fetches it again, and `loadNext` for its next page. */
export function Requests({ account }: { readonly account: requests_account$key }) {
  const [isFiltering, startFiltering] = useTransition();
  const { data, hasNext, isLoadingNext, loadNext, refetch } = usePaginationFragment<
    requestsListQuery,
    requests_account$key
  >(
    graphql`
      fragment requests_account on Account
      @refetchable(queryName: "requestsListQuery")
      @argumentDefinitions(
        count: { type: "Int", defaultValue: 5 }
        after: { type: "Cursor" }
        statuses: { type: "[RequestStatus!]" }
        modelId: { type: "ID" }
      ) {
        requests(first: $count, after: $after, filter: { statuses: $statuses, modelId: $modelId })
          @connection(key: "requests_account_requests") {
          edges {
            node {
              requestId
              createdAt
              modelId
              status
              cost {
                total
              }
            }
          }
        }
      }
    `,
    account,
  );
  return (
    <section aria-label="Requests">
      <FilterForm onFilter={(filter) => startFiltering(() => void refetch(filter))} />
      <RequestTable
        requests={(data.requests?.edges ?? []).map(({ node }) => node)}
        isLoading={isFiltering || isLoadingNext}
        onMore={hasNext ? () => void loadNext(PAGE_SIZE) : undefined}
      />
    </section>
  );
}
