import type { Queries } from "../db/database.ts";
import { periodStartSql, spentSql } from "./key-spending.ts";

/** A key that has used `percent` of its credit limit in its current period. Amounts in neuron, decimal. */
export type LimitNotice = {
  readonly account: string;
  readonly keyId: string;
  readonly percent: LimitPercent;
  readonly used: string;
  readonly creditLimit: string;
};

/** The parts of a limit at which its account gets notice. */
export type LimitPercent = 80 | 100;

/**
 * Finds and records the keys of these accounts that have used a part of their credit limit since the last call. There
 * is one notice for each part, period and limit.
 */
export async function noticeLimits(
  tx: Queries,
  accounts: readonly string[],
): Promise<readonly LimitNotice[]> {
  if (accounts.length === 0) return [];
  type Row = {
    account: string;
    api_key_id: string;
    percent: LimitPercent;
    used: string;
    credit_limit: string;
  };
  const rows = await tx.rows<Row>(NOTICE, [JSON.stringify(accounts)]);
  return rows.map(({ account, api_key_id: keyId, percent, used, credit_limit: creditLimit }) => ({
    ...{ account, keyId, percent, used, creditLimit },
  }));
}

const NOTICE = `
  with spending as (
    select k.id, k.account, k.credit_limit, ${spentSql("k")} as used, ${periodStartSql("k")} as period_start
    from api_key k
    where k.account in (select jsonb_array_elements_text($1::text::jsonb))
      and k.credit_limit > 0 and k.revoked_at is null
  ), reached as (
    select *, case when used >= credit_limit then 100 else 80 end as percent from spending
    where used * 100 >= credit_limit * 80
  )
  insert into key_limit_notice as known (api_key_id, account, period_start, credit_limit, percent, used)
  select id, account, period_start, credit_limit, percent, used from reached order by id
  on conflict (api_key_id) do update set period_start = excluded.period_start,
    credit_limit = excluded.credit_limit, percent = excluded.percent, used = excluded.used
  where known.percent < excluded.percent or known.period_start <> excluded.period_start
    or known.credit_limit <> excluded.credit_limit
  returning account, api_key_id::text as api_key_id, percent, used::text as used, credit_limit::text as credit_limit`;
