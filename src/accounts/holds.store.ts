import type { Queries } from "../db/database.ts";
import type { KeyRestrictions, TrustFloor } from "../keys/api-keys/key-settings.ts";
import { startLease } from "./allotments/leases.store.ts";
import { BUDGET_LEFT, eachTag, HAS_NEW_BUDGETS } from "./budgets/budget-spending.ts";
import { spentSql } from "./key-spending.ts";
import { balanceChanged } from "./ledger.store.ts";
import type { Tag, Tags } from "./tags/tags.ts";

/** The input of an admission: the amount to hold, and the request that the hold is for. */
export type HoldRequest = {
  readonly id: string;
  readonly account: string;
  readonly keyId: string;
  /**
   * If less than this is available, the admission is refused; up to `maximum` is held as the balance allows. Neuron.
   */
  readonly minimum: bigint;
  readonly maximum: bigint;
  readonly model: string;
  readonly provider: string;
  readonly serviceType: string;
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  readonly expiresInSeconds: number;
  /** The version of the key's restrictions by which the provider was chosen; 0 by default. */
  readonly restrictionsVersion?: number;
  /** The trust mode of the provider; `standard` by default. */
  readonly trustMode?: "standard" | TrustFloor;
  readonly tags?: Tags;
  /** With tags that have no budget: the version of the account's budgets by which that is known. */
  readonly tagBudgetVersion?: number;
  /** The process that settles the request, if no other may: its hold ends with the lease of that process. */
  readonly processId?: string;
};

/** The budget of a tag that does not cover a request: its limit, and what it has left, neuron. */
export type ExhaustedBudget = Tag & { readonly creditLimit: bigint; readonly left: bigint };

/**
 * The outcome of an admission. `restrictions` is set if those of the key differ from the version in the request.
 * `available` and `keyAvailable` are what the account and the key's limit had left afterwards, neuron; `isElsewhere`
 * tells whether nothing was granted while allotments of the account may have money that they do not use. `budget` is that
 * of a tag, if it does not cover the request; `tagBudgetVersion` is that of the account, if its row was read, and
 * `hasNewBudgets` tells whether nothing was granted because it changed meanwhile.
 */
export type HoldAnswer = {
  readonly granted: bigint | undefined;
  readonly key: "active" | "revoked" | "expired";
  readonly restrictions: KeyRestrictions | undefined;
  readonly available: bigint;
  readonly keyAvailable: bigint | undefined;
  readonly isElsewhere: boolean;
  readonly budget?: ExhaustedBudget | undefined;
  readonly tagBudgetVersion?: number | undefined;
  readonly hasNewBudgets?: boolean;
};

/** Places a hold of its own for a request, and records the request as running. See `PLACE`. */
export async function placeHold(tx: Queries, request: HoldRequest): Promise<HoldAnswer> {
  const { tags } = request;
  const [row] = await tx.rows<HoldAnswerRow>(tags ? PLACE_TAGGED : PLACE, [
    ...[request.id, request.account, request.keyId, request.minimum.toString(), request.maximum.toString()],
    ...[request.restrictionsVersion ?? 0, request.expiresInSeconds, request.model, request.provider],
    ...[request.serviceType, request.inputPrice.toString(), request.outputPrice.toString()],
    request.trustMode ?? "standard",
    ...(tags ? [JSON.stringify(tags), request.processId ?? null] : []),
  ]);
  if (!row) throw new Error("an admission was not answered");
  return toHoldAnswer(row);
}

/**
 * A `HoldAnswer` as the database returns it; `restrictions` is the JSON text of a `KeyRestrictions`, and `budget` that of
 * a name, a value, a limit and what is left.
 */
export type HoldAnswerRow = {
  readonly granted: string | null;
  readonly key_state: HoldAnswer["key"];
  readonly restrictions: string | null;
  readonly available: string;
  readonly key_available: string | null;
  readonly is_elsewhere: boolean;
  readonly budget?: string | null;
  readonly tag_budget_version?: number | null;
  readonly has_new_budgets?: boolean;
};

export function toHoldAnswer(row: HoldAnswerRow): HoldAnswer {
  return {
    granted: row.granted === null ? undefined : BigInt(row.granted),
    key: row.key_state,
    restrictions: row.restrictions === null ? undefined : (JSON.parse(row.restrictions) as KeyRestrictions),
    available: BigInt(row.available),
    keyAvailable: row.key_available === null ? undefined : BigInt(row.key_available),
    isElsewhere: row.is_elsewhere,
    ...(row.budget != null && { budget: toExhausted(row.budget) }),
    ...(row.tag_budget_version != null && { tagBudgetVersion: row.tag_budget_version }),
    ...(row.has_new_budgets && { hasNewBudgets: true }),
  };
}

/** Whether budgets of the request's account changed since it is known which of its tags have one. */
export function hasOtherBudgets(answer: HoldAnswer, { tagBudgetVersion: version }: HoldRequest): boolean {
  const { tagBudgetVersion: current } = answer;
  return version !== undefined && current !== undefined && current !== version;
}

function toExhausted(json: string): ExhaustedBudget {
  const [name, value, creditLimit, left] = JSON.parse(json) as [string, string, string, string];
  return { name, value, creditLimit: BigInt(creditLimit), left: BigInt(left) };
}

/** The number of open holds and of allotments. */
export async function countOpen(queries: Queries): Promise<number> {
  const [row] = await queries.rows<{ open: string }>(
    "select ((select count(*) from hold where state = 'open') + (select count(*) from allotment))::text as open",
  );
  return Number(row?.open ?? 0);
}

/** Open holds past their expiry by the database's clock, oldest first. */
export async function findExpired(queries: Queries, limit: number): Promise<readonly string[]> {
  const rows = await queries.rows<{ id: string }>(EXPIRED, [limit]);
  return rows.map(({ id }) => id);
}

/** SQL that locks and reads the unrevoked keys of `requested`, in order of their ids. */
export const LIVE_KEYS = `
    select k.id, k.account, k.expires_at <= now() as expired, k.terms_version,
      (extract(epoch from k.expires_at - now()) * 1000)::bigint as lasts_ms,
      jsonb_build_object('version', k.terms_version, 'models', k.allowed_models, 'providers', k.allowed_providers,
        'trustMode', k.trust_mode, 'providerEvidence', k.provider_evidence,
        'guardrails', jsonb_build_object('maxInputTokens', k.max_input_tokens, 'maxInputBytes', k.max_input_bytes,
          'maxOutputTokens', k.max_output_tokens, 'allowedTools', k.allowed_tools,
          'blockedParameters', k.blocked_parameters, 'verifyTee', k.verify_tee))::text as restrictions,
      k.credit_limit - k.held - ${spentSql("k")} as left_over
    from api_key k
    where k.id = any(array(select key from requested)) and k.revoked_at is null order by k.id for no key update`;

/**
 * SQL for the columns of a `HoldAnswerRow`, from the request (`a`), what it is granted (`g`), its key (`l`, after it
 * `c`) and its account (`w`, after it `m`).
 */
export const HOLD_ANSWER = `g.amount::text as granted,
    case when l.id is null then 'revoked' when l.expired then 'expired' else 'active' end as key_state,
    case when l.terms_version <> a.restrictions then l.restrictions end as restrictions,
    coalesce(m.deposit + m.credit, w.deposit + w.credit, 0)::text as available,
    coalesce(c.left_over, l.left_over)::text as key_available`;

/** SQL: whether an account has allotments with money that may be unused. Arguments are SQL, never user input. */
export function hasOtherAllotments(account: string, where = "true"): string {
  return `exists (select 1 from allotment o
      where o.account = ${account} and o.state <> 'closed' and o.amount > 0 and ${where})`;
}

/**
 * SQL: whether the balance of an account, a row `w` of `wallet`, which locks it, changed since this statement began. The
 * statement then does not see the allotments to which money was moved meanwhile.
 */
export const HAS_MOVED = `exists (select from account b
      where b.address = w.address and (b.deposit, b.credit) is distinct from (w.deposit, w.credit))`;

/**
 * Key rows are locked and read under that lock, so that no cached key is billed after it was revoked, expired, reached
 * its limit or lost access to this provider: a change either waits for this statement or is visible to it. The account
 * is locked after its key, as everywhere. Credit is used before deposit.
 *
 * The account is updated from the locked balance (`wallet`): PostgreSQL checks constraints on what an update makes of
 * the row as the statement's snapshot has it, before it finds that another transaction has changed it, and would fail
 * if only the locked balance is enough.
 *
 * Budgets of tags are locked after the account. If the account got one meanwhile, which the statement does not see,
 * nothing is granted.
 */
const place = (isTagged: boolean) => `
  with requested as (
    select $1::text as id, $2::text as account, $3::uuid as key, $4::numeric as minimum, $5::numeric as maximum,
      $6::int as restrictions
  ), live as (${LIVE_KEYS}
  ), fit as (
    select a.*, l.left_over as key_left_over
    from requested a join live l on l.id = a.key and l.account = a.account
    where l.expired is not true and l.terms_version = a.restrictions
  ), wallet as (
    select address, deposit, credit, tag_budget_version from account
    where address in (select account from fit) for update${isTagged ? BUDGETS : ""}
  ), granted as (
    select f.*, w.deposit, w.credit, least(maximum, w.deposit + w.credit, key_left_over${isTagged ? `, ${LEAST_BUDGET}` : ""}) as amount
    from fit f join wallet w on w.address = f.account
    where least(w.deposit + w.credit, key_left_over${isTagged ? `, ${LEAST_BUDGET}` : ""}) >= minimum
      ${isTagged ? `and not ${HAS_NEW_BUDGETS}` : ""}
  ), split as (
    select *, least(amount, credit) as from_credit from granted
  ), moved as (
    update account w set
      deposit = s.deposit - s.amount + s.from_credit, credit = s.credit - s.from_credit,
      held = w.held + s.amount, held_credit = w.held_credit + s.from_credit
    from split s where w.address = s.account
    returning w.*
  ), counted as (
    update api_key k set held = k.held + s.amount from split s where k.id = s.key
    returning k.id, k.credit_limit - k.held - ${spentSql("k")} as left_over${isTagged ? HOLD_BUDGETS : ""}
  ), requests as (
    insert into inference_request (id, account, api_key_id, model, provider, service_type, status, input_price,
      output_price, trust_mode${isTagged ? ", tags" : ""})
    select id, account, key, $8::text, $9::text, $10::text, 'running', $11::numeric, $12::numeric,
      $13::text${isTagged ? ", $14::jsonb" : ""}
    from split
  ), holds as (
    insert into hold (id, account, api_key_id, amount, from_credit, state,
      expires_at${isTagged ? ", tags, tag_budgets, process_id" : ""})
    select id, account, key, amount, from_credit, 'open', now() + make_interval(secs => $7::int)${
      isTagged ? ", $14::jsonb, (select array_agg(id) from budgets), $15::uuid" : ""
    }
    from split${isTagged ? LEASED : ""}
  ), transfers as (
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
    select 'hold:' || s.id, t.from_book, 'held', s.account, t.amount, 'hold'
    from split s, lateral (values ('deposit', s.amount - s.from_credit), ('credit', s.from_credit))
      as t(from_book, amount)
    where t.amount > 0
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', m.address, ${balanceChanged("m", "'hold'", "null")} from moved m
  )
  select ${HOLD_ANSWER}, g.id is null and (${hasOtherAllotments("a.account")} or ${HAS_MOVED}) as is_elsewhere${
    isTagged
      ? `,
    ${HAS_NEW_BUDGETS} as has_new_budgets,
    (select json_build_array(b.name, b.value, b.credit_limit::text, b.left_over::text)::text
      from budgets b where b.left_over < a.minimum order by b.left_over limit 1) as budget`
      : ""
  }
  from requested a
  left join split g on true
  left join live l on l.account = a.account
  left join wallet w on true
  left join moved m on true
  left join counted c on true`;

/** SQL of `place`: the budgets of the tags `$14`, locked after the account, and what is held of them. */
const BUDGETS = `
  ), tagged as (
    select account, $14::jsonb as tags from fit
  ), budgets as (
    select b.account, b.id, b.name, b.value, b.credit_limit, ${BUDGET_LEFT} as left_over
    from tag_budget b
    where (b.account, b.name, b.value) in (select tagged.account, t.name, t.value from ${eachTag("tagged")})
      and (select count(*) from wallet) >= 0
    order by b.id for update`;
const HOLD_BUDGETS = `
  ), budgeted as (
    update tag_budget b set held = b.held + s.amount
    from split s, budgets l where b.account = l.account and b.id = l.id`;
/** SQL of `place`: the lease of the process `$15`, if it has none. */
const LEASED = `
  ), leased as (${startLease("$15", "$15::uuid is not null and exists (select 1 from split)")}`;
const LEAST_BUDGET = "(select min(left_over) from budgets)";

const PLACE = place(false);
const PLACE_TAGGED = place(true);

const EXPIRED = `
  select id from hold where state = 'open' and expires_at < now() order by expires_at limit $1::int`;
