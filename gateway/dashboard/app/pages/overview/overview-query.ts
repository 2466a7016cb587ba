import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";

/** Everything that the page shows. The sums are those that the server stores, so that a long history costs nothing. */
export const OVERVIEW = graphql(`
  query Overview(
    $from: DateTime!, $before: DateTime!, $week: DateTime!, $by: UsagePeriod!, $groupBy: [UsageGroup!]!
    $failed: RequestFilterInput!
  ) {
    viewer {
      account {
        balance { available held deposit credit }
        week: usage(from: $week) { buckets(by: DAY) { startsAt stats { cost } } }
        usage(from: $from, before: $before) {
          stats { requestCount inputTokens outputTokens cost }
          buckets(by: $by, groupBy: $groupBy) {
            startsAt modelId apiKeyId providerAddress stats { requestCount cost }
          }
          performance { firstByte { p50Ms p95Ms } cacheSaving }
        }
        failures: requests(first: 5, filter: $failed) {
          totalCount
          nodes { requestId createdAt modelId status errorCode cost { total } }
        }
        requests(first: 5) {
          nodes { requestId createdAt modelId status errorCode cost { total } }
        }
        apiKeys(last: 100) { nodes { keyId name } }
        deposits(first: 1) { nodes { id } }
      }
    }
  }
`);

export const BALANCE = graphql(`
  subscription Balance($after: Cursor) {
    balanceChanged(after: $after) { cursor cause balance { available held deposit credit } }
  }
`);

export type Balance = ResultOf<typeof BALANCE>["balanceChanged"]["balance"];
export type Account = NonNullable<NonNullable<ResultOf<typeof OVERVIEW>["viewer"]>["account"]>;
export type Bucket = NonNullable<NonNullable<Account["usage"]>["buckets"]>[number];
