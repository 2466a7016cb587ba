import type { Queries } from "../db/database.ts";
import type { TrustFloor } from "../keys/api-keys/key-settings.ts";
import {
  DRAFT_COLUMNS,
  DRAFT_TYPES,
  digestsOf,
  INSERT_DRAFTS,
  type ReceiptDraft,
  returnedOf,
  withoutReturned,
} from "../receipts/draft.ts";
import { BUDGET_LEFT, eachTag, HAS_NEW_BUDGETS } from "./budgets/budget-spending.ts";
import { spentSql } from "./key-spending.ts";
import { balanceChanged } from "./ledger.store.ts";

/** A provider, with its prices per token and its trust mode; `standard` by default. */
export type Offer = {
  readonly provider: string;
  /** The model that answered, if it may be another than that of the admission. */
  readonly model?: string;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly trustMode?: "standard" | TrustFloor;
};

/**
 * How a hold ends. A cost of zero releases it. If the cost exceeds the hold, the rest is charged to what the account
 * and the key's limit have left; only what they do not cover is the router's loss.
 */
export type Settlement = {
  readonly id: string;
  readonly outcome: "completed" | "failed" | "aborted";
  readonly expired?: boolean;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** The part of the input that the provider read from its cache, or wrote into it. */
  readonly cache?: { readonly read: number; readonly write: number; readonly write1h: number };
  /** The part of the output that is reasoning: counted for batches. */
  readonly reasoningTokens?: number;
  readonly usageEstimated: boolean;
  readonly inputCost: bigint;
  readonly outputCost: bigint;
  readonly errorCode: string | undefined;
  readonly firstByteMs: number | undefined;
  readonly durationMs: number | undefined;
  /** The provider that answered, and its prices, if they differ from those of the admission. */
  readonly answeredBy?: Offer;
  /** Usage that is not counted in tokens. */
  readonly units?: number | undefined;
  /** How the request was routed to its provider, as JSON. */
  readonly routing?: unknown;
  /** What its receipt needs beyond the request. */
  readonly receipt?: ReceiptDraft | undefined;
  /** Whether nothing of the answer was sent yet, so that its client gets an error if this cannot be recorded. */
  readonly isUndelivered?: boolean;
  /** The account of a request with an idempotency key: it is charged only while the key is its own. */
  readonly claimedBy?: string;
};

/** What a settlement costs in all, neuron. */
export function costOf({ inputCost, outputCost }: Settlement): bigint {
  return inputCost + outputCost;
}

/**
 * A settlement that is repeated because it may not have been recorded. Its client was meanwhile sent an error, not the
 * answer that its receipt expects, and pays only for what was delivered before.
 */
export function repeated(settlement: Settlement): Settlement {
  const known = { ...settlement, receipt: settlement.receipt && withoutReturned(settlement.receipt) };
  return settlement.isUndelivered ? uncharged(known, "unavailable") : known;
}

/** The settlement of a request that failed after all: without a charge, nor the hash of an answer that states one. */
export function uncharged(settlement: Settlement, errorCode: string): Settlement {
  const receipt = settlement.receipt && withoutReturned(settlement.receipt);
  return { ...settlement, receipt, outcome: "failed", errorCode, inputCost: 0n, outputCost: 0n };
}

/** A settlement that ends a request without a charge. */
export function failedSettlement(id: string, errorCode: string): Settlement {
  return {
    id,
    outcome: "failed",
    inputTokens: undefined,
    outputTokens: undefined,
    usageEstimated: false,
    inputCost: 0n,
    outputCost: 0n,
    errorCode,
    firstByteMs: undefined,
    durationMs: undefined,
  };
}

/** Ends a batch of holds in one statement. Returns the amount charged per hold, undefined if it was not open. */
export async function resolveHolds(
  queries: Queries,
  settlements: readonly Settlement[],
): Promise<readonly (bigint | undefined)[]> {
  const requested = settlements.map((settlement, n) =>
    Object.assign(outcomeOf(settlement, settlement.answeredBy), { n, expired: settlement.expired ?? false }),
  );
  const rows = await queries.rows<{ charged: string | null }>(RESOLVE, [JSON.stringify(requested)]);
  return rows.map(({ charged }) => (charged === null ? undefined : BigInt(charged)));
}

/**
 * A settlement as a row of `OUTCOME_TYPES`. Members that are zero, false or the same as others are left out, as both
 * sides spend a tenth of a settlement on this text.
 */
export function outcomeOf(settlement: Settlement, offer: Partial<Offer> | undefined) {
  const { cache, receipt } = settlement;
  return {
    id: settlement.id,
    outcome: settlement.outcome,
    input_tokens: settlement.inputTokens,
    output_tokens: settlement.outputTokens,
    cached: cache?.read || undefined,
    cache_write: cache?.write || undefined,
    cache_write_1h: cache?.write1h || undefined,
    estimated: settlement.usageEstimated || undefined,
    input_cost: settlement.inputCost.toString(),
    output_cost: settlement.outputCost.toString(),
    error_code: settlement.errorCode,
    first_byte_ms: settlement.firstByteMs,
    duration_ms: settlement.durationMs,
    provider: offer?.provider,
    model: offer?.model,
    input_price: offer?.inputPrice?.toString(),
    output_price: offer?.outputPrice?.toString(),
    trust_mode: offer && (offer.trustMode ?? "standard"),
    units: settlement.units,
    routing: settlement.routing,
    endpoint: receipt?.endpoint,
    model_answered: receipt && receipt.modelAnswered !== offer?.model ? receipt.modelAnswered : undefined,
    digests: receipt && digestsOf(receipt),
    returned: receipt && returnedOf(receipt),
    awaits_returned: receipt?.awaitsReturned,
  };
}

/** SQL for the columns of `outcomeOf`. */
export const OUTCOME_TYPES = `id text, outcome text, input_tokens bigint, output_tokens bigint,
      cached bigint, cache_write bigint, cache_write_1h bigint, estimated boolean, input_cost numeric,
      output_cost numeric, error_code text, first_byte_ms int, duration_ms int, provider text, model text, input_price numeric,
      output_price numeric, trust_mode text, units bigint, routing jsonb,
      ${DRAFT_TYPES}`;

/** SQL for the columns of a request row that its usage determines: see `outcomeOf` for what is left out. */
export const USAGE_COLUMNS = `a.input_tokens, a.output_tokens, coalesce(a.cached, 0) as cached_tokens,
      coalesce(a.cache_write, 0) as cache_write_tokens, coalesce(a.cache_write_1h, 0) as cache_write_1h_tokens,
      coalesce(a.estimated, false) as usage_estimated`;

/** The columns of a request that its end determines. */
const OUTCOME = (
  "status, input_tokens, output_tokens, cached_tokens, cache_write_tokens, cache_write_1h_tokens, usage_estimated, " +
  "input_cost, output_cost, total_cost, error_code, first_byte_ms, duration_ms, finished_at, units, routing, " +
  "credit_used, deposit_used, usage_number, usage_id"
).split(", ");
/** The columns of a request that the provider determines that answered it. */
const OFFER = ["provider", "model", "input_price", "output_price", "trust_mode"];
/** All of them. */
export const END_COLUMNS: readonly string[] = [...OUTCOME, ...OFFER];

/**
 * A hold leaves the state `open` once: a second settlement finds no row. The amount that is not charged returns to the
 * book it came from. Revenue is the full cost; the uncharged part of it is balanced by the book `loss`. A hold that was
 * lost, because its process seemed to be dead, has returned its amount already and leaves its state once as well: all of
 * its cost exceeds it.
 *
 * Keys are locked before accounts, as in `holds.store.ts`, so that the two never wait for each other. The part of a
 * cost that exceeds its hold is charged to what the key's limit (`limited`) and then the account (`taken`) have left
 * under those locks, including what this batch returns to them, in the order of the batch; credit before deposit. The
 * budgets of its tags limit it likewise: their locks come last, and what exceeded earlier holds of the account counts in
 * all of them. A charge is added to the budgets of its tags, also to one that is newer than the hold and holds nothing
 * for it.
 *
 * A request counts as usage if it was charged, or completed at a price of zero: the tokens of a failed request without
 * a cost are only in its row. Usage is numbered by the account's `usage_count`, in the order of the batch. `moved`
 * holds the lock of the account's row, so the numbers of an account increase in the order of its commits. (`usage_id`
 * numbers usage across all accounts, for processes of the previous version; clients never see it.)
 *
 * A plan is cached as long as its connection, even one made while the tables were empty: `any` makes the plan look up
 * holds by their key even then, and `|| ''` prevents the index of open holds, which is full of dead entries under load.
 */
const RESOLVE = `
  with requested as (
    select * from jsonb_to_recordset($1::jsonb) as a(n int, expired boolean, ${OUTCOME_TYPES})
  ), resolved as (
    update hold h set resolved_at = now(), state =
      case when a.expired then 'expired' when a.input_cost + a.output_cost > 0 then 'settled' else 'released' end,
      amount = case h.state when 'lost' then 0 else h.amount end,
      from_credit = case h.state when 'lost' then 0 else h.from_credit end
    from requested a
    where h.id = a.id and h.id = any(array(select id from requested)) and h.state || '' in ('open', 'lost')
    returning a.n, h.id, h.account, h.api_key_id, h.amount, h.from_credit, h.state, h.tags, h.tag_budgets,
      a.outcome = 'completed' and a.input_tokens is not null as is_answered,
      a.input_cost + a.output_cost as cost, least(a.input_cost + a.output_cost, h.amount) as covered
  ), keys as (
    select k.id, k.credit_limit - k.held - ${spentSql("k")} as left_over
    from api_key k where k.id in (select api_key_id from resolved) order by k.id for no key update
  ), wallet as (
    select address, deposit, credit, tag_budget_version from account
    where address in (select account from resolved) and (select count(*) from keys) >= 0 order by address for update
  ), tagged as (
    select * from resolved where tags is not null
  ), budgets as (
    select b.account, b.id, b.name, b.value, ${BUDGET_LEFT} as left_over from tag_budget b
    where (b.account, b.name, b.value) in (select tagged.account, t.name, t.value from ${eachTag("tagged")})
      and (select count(*) from wallet) >= 0
    order by b.account, b.id for update
  ), budgeted as (
    select tagged.n, b.account, b.id, h.amount, b.left_over + h.amount - case when h.amount > 0 then covered else 0 end as left_over
    from ${eachTag("tagged")}
    join budgets b on b.account = tagged.account and b.name = t.name and b.value = t.value
    cross join lateral (
      select case when b.id = any(coalesce(tag_budgets, '{}')) then tagged.amount else 0 end as amount) h
  ), limited as (
    select r.*, from_credit - least(from_credit, covered) as unused_credit,
      greatest(least(cost - covered, k.left_over + sum(amount - covered) over (partition by api_key_id)
        - coalesce(sum(cost - covered) over earlier_of_key, 0),
        b.left_over - coalesce(sum(cost - covered) over earlier_of_account, 0)), 0) as excess
    from resolved r
    left join keys k on k.id = r.api_key_id
    left join (select n, min(left_over) as left_over from budgeted group by n) b on b.n = r.n
    window earlier_of_key as (partition by api_key_id order by r.n rows between unbounded preceding and 1 preceding),
      earlier_of_account as (partition by account order by r.n rows between unbounded preceding and 1 preceding)
  ), taken as (
    select l.*, w.credit + sum(unused_credit) over of_account as account_credit,
      greatest(least(excess, w.deposit + w.credit + sum(amount - covered) over of_account
        - coalesce(sum(excess) over earlier, 0)), 0) as extra
    from limited l join wallet w on w.address = l.account
    window of_account as (partition by account),
      earlier as (partition by account order by n rows between unbounded preceding and 1 preceding)
  ), split as (
    select *, covered + extra as charged,
      least(extra, greatest(account_credit - coalesce(sum(extra) over earlier, 0), 0)) as extra_credit
    from taken
    window earlier as (partition by account order by n rows between unbounded preceding and 1 preceding)
  ), shares as (
    select *, unused_credit - extra_credit as credit_back,
      amount - charged - unused_credit + extra_credit as deposit_back,
      case when is_answered or charged > 0 then 1 else 0 end as used,
      sum(case when is_answered or charged > 0 then 1 else 0 end)
        over (partition by account order by n desc) as used_from_here
    from split
  ), spent as (
    update api_key k set held = k.held - t.amount, used = ${spentSql("k")} + t.charged,
      spent_at = case when t.charged > 0 then greatest(k.spent_at, now()) else k.spent_at end
    from (select s.api_key_id, sum(s.amount) as amount, sum(s.charged) as charged
      from shares s join keys on keys.id = s.api_key_id group by s.api_key_id) t
    where k.id = t.api_key_id
  ), spent_budgets as (
    update tag_budget b set held = b.held - t.amount, used = ${spentSql("b")} + t.charged,
      spent_at = case when t.charged > 0 then greatest(b.spent_at, now()) else b.spent_at end
    from (select g.account, g.id, sum(g.amount) as amount, sum(s.charged) as charged
      from budgeted g join shares s on s.n = g.n group by g.account, g.id) t
    where b.account = t.account and b.id = t.id
  ), moved as (
    update account w set
      deposit = w.deposit + t.deposit_back, credit = w.credit + t.credit_back,
      held = w.held - t.amount, held_credit = w.held_credit - t.from_credit,
      usage_count = w.usage_count + t.used
    from (select s.account, sum(s.amount) as amount, sum(s.from_credit) as from_credit,
        sum(s.deposit_back) as deposit_back, sum(s.credit_back) as credit_back, sum(s.used) as used
      from shares s join wallet on wallet.address = s.account group by s.account) t
    where w.address = t.account
    returning w.*
  ), ended as (
    select a.id, a.outcome as status, ${USAGE_COLUMNS},
      least(a.input_cost, s.charged) as input_cost, s.charged - least(a.input_cost, s.charged) as output_cost,
      s.charged as total_cost, a.error_code, a.first_byte_ms, a.duration_ms, now() as finished_at,
      a.provider, a.model, a.input_price, a.output_price, a.trust_mode, a.units, a.routing,
      s.from_credit - s.credit_back as credit_used, s.charged - s.from_credit + s.credit_back as deposit_used,
      case when s.used = 1 then m.usage_count - s.used_from_here + 1 end as usage_number,
      case when s.used = 1 then nextval('usage_id') end as usage_id, ${DRAFT_COLUMNS}
    from requested a join shares s on s.n = a.n join moved m on m.address = s.account
  ), drafts as (${INSERT_DRAFTS}
  ), changed as (
    update inference_request r set ${OUTCOME.map((column) => `${column} = e.${column}`).join(", ")},
      ${OFFER.map((column) => `${column} = coalesce(e.${column}, r.${column})`).join(", ")}
    from ended e where r.id = e.id and r.id = any(array(select id from ended))
  ), transfers as (
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
    select 'settle:' || s.id, t.from_book, t.to_book, s.account, t.amount, s.state
    from shares s, lateral (values
      ('held', 'revenue', s.covered), ('held', 'deposit', s.amount - s.covered - s.unused_credit),
      ('held', 'credit', s.unused_credit), ('deposit', 'revenue', s.extra - s.extra_credit),
      ('credit', 'revenue', s.extra_credit), ('loss', 'revenue', s.cost - s.charged))
      as t(from_book, to_book, amount)
    where t.amount > 0
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', m.address,
      ${balanceChanged("m", "case when s.charged > 0 then 'settlement' else 'release' end", "s.id")}
    from shares s join moved m on m.address = s.account order by s.n
  )
  select s.charged::text as charged from requested a left join shares s on s.n = a.n
  where case when exists (select from shares where tags is not null and charged > 0) and ${HAS_NEW_BUDGETS}
    then refuse_settlement('40001') else true end
  order by a.n`;
