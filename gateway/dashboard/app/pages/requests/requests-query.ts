import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";

/** A page of the requests that match a filter; the first one counts them. */
export const REQUESTS = graphql(`
  query Requests(
    $first: Int
    $after: Cursor
    $filter: RequestFilterInput
    $orderBy: RequestOrderInput
    $isFirst: Boolean!
  ) {
    viewer {
      account {
        requests(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
          nodes {
            requestId createdAt modelId providerAddress status errorCode serviceType inputTokens outputTokens
            cachedTokens cost { total } timing { firstByteMs durationMs } apiKey { name } evidence { verdict }
            tags { name value }
          }
          pageInfo { hasNextPage endCursor }
          totalCount @include(if: $isFirst)
          totalCountEstimated @include(if: $isFirst)
        }
      }
    }
  }
`);

/** Every request changes the balance twice: when it starts and when it ends. */
export const REQUESTS_MOVED = graphql(`
  subscription RequestsMoved($after: Cursor) { balanceChanged(after: $after) { cursor cause } }
`);

/** A row of the list. */
export type RequestRow = NonNullable<
  NonNullable<NonNullable<ResultOf<typeof REQUESTS>["viewer"]>["account"]>["requests"]
>["nodes"][number];
