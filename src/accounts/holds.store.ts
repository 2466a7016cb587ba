import type { Queries } from "../db/database.ts";
import type { KeyRestrictions, TrustFloor } from "../keys/api-keys/key-settings.ts";
import { spentSql } from "./key-spending.ts";
import { balanceChanged } from "./ledger.store.ts";

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
};

/** A hold to place. If it `isListed`, its request is recorded as running in the same statement. */
export type NewHold = HoldRequest & { readonly isListed: boolean };

/**
 * The outcome of an admission. `restrictions` is set if those of the key differ from the version in the request.
 * `available` and `keyAvailable` are what the account and the key's limit had left after the whole batch, neuron.
 */
export type HoldAnswer = {
  readonly granted: bigint | undefined;
  readonly key: "active" | "revoked" | "expired";
  readonly restrictions: KeyRestrictions | undefined;
  readonly available: bigint;
  readonly keyAvailable: bigint | undefined;
};

/** Admits a batch in one statement, in order. See `PLACE`. */
export async function placeHolds(
  queries: Queries,
  holds: readonly NewHold[],
): Promise<readonly HoldAnswer[]> {
  const requested = holds.map((hold, n) => ({
    n,
    id: hold.id,
    account: hold.account,
    key: hold.keyId,
    minimum: hold.minimum.toString(),
    maximum: hold.maximum.toString(),
    model: hold.model,
    provider: hold.provider,
    service_type: hold.serviceType,
    input_price: hold.inputPrice.toString(),
    output_price: hold.outputPrice.toString(),
    seconds: hold.expiresInSeconds,
    restrictions: hold.restrictionsVersion ?? 0,
    trust_mode: hold.trustMode ?? "standard",
    listed: hold.isListed,
  }));
  const rows = await queries.rows<PlacedRow>(PLACE, [JSON.stringify(requested)]);
  return rows.map(toHoldAnswer);
}

type PlacedRow = {
  readonly amount: string | null;
  readonly key_state: HoldAnswer["key"];
  /** JSON text of a `KeyRestrictions`. */
  readonly restrictions: string | null;
  readonly available: string;
  readonly key_available: string | null;
};

function toHoldAnswer(row: PlacedRow): HoldAnswer {
  return {
    granted: row.amount === null ? undefined : BigInt(row.amount),
    key: row.key_state,
    restrictions: row.restrictions === null ? undefined : (JSON.parse(row.restrictions) as KeyRestrictions),
    available: BigInt(row.available),
    keyAvailable: row.key_available === null ? undefined : BigInt(row.key_available),
  };
}

/** The number of open holds. */
export async function countOpen(queries: Queries): Promise<number> {
  const [row] = await queries.rows<{ open: string }>(
    "select count(*)::text as open from hold where state = 'open'",
  );
  return Number(row?.open ?? 0);
}

/** Open holds past their expiry by the database's clock, oldest first. */
export async function findExpired(queries: Queries, limit: number): Promise<readonly string[]> {
  const rows = await queries.rows<{ id: string }>(EXPIRED, [limit]);
  return rows.map(({ id }) => id);
}

/**
 * Key rows are locked and read under that lock, so that no cached key is billed after it was revoked, expired, reached
 * its limit or lost access to this provider: a change either waits for this statement or is visible to it. Then the
 * accounts are locked in order of address (always keys before accounts), and each hold is taken from what the earlier
 * holds of the batch left of the account and of the key's limit. Credit is used before deposit.
 *
 * The account is updated from the locked balance (`wallet`): PostgreSQL checks constraints on what an update makes of
 * the row as the statement's snapshot has it, before it finds that another transaction has changed it, and would fail
 * if only the locked balance is enough.
 */
const PLACE = `
  with requested as (
    select * from jsonb_to_recordset($1::jsonb) as a(n int, id text, account text, key uuid, minimum numeric,
      maximum numeric, model text, provider text, service_type text, input_price numeric, output_price numeric,
      seconds int, restrictions int, trust_mode text, listed boolean)
  ), live as (
    select k.id, k.account, k.expires_at <= now() as expired, k.terms_version,
      jsonb_build_object('version', k.terms_version, 'models', k.allowed_models, 'providers', k.allowed_providers,
        'trustMode', k.trust_mode)::text as restrictions,
      k.credit_limit - k.held - ${spentSql("k")} as left_over
    from api_key k
    where k.id = any(array(select key from requested)) and k.revoked_at is null order by k.id for no key update
  ), fit as (
    select a.*, l.left_over as key_left_over
    from requested a join live l on l.id = a.key and l.account = a.account
    where l.expired is not true and l.terms_version = a.restrictions
  ), wallet as (
    select address, deposit, credit from account
    where address in (select account from fit) order by address for update
  ), placed as (
    select f.*, w.credit, least(
      w.deposit + w.credit - coalesce(sum(f.maximum) over earlier, 0),
      f.key_left_over - coalesce(sum(f.maximum) over earlier_of_key, 0)) as left_over
    from fit f
    join wallet w on w.address = f.account
    window earlier as (partition by f.account order by f.n rows between unbounded preceding and 1 preceding),
      earlier_of_key as (partition by f.key order by f.n rows between unbounded preceding and 1 preceding)
  ), granted as (
    select *, least(maximum, left_over) as amount from placed where left_over >= minimum
  ), split as (
    select *, least(amount, greatest(credit - coalesce(sum(amount) over earlier, 0), 0)) as from_credit
    from granted
    window earlier as (partition by account order by n rows between unbounded preceding and 1 preceding)
  ), moved as (
    update account w set
      deposit = b.deposit - t.amount + t.from_credit, credit = b.credit - t.from_credit,
      held = w.held + t.amount, held_credit = w.held_credit + t.from_credit
    from (select account, sum(amount) as amount, sum(from_credit) as from_credit from split group by account) t
    join wallet b on b.address = t.account
    where w.address = t.account
    returning w.*
  ), counted as (
    update api_key k set held = k.held + t.amount
    from (select key, sum(amount) as amount from split group by key) t
    where k.id = t.key
    returning k.id, k.credit_limit - k.held - ${spentSql("k")} as left_over
  ), requests as (
    insert into inference_request (id, account, api_key_id, model, provider, service_type, status, input_price,
      output_price, trust_mode)
    select id, account, key, model, provider, service_type, 'running', input_price, output_price, trust_mode
    from split where listed
  ), holds as (
    insert into hold (id, account, api_key_id, amount, from_credit, state, expires_at)
    select id, account, key, amount, from_credit, 'open', now() + make_interval(secs => seconds) from split
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
  select s.amount::text as amount,
    case when l.id is null then 'revoked' when l.expired then 'expired' else 'active' end as key_state,
    case when l.terms_version <> a.restrictions then l.restrictions end as restrictions,
    coalesce(m.deposit + m.credit, w.deposit + w.credit, 0)::text as available,
    coalesce(c.left_over, l.left_over)::text as key_available
  from requested a
  left join split s on s.n = a.n
  left join live l on l.id = a.key and l.account = a.account
  left join wallet w on w.address = a.account
  left join moved m on m.address = a.account
  left join counted c on c.id = a.key
  order by a.n`;

const EXPIRED = `
  select id from hold where state = 'open' and expires_at < now() order by expires_at limit $1::int`;
