import { DRAFT_COLUMNS, INSERT_DRAFTS } from "../../receipts/draft.ts";
import { HAS_NEW_BUDGETS, SPEND_BUDGETS } from "../budgets/budget-spending.ts";
import { spentSql } from "../key-spending.ts";
import { balanceChanged } from "../ledger.store.ts";
import { END_COLUMNS, OUTCOME_TYPES, USAGE_COLUMNS } from "../settlements.store.ts";
import { columnsOf } from "./allotment-row.ts";

/** The SQLSTATE of a settlement whose request has ended before. */
export const ENDED_BEFORE = "ZG001";

/** SQL: whether a request has not ended, or only seemed to, as its process did not renew its lease. */
const mayEnd = (row: string) => `(${row}.status = 'running'
      or ${row}.status = 'failed' and ${row}.error_code = 'expired' and ${row}.allotment_id is not null)`;

const END_TYPES = `${OUTCOME_TYPES}, covered numeric, service_type text`;

/** The SQL of what only a batch with tags needs. */
type TagSql = {
  readonly types: string;
  readonly column: string;
  readonly ended: string;
  readonly version: string;
  readonly spend: string;
  readonly refusal: string;
};

const UNTAGGED: TagSql = { types: "", column: "", ended: "", version: "", spend: "", refusal: "" };

/**
 * Tags are recorded with the request, and the charge is added to their budgets. Such a budget exists only if it was
 * created after the admission. If it was created after the statement began, the statement starts again.
 */
const TAGGED: TagSql = {
  types: ", tags jsonb",
  column: ", tags",
  ended: ", a.tags",
  version: ", tag_budget_version",
  spend: `
  ), budgets as (${SPEND_BUDGETS}`,
  refusal: `
    when ${HAS_NEW_BUDGETS} then refuse_settlement('40001')`,
};

/** SQL for the columns of a request row that its end (`a`) determines, except what it was charged. */
const ENDED = `a.model, a.service_type, now() - coalesce(a.duration_ms, 0) * interval '1 millisecond' as created_at,
      a.outcome as status, ${USAGE_COLUMNS}, a.error_code, a.first_byte_ms, a.duration_ms, now() as finished_at,
      a.provider, a.input_price, a.output_price, a.trust_mode, a.units, a.routing, ${DRAFT_COLUMNS}`;

/** SQL that records ended requests, each whole: it replaces the row of one that is listed as running. */
const record = (tag: TagSql) => `
    insert into inference_request as r (id, account, api_key_id, service_type, created_at,
      ${END_COLUMNS.join(", ")}${tag.column})
    select id, account, api_key_id, service_type, created_at, ${END_COLUMNS.join(", ")}${tag.column} from ended
    on conflict (id) do update set ${END_COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}
      where ${mayEnd("r")}
    returning r.id`;

/**
 * The settlement of nearly every request: the case of `SETTLE` in which nothing is returned and no cost exceeds what
 * was set aside. A statement with more parts costs more to start, so this one has few: the process computes the sums.
 * `total` is the number of the sum of a request's allotment, which has its account and key; `before` is what earlier
 * requests of the batch are charged to that allotment, and `usage` counts those of the account that are usage. If an
 * allotment does not have the amount, nothing is done, and no row returned; if a request has ended already, as the
 * insert finds, it fails with `ENDED_BEFORE`.
 */
const settleCovered = (tag: TagSql) => `
  with given as (
    select * from jsonb_to_recordset($1::jsonb) as a(${END_TYPES}${tag.types}, total int, before numeric, usage int)
  ), totals as (
    select * from jsonb_to_recordset($2::jsonb) as a(n int, id uuid, account text, key uuid, charged numeric, used int)
  ), keys as (
    select id from api_key where id = any(array(select key from totals)) order by id for no key update
  ), wallet as (
    select address${tag.version} from account
    where address = any(array(select account from totals)) and (select count(*) from keys) >= 0
    order by address for update
  ), pots as (
    select p.id, p.account, p.api_key_id, p.amount, p.from_credit, p.state from allotment p
    where p.id = any(array(select id from totals)) and (select count(*) from wallet) >= 0 order by p.id for update
  ), changes as (
    select t.*, least(p.from_credit, t.charged) as credit, p.from_credit from totals t join pots p on p.id = t.id
    where not exists (
      select 1 from totals u left join pots q on q.id = u.id where q.id is null or q.amount < u.charged)
  ), charged_keys as (
    update api_key k set held = k.held - t.charged, used = ${spentSql("k")} + t.charged,
      spent_at = case when t.charged > 0 then greatest(k.spent_at, now()) else k.spent_at end
    from changes t where k.id = t.key
  ), moved as (
    update account w set held = w.held - t.charged, held_credit = w.held_credit - t.credit,
      usage_count = w.usage_count + t.used
    from (select account, sum(charged) as charged, sum(credit) as credit, sum(used) as used
      from changes group by account) t
    where w.address = t.account
    returning w.*, w.usage_count - t.used as counted
  ), spent as (
    update allotment p set amount = p.amount - t.charged, from_credit = p.from_credit - t.credit
    from changes t where p.id = t.id
    returning p.*
  ), ended as (
    select a.id, t.account, t.key as api_key_id, ${ENDED}, a.input_cost, a.output_cost, a.covered as total_cost,
      c.credit as credit_used, a.covered - c.credit as deposit_used, m.counted + a.usage as usage_number,
      case when a.usage is not null then nextval('usage_id') end as usage_id${tag.ended}
    from given a
    join changes t on t.n = a.total
    join moved m on m.address = t.account
    cross join lateral (select least(a.covered, greatest(t.from_credit - a.before, 0)) as credit) c
  ), drafts as (${INSERT_DRAFTS}
  ), recorded as (${record(tag)}${tag.spend}
  ), transfers as (
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
    select 'settle:' || id, 'held', 'revenue', account, total_cost, 'settled' from ended where total_cost > 0
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', m.address,
      ${balanceChanged("m", "case when e.total_cost > 0 then 'settlement' else 'release' end", "e.id")}
    from ended e join moved m on m.address = e.account
  )
  select ${columnsOf("spent")} from spent
  where case${tag.refusal} when (select count(*) from recorded) = (select count(*) from ended) then true
    else refuse_settlement('${ENDED_BEFORE}') end`;
export const SETTLE_COVERED = settleCovered(UNTAGGED);
export const SETTLE_COVERED_TAGGED = settleCovered(TAGGED);

/**
 * A request is settled once: one that has ended already is left out, and one that another statement ends at the same
 * moment makes this one start again, as after a deadlock. (It is looked up by itself: a plan that was made while the
 * table was empty reads all of it otherwise.) A request that ended because its process seemed to be dead may still be settled.
 *
 * A cost is charged to the allotment up to what the process has set aside for the request; a rest is charged to what
 * the key's limit (`limited`) and then the account (`taken`) have left under their locks, with what this statement
 * returns to them (`kept`), in the order of the batch, credit before deposit. Revenue is the full cost; the uncharged part of it is balanced by the book `loss`.
 *
 * A request counts as usage if it was charged, or completed at a price of zero: the tokens of a failed request without
 * a cost are only in its row. Usage is numbered by the account's `usage_count`, in the order of the batch. `moved`
 * holds the lock of the account's row, so the numbers of an account increase in the order of its commits. (`usage_id`
 * numbers usage across all accounts, for processes of an earlier version; clients never see it.)
 */
const settle = (tag: TagSql) => `
  with given as (
    select * from jsonb_to_recordset($1::jsonb) as a(${END_TYPES}${tag.types},
      n int, account text, key uuid, allotment uuid)
  ), requested as (
    select * from given a
    where coalesce((select ${mayEnd("r")} from inference_request r where r.id = a.id), true)
  ), returned as (
    select * from jsonb_to_recordset($2::jsonb) as a(id uuid, account text, key uuid, keep numeric, is_over boolean,
      transfer text)
  ), keys as (
    select k.id, k.credit_limit - k.held - ${spentSql("k")} as left_over from api_key k
    where k.id = any(array(select key from requested union select key from returned)) order by k.id for no key update
  ), wallet as (
    select address, deposit, credit${tag.version} from account
    where address = any(array(select account from requested union select account from returned))
      and (select count(*) from keys) >= 0
    order by address for update
  ), pots as (
    select p.* from allotment p
    where p.id = any(array(select allotment from requested union select id from returned))
      and (select count(*) from wallet) >= 0
    order by p.id for update
  ), covered as (
    select a.n, a.id, a.account, a.key, a.allotment, a.input_cost + a.output_cost as cost, p.from_credit,
      a.outcome = 'completed' and a.input_tokens is not null as is_answered,
      least(a.covered, a.input_cost + a.output_cost,
        greatest(coalesce(p.amount, 0) - coalesce(sum(a.covered) over earlier, 0), 0)) as covered
    from requested a left join pots p on p.id = a.allotment
    window earlier as (partition by a.allotment order by a.n rows between unbounded preceding and 1 preceding)
  ), credited as (
    select *,
      least(covered, greatest(coalesce(from_credit, 0) - coalesce(sum(covered) over earlier, 0), 0)) as covered_credit
    from covered
    window earlier as (partition by allotment order by n rows between unbounded preceding and 1 preceding)
  ), spending as (
    select p.id, p.account, p.api_key_id, p.amount - coalesce(t.covered, 0) as amount,
      p.from_credit - coalesce(t.credit, 0) as from_credit, r.keep, coalesce(r.is_over, false) as is_over, r.transfer
    from pots p
    left join (select allotment, sum(covered) as covered, sum(covered_credit) as credit
      from credited group by allotment) t on t.allotment = p.id
    left join returned r on r.id = p.id
  ), kept as (
    select *, least(keep, amount) as new_amount, least(from_credit, coalesce(keep, amount)) as new_credit,
      amount - least(keep, amount) as back, from_credit - least(from_credit, coalesce(keep, amount)) as credit_back
    from spending
  ), limited as (
    select c.*,
      greatest(least(cost - covered, k.left_over + b.back - coalesce(sum(cost - covered) over earlier, 0)), 0) as excess
    from credited c
    left join keys k on k.id = c.key
    cross join lateral (select coalesce(sum(back), 0) as back from kept where api_key_id = c.key) b
    window earlier as (partition by key order by n rows between unbounded preceding and 1 preceding)
  ), taken as (
    select l.*, w.credit + b.credit as account_credit,
      greatest(least(excess, w.deposit + w.credit + b.back - coalesce(sum(excess) over earlier, 0)), 0) as extra
    from limited l
    join wallet w on w.address = l.account
    cross join lateral (
      select coalesce(sum(back), 0) as back, coalesce(sum(credit_back), 0) as credit
      from kept where account = l.account) b
    window earlier as (partition by l.account order by n rows between unbounded preceding and 1 preceding)
  ), shares as (
    select *, covered + extra as charged,
      least(extra, greatest(account_credit - coalesce(sum(extra) over earlier, 0), 0)) as extra_credit,
      case when is_answered or covered + extra > 0 then 1 else 0 end as used,
      sum(case when is_answered or covered + extra > 0 then 1 else 0 end)
        over (partition by account order by n desc) as used_from_here
    from taken
    window earlier as (partition by account order by n rows between unbounded preceding and 1 preceding)
  ), charged_keys as (
    update api_key k set held = k.held - t.freed, used = ${spentSql("k")} + t.charged,
      spent_at = case when t.charged > 0 then greatest(k.spent_at, now()) else k.spent_at end
    from (select key, sum(freed) as freed, sum(charged) as charged from (
        select key, covered as freed, charged from shares union all select api_key_id, back, 0 from kept) as u
      group by key) t
    where k.id = t.key and (select count(*) from pots) >= 0
  ), moved as (
    update account w set
      deposit = b.deposit + t.deposit, credit = b.credit + t.credit,
      held = w.held - t.held, held_credit = w.held_credit - t.held_credit, usage_count = w.usage_count + t.used
    from (select account, sum(deposit) as deposit, sum(credit) as credit, sum(held) as held,
        sum(held_credit) as held_credit, sum(used) as used
      from (
        select account, extra_credit - extra as deposit, -extra_credit as credit, covered as held,
          covered_credit as held_credit, used from shares
        union all select account, back - credit_back, credit_back, back, credit_back, 0 from kept) as u
      group by account) t
    join wallet b on b.address = t.account
    where w.address = t.account
    returning w.*
  ), spent as (
    update allotment p set amount = k.new_amount, from_credit = k.new_credit,
      state = case when k.keep is null then p.state else 'closed' end
    from kept k where p.id = k.id and not k.is_over
    returning p.*
  ), gone as (
    delete from allotment p using kept k where p.id = k.id and k.is_over
  ), ended as (
    select a.id, s.account, s.key as api_key_id, ${ENDED},
      least(a.input_cost, s.charged) as input_cost, s.charged - least(a.input_cost, s.charged) as output_cost,
      s.charged as total_cost, s.covered_credit + s.extra_credit as credit_used, s.charged - s.covered_credit - s.extra_credit as deposit_used,
      case when s.used = 1 then m.usage_count - s.used_from_here + 1 end as usage_number,
      case when s.used = 1 then nextval('usage_id') end as usage_id${tag.ended}
    from requested a join shares s on s.n = a.n join moved m on m.address = s.account
  ), drafts as (${INSERT_DRAFTS}
  ), recorded as (${record(tag)}${tag.spend}
  ), transfers as (
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
    select 'settle:' || s.id, t.from_book, 'revenue', s.account, t.amount, 'settled'
    from shares s, lateral (values ('held', s.covered), ('deposit', s.extra - s.extra_credit),
      ('credit', s.extra_credit), ('loss', s.cost - s.charged)) as t(from_book, amount)
    where t.amount > 0
    union all
    select 'return:' || k.transfer, 'held', t.to_book, k.account, t.amount, 'released'
    from kept k, lateral (values ('deposit', k.back - k.credit_back), ('credit', k.credit_back)) as t(to_book, amount)
    where t.amount > 0
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', e.address, e.data from (
      select m.address, 0 as part, s.n,
        ${balanceChanged("m", "case when s.charged > 0 then 'settlement' else 'release' end", "s.id")} as data
      from shares s join moved m on m.address = s.account
      union all
      select m.address, 1, 0, ${balanceChanged("m", "'release'", "null")}
      from (select distinct account from kept where back > 0) k join moved m on m.address = k.account
    ) e order by e.part, e.n
  )
  select n, charged::text as charged, null as id, null as account, null as api_key_id, null as amount, null as state
  from shares
  where case${tag.refusal} when (select count(*) from recorded) = (select count(*) from shares) then true
    else refuse_settlement('40001') end
  union all
  select null, null, ${columnsOf("spent")} from spent`;
export const SETTLE = settle(UNTAGGED);
export const SETTLE_TAGGED = settle(TAGGED);
