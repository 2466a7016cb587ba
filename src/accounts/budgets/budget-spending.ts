import { spentSql } from "../key-spending.ts";

/**
 * SQL for the tags of rows `source`, which have an `account` and `tags`, each as a row `t` with `name` and `value`.
 * Arguments are SQL, never user input.
 */
export const eachTag = (source: string): string =>
  `${source} cross join lateral jsonb_each_text(${source}.tags) as t(name, value)`;

/** SQL for what a budget `b` has left: its limit, less what is held and was charged in its current period, neuron. */
export const BUDGET_LEFT = `b.credit_limit - b.held - ${spentSql("b")}`;

/**
 * SQL: whether the account of a row of `wallet`, which locks it, got or lost a budget since this statement began. The
 * statement then does not see every budget that applies.
 */
export const HAS_NEW_BUDGETS = `exists (
    select from wallet w join account a on a.address = w.address
    where a.tag_budget_version <> w.tag_budget_version)`;

/** SQL that adds what requests with tags, the rows of `ended`, were charged to the budgets of their tags. */
export const SPEND_BUDGETS = `
    update tag_budget b set used = ${spentSql("b")} + c.charged, spent_at = greatest(b.spent_at, now())
    from (select ended.account, t.name, t.value, sum(ended.total_cost) as charged
      from ${eachTag("ended")} where ended.total_cost > 0 group by 1, 2, 3) c
    where b.account = c.account and b.name = c.name and b.value = c.value`;
