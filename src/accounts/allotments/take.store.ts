import type { Queries } from "../../db/database.ts";
import { newId } from "../../kernel/text/ids.ts";
import {
  HAS_MOVED,
  HOLD_ANSWER,
  type HoldAnswer,
  type HoldAnswerRow,
  type HoldRequest,
  hasOtherAllotments,
  LIVE_KEYS,
  toHoldAnswer,
} from "../holds.store.ts";
import { spentSql } from "../key-spending.ts";
import { balanceChanged } from "../ledger.store.ts";
import { type AllotmentRow, columnsOf, type StoredAllotment, toAllotment } from "./allotment-row.ts";
import { startLease } from "./leases.store.ts";

/**
 * What a process knows and wants for a key: its allotment, the part of it that is reserved for requests in progress, and
 * how much is wanted in advance, to be unused afterwards. Neuron.
 */
export type KeyNeed = {
  readonly allotmentId: string | undefined;
  readonly reserved: bigint;
  readonly extra: bigint;
};

/** The outcome of an admission, and the key's allotment after the batch; undefined if there is none. */
export type TakeAnswer = HoldAnswer & {
  readonly allotment: AllotmentRow | undefined;
  /** The time until the key expires; undefined if it does not. */
  readonly keyLastsMs: number | undefined;
};

/** Takes money for a batch of requests, in order, in one statement; nothing is recorded of the requests. See `TAKE`. */
export async function takeAllotments(
  queries: Queries,
  processId: string,
  requests: readonly HoldRequest[],
  needs: ReadonlyMap<string, KeyNeed>,
): Promise<readonly TakeAnswer[]> {
  const ids = new Map(requests.map(({ keyId }) => [keyId, newId()]));
  const rows = requests.map((request, n) => {
    const { account, keyId, minimum, maximum, restrictionsVersion = 0, tagBudgetVersion } = request;
    const { allotmentId, reserved = 0n, extra = 0n } = needs.get(keyId) ?? {};
    return {
      ...{
        n,
        account,
        key: keyId,
        restrictions: restrictionsVersion,
        known: allotmentId,
        made: ids.get(keyId),
      },
      minimum: minimum.toString(),
      maximum: maximum.toString(),
      reserved: reserved.toString(),
      extra: extra.toString(),
      tag_budgets: tagBudgetVersion,
    };
  });
  const taken = await queries.rows<TakenRow>(TAKE, [JSON.stringify(rows), processId, newId()]);
  return taken.map((row) => ({
    ...toHoldAnswer(row),
    allotment: row.id === null ? undefined : toAllotment(row),
    keyLastsMs: row.key_lasts_ms === null ? undefined : Number(row.key_lasts_ms),
  }));
}

type TakenRow = HoldAnswerRow & { readonly key_lasts_ms: string | null } & (
    | StoredAllotment
    | { readonly id: null }
  );

/** In advance, at most this part of what an account, or a key's limit, has left: others may need the rest. */
const SHARE = 8;

/**
 * Key rows are locked and read under that lock, so that no cached key is billed after it was revoked, expired, reached
 * its limit or lost access to this provider: a change either waits for this statement or is visible to it. Then the
 * accounts are locked in order of address, and the allotments in order of id (always keys, accounts, allotments).
 *
 * Each request is granted what the earlier ones of the batch left of the account, of the key's limit and of the unused
 * part of the process's own allotment. What that part does not cover is taken from the account, with something in
 * advance. Credit is taken before deposit. A request with tags is granted something only while none of its tags has a
 * budget, that is, while the budgets of its account have not changed since this was determined.
 *
 * The account is updated from the locked balance (`wallet`), as in `PLACE`: see there.
 */
const TAKE = `
  with requested as (
    select * from jsonb_to_recordset($1::jsonb) as a(n int, account text, key uuid, minimum numeric, maximum numeric,
      restrictions int, known uuid, made uuid, reserved numeric, extra numeric, tag_budgets int)
  ), live as (
    ${LIVE_KEYS}
  ), fit as (
    select a.*, l.left_over as key_left_over
    from requested a join live l on l.id = a.key and l.account = a.account
    where l.expired is not true and l.terms_version = a.restrictions
  ), wallet as (
    select address, deposit, credit, tag_budget_version from account
    where address in (select account from fit) order by address for update
  ), own as (
    select a.* from allotment a
    where a.process_id = $2::uuid and a.api_key_id = any(array(select key from fit))
      and (select count(*) from wallet) >= 0
    order by a.id for update
  ), placed as (
    select f.*, u.unused, u.unused + least(
      w.deposit + w.credit - coalesce(sum(f.maximum) over earlier, 0),
      f.key_left_over - coalesce(sum(f.maximum) over earlier_of_key, 0)) as left_over
    from fit f
    join wallet w on w.address = f.account and coalesce(f.tag_budgets, w.tag_budget_version) = w.tag_budget_version
    left join own o on o.api_key_id = f.key
    cross join lateral (
      select coalesce(o.amount - case when o.id = f.known then least(f.reserved, o.amount) else 0 end, 0) as unused) u
    window earlier as (partition by f.account order by f.n rows between unbounded preceding and 1 preceding),
      earlier_of_key as (partition by f.key order by f.n rows between unbounded preceding and 1 preceding)
  ), granted as (
    select *, least(maximum, left_over) as amount from placed where left_over >= minimum
  ), needed as (
    select account, key, made, key_left_over, extra, greatest(sum(amount) - unused, 0) as amount,
      greatest(unused - sum(amount), 0) as spare
    from granted group by account, key, made, extra, unused, key_left_over
  ), sized as (
    select n.account, n.key, n.made, w.credit, n.amount + case when o.state = 'recalled' then 0 else
      greatest(trunc(least(n.extra, (n.key_left_over - n.amount) / ${SHARE},
        (w.deposit + w.credit - sum(n.amount) over of_account) / (${SHARE} * count(*) over of_account)) - n.spare), 0)
      end as amount
    from needed n join wallet w on w.address = n.account left join own o on o.api_key_id = n.key
    window of_account as (partition by n.account)
  ), split as (
    select *, least(amount, greatest(credit - coalesce(sum(amount) over earlier, 0), 0)) as from_credit
    from sized
    window earlier as (partition by account order by key rows between unbounded preceding and 1 preceding)
  ), moved as (
    update account w set
      deposit = b.deposit - t.amount + t.from_credit, credit = b.credit - t.from_credit,
      held = w.held + t.amount, held_credit = w.held_credit + t.from_credit
    from (select account, sum(amount) as amount, sum(from_credit) as from_credit from split group by account) t
    join wallet b on b.address = t.account
    where w.address = t.account and t.amount > 0
    returning w.*
  ), counted as (
    update api_key k set held = k.held + s.amount from split s where k.id = s.key and s.amount > 0
    returning k.id, k.credit_limit - k.held - ${spentSql("k")} as left_over
  ), leased as (${startLease("$2", "exists (select 1 from split)")}
  ), stored as (
    insert into allotment (id, process_id, account, api_key_id, amount, from_credit, state)
    select made, $2::uuid, account, key, amount, from_credit, 'open' from split
    on conflict (process_id, api_key_id) do update set
      amount = allotment.amount + excluded.amount, from_credit = allotment.from_credit + excluded.from_credit,
      state = case when allotment.state = 'recalled' then 'recalled' else 'open' end
    returning *
  ), transfers as (
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
    select 'take:' || $3::text || ':' || s.key, t.from_book, 'held', s.account, t.amount, 'hold'
    from split s, lateral (values ('deposit', s.amount - s.from_credit), ('credit', s.from_credit))
      as t(from_book, amount)
    where t.amount > 0
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', m.address, ${balanceChanged("m", "'hold'", "null")} from moved m
  )
  select ${HOLD_ANSWER}, l.lasts_ms::text as key_lasts_ms, w.tag_budget_version,
    ${columnsOf("s")},
    g.n is null and (${HAS_MOVED}
      or ${hasOtherAllotments("a.account", "not (o.process_id = $2::uuid and o.api_key_id = a.key)")}) as is_elsewhere
  from requested a
  left join granted g on g.n = a.n
  left join live l on l.id = a.key and l.account = a.account
  left join stored s on s.api_key_id = a.key
  left join wallet w on w.address = a.account
  left join moved m on m.address = a.account
  left join counted c on c.id = a.key
  order by a.n`;
