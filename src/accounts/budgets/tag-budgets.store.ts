import type { Queries } from "../../db/database.ts";
import type { ResetPeriod } from "../../keys/api-keys/reset-period.ts";
import { periodStartSql, spentSql } from "../key-spending.ts";
import type { Tag } from "../tags/tags.ts";
import { ROLLED_UP_TO } from "../usage/usage.store.ts";

/** A limit of what the requests with a tag spend in each period, neuron; `used` is what they did in the current one. */
export type TagBudget = Tag & {
  readonly id: string;
  readonly account: string;
  readonly creditLimit: bigint;
  readonly resetPeriod: ResetPeriod;
  readonly used: bigint;
  /** What is set aside for requests in progress. */
  readonly held: bigint;
  readonly createdAt: Date;
};

/** What its account chooses of a budget. */
export type BudgetTerms = Pick<TagBudget, "creditLimit" | "resetPeriod">;

/** The version of the budgets of an account, and their tags. */
export async function readBudgetTags(
  queries: Queries,
  account: string,
): Promise<{ readonly version: number; readonly tags: readonly Tag[] }> {
  const [row] = await queries.rows<{ version: number; tags: readonly Tag[] }>(BUDGET_TAGS, [account]);
  return row ?? { version: 0, tags: [] };
}

/** The budgets of an account in the order of their creation. */
export async function listBudgets(queries: Queries, account: string): Promise<readonly TagBudget[]> {
  return (await queries.rows<BudgetRow>(LIST, [account])).map(toBudget);
}

/** One budget; undefined if the account has none with this id. */
export async function findBudget(
  queries: Queries,
  account: string,
  id: string,
): Promise<TagBudget | undefined> {
  const [row] = await queries.rows<BudgetRow>(FIND, [account, id]);
  return row && toBudget(row);
}

/**
 * Locks the account, so that nothing settles and no other budget changes until the end of the transaction; returns the
 * number of its budgets.
 */
export async function lockBudgets(tx: Queries, account: string): Promise<number> {
  await tx.rows(LOCK, [account]);
  const [row] = await tx.rows<{ budgets: number }>(COUNT, [account]);
  return row?.budgets ?? 0;
}

/** Inserts a budget of a locked account, with nothing used; false if its tag has one. */
export async function insertBudget(
  tx: Queries,
  account: string,
  id: string,
  { name, value, creditLimit, resetPeriod }: Tag & BudgetTerms,
): Promise<boolean> {
  const rows = await tx.rows(INSERT, [account, id, name, value, creditLimit.toString(), resetPeriod]);
  return rows.length > 0;
}

/** Changes a budget of a locked account; false if it does not exist. */
export async function updateBudget(
  tx: Queries,
  account: string,
  id: string,
  { creditLimit, resetPeriod }: Partial<BudgetTerms>,
): Promise<boolean> {
  const limit = creditLimit?.toString() ?? null;
  return (await tx.rows(UPDATE, [account, id, limit, resetPeriod ?? null])).length > 0;
}

/** Deletes a budget of a locked account; false if it does not exist. */
export async function deleteBudget(tx: Queries, account: string, id: string): Promise<boolean> {
  return (await tx.rows(DELETE, [account, id])).length > 0;
}

/** Increases the version of the budgets of a locked account: statements that began before do not see the change. */
export async function countBudgetChange(tx: Queries, account: string): Promise<void> {
  await tx.rows(NEW_VERSION, [account]);
}

/**
 * Recomputes the charges for the requests with a budget's tag that were settled in its period, as each settlement counts
 * them. The caller has locked the account, so no settlement is in progress.
 */
export async function recountBudget(tx: Queries, account: string, id: string): Promise<void> {
  await tx.rows(RECOUNT, [account, id]);
}

/** SQL: budgets that do not have what their requests hold and, in the period `never`, spent: as `fault` and `subject`. */
export const BUDGET_HELD_FAULTS = `
  select 'held of the budget of a tag is not the sum of its open holds' as fault, b.id::text as subject
  from tag_budget b
  left join (select o.account, u.id, sum(o.amount) as amount
      from hold o cross join lateral unnest(o.tag_budgets) as u(id)
      where o.state = 'open' group by o.account, u.id) h
    on h.account = b.account and h.id = b.id
  where b.held <> coalesce(h.amount, 0)`;
export const BUDGET_FAULTS = `
  select 'the requests of a tag did not spend what its budget without a period used' as fault, b.id::text as subject
  from tag_budget b
  left join (select account, name, value, sum(cost) as cost
      from (select r.account, t.name, t.value, r.total_cost as cost
          from inference_request r cross join lateral jsonb_each_text(r.tags) as t(name, value)
          where r.tags is not null
        union all select account, name, value, cost from removed_tag_usage) u
      group by account, name, value) r on r.account = b.account and r.name = b.name and r.value = b.value
  where b.reset_period = 'never' and b.used <> coalesce(r.cost, 0)`;

type BudgetRow = {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly value: string;
  readonly credit_limit: string;
  readonly reset_period: ResetPeriod;
  readonly used: string;
  readonly held: string;
  readonly created_ms: string;
};

function toBudget(row: BudgetRow): TagBudget {
  const { id, account, name, value, reset_period: resetPeriod } = row;
  return {
    ...{ id, account, name, value, resetPeriod },
    creditLimit: BigInt(row.credit_limit),
    used: BigInt(row.used),
    held: BigInt(row.held),
    createdAt: new Date(Number(row.created_ms)),
  };
}

const BUDGET_TAGS = `
  select a.tag_budget_version as version, coalesce((
    select json_agg(json_build_object('name', b.name, 'value', b.value)) from tag_budget b where b.account = a.address
  ), '[]') as tags
  from account a where a.address = $1`;

const budgets = (conditions: string) => `
  select b.id::text as id, b.account, b.name, b.value, b.credit_limit::text as credit_limit, b.reset_period,
    (${spentSql("b")})::text as used, b.held::text as held,
    floor(extract(epoch from b.created_at) * 1000)::bigint::text as created_ms
  from tag_budget b
  where b.account = $1::text${conditions}
  order by b.created_at, b.id`;

const LIST = budgets("");
const FIND = budgets(" and b.id = $2::uuid");

const LOCK = "select address from account where address = $1 for update";
const COUNT = "select count(*)::int as budgets from tag_budget where account = $1";

const INSERT = `
  insert into tag_budget (account, id, name, value, credit_limit, reset_period)
  values ($1, $2::uuid, $3, $4, $5::numeric, $6) on conflict (account, name, value) do nothing returning id`;

const UPDATE = `
  update tag_budget set credit_limit = coalesce($3::numeric, credit_limit), reset_period = coalesce($4, reset_period)
  where account = $1 and id = $2::uuid returning id`;

const DELETE = `
  with noticed as (
    delete from tag_budget_notice where account = $1 and budget_id = $2::uuid
  )
  delete from tag_budget where account = $1 and id = $2::uuid returning id`;

const NEW_VERSION = "update account set tag_budget_version = tag_budget_version + 1 where address = $1";

/** The longest deadline of a request is an hour. A settlement may be repeated later, while the database is unreachable. */
const MAX_REQUEST_TIME = "interval '24 hours'";

/**
 * Periods begin at midnight, so whole days are summed. These are days on which requests began: those that began before
 * the period and were settled in it are added one by one.
 */
const RECOUNT = `
  update tag_budget b set used = coalesce((
      select sum(u.cost) from (
        select r.cost from usage_tag_rollup r
        where r.account = $1::text and r.grain = 'day' and r.name = b.name and r.value = b.value
          and r.starts_at >= ${periodStartSql("b")}
        union all
        select r.total_cost from inference_request r
        where r.account = $1::text and r.usage_number > ${ROLLED_UP_TO} and r.usage_number is not null
          and r.tags ->> b.name = b.value and r.created_at >= ${periodStartSql("b")}
        union all
        select r.total_cost from inference_request r
        where r.account = $1::text and r.usage_number is not null and r.tags ->> b.name = b.value
          and r.created_at >= ${periodStartSql("b")} - ${MAX_REQUEST_TIME}
          and r.created_at < ${periodStartSql("b")} and r.finished_at >= ${periodStartSql("b")}
      ) u), 0),
    spent_at = now()
  where b.account = $1::text and b.id = $2::uuid`;
