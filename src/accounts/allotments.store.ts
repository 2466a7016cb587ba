import type { Queries } from "../db/database.ts";
import { newId } from "../kernel/text/ids.ts";
import {
  HOLD_ANSWER,
  type HoldAnswer,
  type HoldAnswerRow,
  type HoldRequest,
  hasOtherAllotments,
  LIVE_KEYS,
  toHoldAnswer,
} from "./holds.store.ts";
import { spentSql } from "./key-spending.ts";
import { balanceChanged } from "./ledger.store.ts";
import { costOf, END_COLUMNS, OUTCOME_TYPES, outcomeOf, type Settlement } from "./settlements.store.ts";

/** The seconds for which a process may admit requests on its allotments after it renewed its lease. */
export const LEASE_SECONDS = 2;

/**
 * An allotment as the database has it. `open`: its process may admit requests on what is unused. `recalled`: the unused
 * part is needed elsewhere, or the key was changed. `closed`: nothing is unused; the amount covers requests in progress.
 */
export type AllotmentRow = {
  readonly id: string;
  readonly account: string;
  readonly keyId: string;
  readonly amount: bigint;
  readonly state: "open" | "recalled" | "closed";
};

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
  const rows = requests.map(({ account, keyId, minimum, maximum, restrictionsVersion = 0 }, n) => {
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
    };
  });
  const taken = await queries.rows<TakenRow>(TAKE, [JSON.stringify(rows), processId, newId()]);
  return taken.map((row) => ({
    ...toHoldAnswer(row),
    allotment: row.id === null ? undefined : toAllotment(row),
    keyLastsMs: row.key_lasts_ms === null ? undefined : Number(row.key_lasts_ms),
  }));
}

/** The end of a request that an allotment pays for, and what its process has set aside for it there, neuron. */
export type AllottedSettlement = {
  readonly settlement: Settlement;
  readonly request: HoldRequest;
  readonly allotmentId: string;
  readonly covered: bigint;
};

/** The amount that a process keeps of an allotment, neuron; `isOver` if no request of it is in progress. */
export type Return = {
  readonly allotmentId: string;
  readonly account: string;
  readonly keyId: string;
  readonly keep: bigint;
  readonly isOver: boolean;
};

/** What a batch of settlements did: the amount charged per settlement, undefined for a request that had already ended. */
export type Settled = {
  readonly charged: readonly (bigint | undefined)[];
  /** The allotments that were changed and still exist. */
  readonly allotments: readonly AllotmentRow[];
};

/**
 * Ends a batch of requests and returns what is not needed of allotments, in one statement: nearly always the short one,
 * for which nothing is returned and each request stays within what was set aside for it.
 */
export async function settleAllotted(
  queries: Queries,
  settlements: readonly AllottedSettlement[],
  returns: readonly Return[],
): Promise<Settled> {
  const isCovered = settlements.every(({ settlement, covered }) => covered === costOf(settlement));
  const settled = returns.length === 0 && isCovered ? await settleCovered(queries, settlements) : undefined;
  return settled ?? settleAny(queries, settlements, returns);
}

/** See `SETTLE_COVERED`. Undefined, and then nothing was changed, if an allotment does not have what was set aside. */
async function settleCovered(
  queries: Queries,
  settlements: readonly AllottedSettlement[],
): Promise<Settled | undefined> {
  type Total = { id: string; account: string; key: string; charged: bigint; used: number };
  const totals = new Map<string, Total>();
  const usedOf = new Map<string, number>();
  const ends = settlements.map((end, n) => {
    const { settlement, request, allotmentId: id, covered } = end;
    const { account, keyId: key } = request;
    const total = totals.get(id) ?? { id, account, key, charged: 0n, used: 0 };
    const before = total.charged;
    const isUsed = isUsage(settlement);
    const usage = (usedOf.get(account) ?? 0) + (isUsed ? 1 : 0);
    usedOf.set(account, usage);
    totals.set(id, { ...total, charged: before + covered, used: total.used + (isUsed ? 1 : 0) });
    return Object.assign(toEnd(end, n), {
      before: before.toString(),
      usage: isUsed ? usage : undefined,
    });
  });
  const changes = [...totals.values()].map((total) => ({ ...total, charged: total.charged.toString() }));
  const parameters = [JSON.stringify(ends), JSON.stringify(changes)];
  const rows = await queries.rows<StoredAllotment>(SETTLE_COVERED, parameters).catch((error: unknown) => {
    if (Object(error).code === ENDED_BEFORE) return [];
    throw error;
  });
  if (rows.length === 0) return undefined;
  return { charged: settlements.map(({ covered }) => covered), allotments: rows.map(toAllotment) };
}

async function settleAny(
  queries: Queries,
  settlements: readonly AllottedSettlement[],
  returns: readonly Return[],
): Promise<Settled> {
  const ends = settlements.map(toEnd);
  const kept = returns.map(({ allotmentId: id, account, keyId: key, keep, isOver }) => ({
    ...{ id, account, key, keep: keep.toString(), is_over: isOver, transfer: newId() },
  }));
  const rows = await queries.rows<SettledRow>(SETTLE, [JSON.stringify(ends), JSON.stringify(kept)]);
  const charged: (bigint | undefined)[] = settlements.map(() => undefined);
  const allotments: AllotmentRow[] = [];
  for (const row of rows) {
    if (row.n === null) allotments.push(toAllotment(row));
    else charged[row.n] = BigInt(row.charged);
  }
  return { charged, allotments };
}

function toEnd({ settlement, request, allotmentId, covered }: AllottedSettlement, n: number) {
  return Object.assign(outcomeOf(settlement, n, settlement.answeredBy ?? request), {
    account: request.account,
    key: request.keyId,
    allotment: allotmentId,
    covered: covered.toString(),
    model: request.model,
    service_type: request.serviceType,
  });
}

/** Whether the request counts as usage: it was charged, or completed at a price of zero. */
function isUsage(settlement: Settlement): boolean {
  const isAnswered = settlement.outcome === "completed" && settlement.inputTokens !== undefined;
  return isAnswered || costOf(settlement) > 0n;
}

/**
 * Renews the lease of a process, and reads its allotments. `isNew` if it had none, or had lost it: then its allotments
 * of before are gone.
 */
export async function renewLease(
  queries: Queries,
  processId: string,
): Promise<{ isNew: boolean; allotments: readonly AllotmentRow[] }> {
  const rows = await queries.rows<{ is_new: boolean } & (StoredAllotment | { readonly id: null })>(RENEW, [
    processId,
  ]);
  return {
    isNew: rows[0]?.is_new ?? true,
    allotments: rows.flatMap((row) => (row.id === null ? [] : [toAllotment(row)])),
  };
}

/** Ends the lease of a process that holds nothing any more. */
export async function endLease(queries: Queries, processId: string): Promise<void> {
  await queries.rows(END_LEASE, [processId]);
}

/**
 * Asks the processes for the unused part of all allotments of an account, except of the one of that process for that
 * key. Returns the ids of those that are recalled, and were recalled by others before.
 */
export async function recallAllotments(
  queries: Queries,
  account: string,
  except?: { readonly keyId: string; readonly processId: string },
): Promise<readonly string[]> {
  const rows = await queries.rows<{ id: string }>(RECALL, [account, except?.keyId, except?.processId]);
  return rows.map(({ id }) => id);
}

/** As `recallAllotments`, all those of one key, in the transaction that changes the key. */
export async function recallAllotmentsOfKey(tx: Queries, keyId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ id: string }>(RECALL_KEY, [keyId]);
  return rows.map(({ id }) => id);
}

/** Whether one of these allotments is still recalled: its process has not returned the unused part yet. */
export async function areRecalled(queries: Queries, ids: readonly string[]): Promise<boolean> {
  return (await queries.rows(RECALLED, [JSON.stringify(ids)])).length > 0;
}

/** A process whose lease is over, and the time at which it was. */
export type EndedLease = { readonly processId: string; readonly expiredAt: string };

/** The processes whose leases are over by the database's clock. */
export async function findEndedLeases(queries: Queries, limit: number): Promise<readonly EndedLease[]> {
  const rows = await queries.rows<{ id: string; at: string }>(ENDED_LEASES, [limit]);
  return rows.map(({ id, at }) => ({ processId: id, expiredAt: at }));
}

/**
 * Releases up to `limit` allotments of processes whose leases ended then and were not renewed since, and ends their
 * requests that are listed as running, uncharged. Returns the number of allotments released.
 */
export async function releaseLost(
  queries: Queries,
  leases: readonly EndedLease[],
  limit: number,
): Promise<number> {
  const rows = await queries.rows<{ released: string }>(RELEASE_LOST, [
    JSON.stringify(leases.map(({ processId, expiredAt }) => ({ id: processId, at: expiredAt }))),
    limit,
  ]);
  return Number(rows[0]?.released ?? 0);
}

/** A request to be listed as running, and the time since its admission. */
export type RunningRequest = {
  readonly request: HoldRequest;
  readonly allotmentId: string;
  readonly ageMs: number;
};

/** Lists requests as running, unless their allotment is gone. */
export async function listRunning(queries: Queries, requests: readonly RunningRequest[]): Promise<void> {
  const rows = requests.map(({ request, allotmentId, ageMs }) => ({
    id: request.id,
    account: request.account,
    key: request.keyId,
    allotment: allotmentId,
    model: request.model,
    provider: request.provider,
    service_type: request.serviceType,
    input_price: request.inputPrice.toString(),
    output_price: request.outputPrice.toString(),
    trust_mode: request.trustMode ?? "standard",
    age_ms: Math.round(ageMs),
  }));
  await queries.rows(LIST, [JSON.stringify(rows)]);
}

type StoredAllotment = {
  readonly id: string;
  readonly account: string;
  readonly api_key_id: string;
  readonly amount: string;
  readonly state: AllotmentRow["state"];
};
type TakenRow = HoldAnswerRow & { readonly key_lasts_ms: string | null } & (
    | StoredAllotment
    | { readonly id: null }
  );
type SettledRow = { readonly n: number; readonly charged: string } | ({ readonly n: null } & StoredAllotment);

function toAllotment({ id, account, api_key_id, amount, state }: StoredAllotment): AllotmentRow {
  return { id, account, keyId: api_key_id, amount: BigInt(amount), state };
}

/** In advance, at most this part of what an account, or a key's limit, has left: others may need the rest. */
const SHARE = 8;

/** The SQLSTATE of a settlement whose request has ended before. */
const ENDED_BEFORE = "ZG001";

/** SQL for an allotment's columns, in the form of `StoredAllotment`. */
const columnsOf = (
  row: string,
) => `${row}.id::text as id, ${row}.account, ${row}.api_key_id::text as api_key_id,
    ${row}.amount::text as amount, ${row}.state`;

/** SQL: whether a request has not ended, or only seemed to, as its process did not renew its lease. */
const mayEnd = (row: string) => `(${row}.status = 'running'
      or ${row}.status = 'failed' and ${row}.error_code = 'expired' and ${row}.allotment_id is not null)`;

/**
 * Key rows are locked and read under that lock, so that no cached key is billed after it was revoked, expired, reached
 * its limit or lost access to this provider: a change either waits for this statement or is visible to it. Then the
 * accounts are locked in order of address, and the allotments in order of id (always keys, accounts, allotments).
 *
 * Each request is granted what the earlier ones of the batch left of the account, of the key's limit and of the unused
 * part of the process's own allotment. What that part does not cover is taken, and something in advance. Credit is
 * taken before deposit.
 *
 * The account is updated from the locked balance (`wallet`), as in `PLACE`: see there.
 */
const TAKE = `
  with requested as (
    select * from jsonb_to_recordset($1::jsonb) as a(n int, account text, key uuid, minimum numeric, maximum numeric,
      restrictions int, known uuid, made uuid, reserved numeric, extra numeric)
  ), live as (
    ${LIVE_KEYS}
  ), fit as (
    select a.*, l.left_over as key_left_over
    from requested a join live l on l.id = a.key and l.account = a.account
    where l.expired is not true and l.terms_version = a.restrictions
  ), wallet as (
    select address, deposit, credit from account
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
    join wallet w on w.address = f.account
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
  ), leased as (
    insert into process_lease (id, expires_at)
    select $2::uuid, now() + interval '${LEASE_SECONDS} seconds' where exists (select 1 from split)
    on conflict (id) do nothing
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
  select ${HOLD_ANSWER}, l.lasts_ms::text as key_lasts_ms,
    ${columnsOf("s")},
    g.n is null and ${hasOtherAllotments("a.account", "not (o.process_id = $2::uuid and o.api_key_id = a.key)")}
      as is_elsewhere
  from requested a
  left join granted g on g.n = a.n
  left join live l on l.id = a.key and l.account = a.account
  left join stored s on s.api_key_id = a.key
  left join wallet w on w.address = a.account
  left join moved m on m.address = a.account
  left join counted c on c.id = a.key
  order by a.n`;

const END_TYPES = `${OUTCOME_TYPES}, account text, key uuid, allotment uuid, covered numeric,
      model text, service_type text`;

/** SQL for the columns of a request row that its end (`a`) determines, except what it was charged. */
const ENDED = `a.model, a.service_type, now() - coalesce(a.duration_ms, 0) * interval '1 millisecond' as created_at,
      a.outcome as status, a.input_tokens, a.output_tokens, a.cached as cached_tokens,
      a.cache_write as cache_write_tokens, a.cache_write_1h as cache_write_1h_tokens, a.estimated as usage_estimated,
      a.error_code, a.first_byte_ms, a.duration_ms, now() as finished_at, a.provider, a.input_price, a.output_price,
      a.trust_mode, a.units, a.routing`;

/** SQL that records ended requests, each whole: it replaces the row of one that is listed as running. */
const RECORD = `
    insert into inference_request as r (id, account, api_key_id, model, service_type, created_at,
      ${END_COLUMNS.join(", ")})
    select id, account, api_key_id, model, service_type, created_at, ${END_COLUMNS.join(", ")} from ended
    on conflict (id) do update set ${END_COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}
      where ${mayEnd("r")}
    returning r.id`;

/**
 * The settlement of nearly every request: see `SETTLE`, of which this is the case that nothing is returned and no cost
 * exceeds what was set aside. A statement costs as much to start as it has parts, so this one has few: sums are made by
 * the process. `before` is what earlier requests of the batch are charged to the same allotment, and `usage` counts
 * those of the account that are usage. If an allotment does not have the amount, nothing is done, and no row returned;
 * if a request has ended already, as the insert finds, it fails with `ENDED_BEFORE`.
 */
const SETTLE_COVERED = `
  with given as (
    select * from jsonb_to_recordset($1::jsonb) as a(${END_TYPES}, before numeric, usage int)
  ), totals as (
    select * from jsonb_to_recordset($2::jsonb) as a(id uuid, account text, key uuid, charged numeric, used int)
  ), keys as (
    select id from api_key where id = any(array(select key from totals)) order by id for no key update
  ), wallet as (
    select address from account
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
    select a.id, a.account, a.key as api_key_id, ${ENDED}, a.input_cost, a.output_cost, a.covered as total_cost,
      c.credit as credit_used, a.covered - c.credit as deposit_used, m.counted + a.usage as usage_number,
      case when a.usage is not null then nextval('usage_id') end as usage_id
    from given a
    join changes t on t.id = a.allotment
    join moved m on m.address = a.account
    cross join lateral (select least(a.covered, greatest(t.from_credit - a.before, 0)) as credit) c
  ), recorded as (${RECORD}
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
  where case when (select count(*) from recorded) = (select count(*) from ended) then true
    else refuse_settlement('${ENDED_BEFORE}') end`;

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
const SETTLE = `
  with given as (
    select * from jsonb_to_recordset($1::jsonb) as a(${END_TYPES})
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
    select address, deposit, credit from account
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
      case when s.used = 1 then nextval('usage_id') end as usage_id
    from requested a join shares s on s.n = a.n join moved m on m.address = s.account
  ), recorded as (${RECORD}
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
  where case when (select count(*) from recorded) = (select count(*) from shares) then true
    else refuse_settlement('40001') end
  union all
  select null, null, ${columnsOf("spent")} from spent`;

const RENEW = `
  with renewed as (
    insert into process_lease as l (id, expires_at) values ($1::uuid, now() + interval '${LEASE_SECONDS} seconds')
    on conflict (id) do update set expires_at = excluded.expires_at
    returning l.xmax = 0 as is_new
  )
  select r.is_new, ${columnsOf("a")}
  from renewed r left join allotment a on a.process_id = $1::uuid`;

const END_LEASE = `
  delete from process_lease l
  where l.id = $1::uuid and not exists (select 1 from allotment a where a.process_id = l.id)`;

const recall = (which: string) => `
  with locked as (
    select a.id from allotment a where ${which} and a.state <> 'closed' order by a.id for no key update
  ), recalled as (
    update allotment a set state = 'recalled' from locked where a.id = locked.id and a.state <> 'closed'
    returning a.id, a.account
  ), events as (
    insert into outbox (topic, subject, data)
    select 'allotment.recalled', account, jsonb_build_object('account', account)
    from (select distinct account from recalled) as u
  )
  select id::text as id from recalled`;

const RECALL = recall("a.account = $1 and (a.api_key_id = $2::uuid and a.process_id = $3::uuid) is not true");

const RECALL_KEY = recall("a.api_key_id = $1::uuid");

const RECALLED = `
  select 1 from allotment
  where id = any(array(select value::uuid from jsonb_array_elements_text($1::jsonb))) and state = 'recalled' limit 1`;

const ENDED_LEASES = `
  select id::text as id, expires_at::text as at from process_lease
  where expires_at < now() order by expires_at limit $1::int`;

/**
 * The lease is locked and must be as it was seen: a process that renews it meanwhile keeps its allotments. Keys and
 * accounts are updated from what they held under their locks, as in `PLACE`.
 */
const RELEASE_LOST = `
  with lost as (
    select l.id from process_lease l
    join jsonb_to_recordset($1::jsonb) as e(id uuid, at timestamptz) on l.id = e.id and l.expires_at = e.at
    order by l.id for update of l
  ), named as (
    select a.id, a.account, a.api_key_id from allotment a where a.process_id in (select id from lost) limit $2::int
  ), keys as (
    select k.id, k.held from api_key k where k.id in (select api_key_id from named) order by k.id for no key update
  ), wallet as (
    select address, held, held_credit from account
    where address in (select account from named) and (select count(*) from keys) >= 0 order by address for update
  ), gone as (
    delete from allotment p
    where p.id in (select id from named) and (select count(*) from wallet) >= 0
    returning p.*
  ), counted as (
    update api_key k set held = b.held - t.amount
    from (select api_key_id, sum(amount) as amount from gone group by api_key_id) t join keys b on b.id = t.api_key_id
    where k.id = t.api_key_id
  ), moved as (
    update account w set deposit = w.deposit + t.amount - t.from_credit, credit = w.credit + t.from_credit,
      held = b.held - t.amount, held_credit = b.held_credit - t.from_credit
    from (select account, sum(amount) as amount, sum(from_credit) as from_credit from gone group by account) t
    join wallet b on b.address = t.account
    where w.address = t.account
    returning w.*
  ), failed as (
    update inference_request r set status = 'failed', error_code = 'expired', finished_at = now(),
      input_cost = 0, output_cost = 0, total_cost = 0, credit_used = 0, deposit_used = 0
    from gone where r.allotment_id = gone.id and r.status = 'running'
  ), transfers as (
    insert into ledger_transfer (transfer_id, from_book, to_book, account, amount, cause)
    select 'lost:' || g.id, 'held', t.to_book, g.account, t.amount, 'expired'
    from gone g, lateral (values ('deposit', g.amount - g.from_credit), ('credit', g.from_credit))
      as t(to_book, amount)
    where t.amount > 0
  ), events as (
    insert into outbox (topic, subject, data)
    select 'balance.changed', m.address, ${balanceChanged("m", "'release'", "null")} from moved m
  ), ended as (
    delete from process_lease l
    where l.id in (select id from lost)
      and not exists (select 1 from allotment a where a.process_id = l.id and a.id not in (select id from gone))
  )
  select count(*)::text as released from gone`;

/** The allotment is locked, so that its requests cannot end as lost at the same moment. */
const LIST = `
  with requested as (
    select * from jsonb_to_recordset($1::jsonb) as a(id text, account text, key uuid, allotment uuid, model text,
      provider text, service_type text, input_price numeric, output_price numeric, trust_mode text, age_ms int)
  ), existing as (
    select id from allotment where id = any(array(select allotment from requested)) order by id for key share
  )
  insert into inference_request (id, account, api_key_id, allotment_id, model, provider, service_type, status,
    input_price, output_price, trust_mode, created_at)
  select a.id, a.account, a.key, a.allotment, a.model, a.provider, a.service_type, 'running', a.input_price,
    a.output_price, a.trust_mode, now() - a.age_ms * interval '1 millisecond'
  from requested a join existing e on e.id = a.allotment
  on conflict (id) do nothing`;
