import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";

/** The budgets of the account. */
export const BUDGETS = graphql(`
  query TagBudgets($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    viewer {
      account {
        tagBudgets(first: $first, last: $last, after: $after, before: $before) {
          nodes { id tag { name value } creditLimit resetPeriod used held createdAt }
          pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  }
`);

/** The tags that have a budget, by pages. */
export const LIMITED_TAGS = graphql(`
  query LimitedTags($after: Cursor) {
    viewer {
      account {
        tagBudgets(first: 100, after: $after) { nodes { tag { name value } } pageInfo { hasNextPage endCursor } }
      }
    }
  }
`);

/** What the requests with each tag cost, the most expensive first. */
export const SPEND = graphql(`
  query TagSpend($from: DateTime, $name: String) {
    viewer {
      account {
        usage(from: $from) {
          stats { requestCount inputTokens outputTokens cost }
          tags(name: $name) { tag { name value } stats { requestCount inputTokens outputTokens cost } }
        }
      }
    }
  }
`);

/** Every request changes the balance. */
export const SPEND_MOVED = graphql(`
  subscription TagSpendMoved($after: Cursor) { balanceChanged(after: $after) { cursor cause } }
`);

type AccountOf<Data extends { readonly viewer: object | null }> = Data extends {
  readonly viewer: { readonly account: infer Account } | null;
}
  ? NonNullable<Account>
  : never;
export type Budget = NonNullable<AccountOf<ResultOf<typeof BUDGETS>>["tagBudgets"]>["nodes"][number];
export type TagSpend = NonNullable<NonNullable<AccountOf<ResultOf<typeof SPEND>>["usage"]>["tags"]>[number];
export type Tag = Budget["tag"];
