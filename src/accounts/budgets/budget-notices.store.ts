import type { Queries } from "../../db/database.ts";
import type { LimitPercent } from "../key-limits.store.ts";
import { periodStartSql, spentSql } from "../key-spending.ts";
import type { Tag } from "../tags/tags.ts";

/** A tag whose requests have used `percent` of its budget in its current period. Amounts in neuron, decimal. */
export type BudgetNotice = Tag & {
  readonly account: string;
  readonly budgetId: string;
  readonly percent: LimitPercent;
  readonly used: string;
  readonly creditLimit: string;
};

/**
 * Finds and records the budgets of these accounts of which a part was used since the last call. There is one notice for
 * each part, period and limit, as for keys.
 */
export async function noticeBudgets(
  tx: Queries,
  accounts: readonly string[],
): Promise<readonly BudgetNotice[]> {
  return accounts.length === 0 ? [] : tx.rows<BudgetNotice>(NOTICE, [JSON.stringify(accounts)]);
}

const NOTICE = `
  with spending as (
    select b.*, ${spentSql("b")} as spent, ${periodStartSql("b")} as period_start
    from tag_budget b
    where b.account in (select jsonb_array_elements_text($1::text::jsonb)) and b.credit_limit > 0
  ), reached as (
    select *, case when spent >= credit_limit then 100 else 80 end as percent from spending
    where spent * 100 >= credit_limit * 80
  ), noticed as (
    insert into tag_budget_notice as known (account, budget_id, period_start, credit_limit, percent, used)
    select account, id, period_start, credit_limit, percent, spent from reached order by account, id
    on conflict (account, budget_id) do update set period_start = excluded.period_start,
      credit_limit = excluded.credit_limit, percent = excluded.percent, used = excluded.used
    where known.percent < excluded.percent or known.period_start <> excluded.period_start
      or known.credit_limit <> excluded.credit_limit
    returning account, budget_id
  )
  select r.account, r.id::text as "budgetId", r.name, r.value, r.percent, r.spent::text as used,
    r.credit_limit::text as "creditLimit"
  from reached r join noticed n on n.account = r.account and n.budget_id = r.id order by r.account, r.id`;
