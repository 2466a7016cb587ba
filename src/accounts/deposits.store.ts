import { countRows, type RowCount } from "../db/count-rows.ts";
import type { Queries } from "../db/database.ts";
import { Parameters } from "../db/parameters.ts";
import {
  encodeCursor,
  invalidCursorOf,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  type Scan,
  scanOf,
  toPage,
} from "../kernel/page.ts";
import type { Hex } from "../kernel/text/hex.ts";
import { readIsoTime } from "../kernel/text/times.ts";

export type DepositStatus = "seen" | "confirmed" | "reverted";

/** A deposit as read from the chain. Amounts are neuron. */
export type NewDeposit = {
  readonly id: string;
  readonly account: Hex;
  readonly amount: bigint;
  readonly chainId: number;
  readonly transactionHash: Hex;
  readonly logIndex: number;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
};

/** A stored deposit. `cursor` is its position in the account's list. */
export type StoredDeposit = NewDeposit & {
  readonly status: DepositStatus;
  readonly seenAt: Date;
  readonly creditedAt: Date | null;
  readonly cursor: string;
};

/** Filters deposits; every condition must hold. Amounts are neuron, and both bounds are inclusive. */
export type DepositFilter = {
  readonly statuses?: readonly DepositStatus[] | undefined;
  readonly minAmount?: bigint | undefined;
  readonly maxAmount?: bigint | undefined;
  /** First seen at this time or later. */
  readonly from?: Date | undefined;
  /** First seen before this time. */
  readonly before?: Date | undefined;
  /** In lower case. */
  readonly transactionHash?: string | undefined;
};

/** A deposit whose status changed, with the fields needed to book and publish it. */
export type DepositChange = { readonly id: string; readonly account: string; readonly amount: bigint };

/**
 * Inserts deposits as `seen` and returns the new ones, by id. Idempotent: a deposit that is already stored is left unchanged,
 * and a reverted one becomes `seen` again in its new block. A reorg may renumber the logs of a transaction, so a
 * reverted row may be reused for another log of the same transaction.
 */
export async function insertSeen(
  tx: Queries,
  deposits: readonly NewDeposit[],
): Promise<readonly DepositChange[]> {
  const requested = deposits.map((deposit) => ({
    id: deposit.id,
    account: deposit.account,
    amount: deposit.amount.toString(),
    chain_id: deposit.chainId,
    transaction_hash: deposit.transactionHash,
    log_index: deposit.logIndex,
    block_number: deposit.blockNumber.toString(),
    block_hash: deposit.blockHash,
  }));
  const changes = (await tx.rows<ChangeRow>(INSERT, [JSON.stringify(requested)])).map(toChange);
  return changes.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Confirms the deposits seen up to block `upTo`, ordered by account, as accounts are locked everywhere. */
export async function confirmSeen(
  tx: Queries,
  chainId: number,
  upTo: bigint,
): Promise<readonly DepositChange[]> {
  return (await tx.rows<ChangeRow>(CONFIRM, [chainId, upTo.toString()])).map(toChange);
}

/** Reverts the deposits seen from block `from` on, and returns them, newest first; confirmed ones are unchanged. */
export async function revertSeen(
  tx: Queries,
  chainId: number,
  from: bigint,
): Promise<readonly DepositChange[]> {
  return (await tx.rows<ChangeRow>(REVERT, [chainId, from.toString()])).map(toChange);
}

/** Marks credited deposits from block `from` on as orphaned. The credit stays. */
export async function markConfirmedReverted(tx: Queries, chainId: number, from: bigint): Promise<void> {
  await tx.rows(ORPHAN, [chainId, from.toString()]);
}

/**
 * Filters out orphans that were mined again: such a transaction is the deposit that was already credited, whatever its
 * block and log index are now, and its row moves to the new position.
 */
export async function withoutOrphans(
  tx: Queries,
  deposits: readonly NewDeposit[],
): Promise<readonly NewDeposit[]> {
  const hashes = [...new Set(deposits.map(({ transactionHash }) => transactionHash))];
  const [{ chainId } = { chainId: 0 }] = deposits;
  const orphans = [...(await tx.rows<OrphanRow>(ORPHANS, [chainId, JSON.stringify(hashes)]))];
  if (orphans.length === 0) return deposits;
  const back: (NewDeposit & { readonly orphan: string })[] = [];
  const news = deposits.filter((deposit) => {
    const index = orphans.findIndex(
      (row) =>
        row.transaction_hash === deposit.transactionHash &&
        row.account === deposit.account &&
        BigInt(row.amount) === deposit.amount,
    );
    const [orphan] = index < 0 ? [] : orphans.splice(index, 1);
    if (orphan) back.push({ ...deposit, orphan: orphan.id });
    return !orphan;
  });
  const moved = back.map((deposit) => ({
    id: deposit.orphan,
    log_index: deposit.logIndex,
    block_number: deposit.blockNumber.toString(),
    block_hash: deposit.blockHash,
  }));
  // Orphans free their positions first, since other logs of their transaction may have them now.
  await tx.rows(LIFT_ORPHANS, [chainId, JSON.stringify(hashes)]);
  await tx.rows(PLACE_ORPHANS, [JSON.stringify(moved)]);
  return news;
}

/** Whether any deposit from block `from` on is confirmed. Orphans are not: an operator accepted that they are gone. */
export async function hasConfirmed(tx: Queries, chainId: number, from: bigint): Promise<boolean> {
  return (await tx.rows(CONFIRMED_FROM, [chainId, from.toString()])).length > 0;
}

/** The list, in its cursors. */
const LIST = "deposits";

/** An account's deposits that a filter matches, newest first, including reverted ones. Their ids order those that were read together. */
export async function listDeposits(
  queries: Queries,
  account: string,
  page: PageRequest,
  filter: DepositFilter = {},
): Promise<Page<StoredDeposit>> {
  const limit = pageLimit(page);
  const { order, beyond } = scanOf(page, "desc");
  const where = new Parameters(account, ...readCursor(page, { order, beyond }), limit);
  const text = `
    select ${COLUMNS} from deposit d
    where (d.seen_at, d.id) ${beyond} ($2::timestamptz, $3) and ${conditionsOf(where, filter)}
    order by d.seen_at ${order}, d.id ${order} limit $4::int`;
  return toPage((await queries.rows<DepositRow>(text, where.values)).map(toDeposit), page);
}

/** How many deposits of an account a filter matches, including reverted ones. */
export function countDeposits(
  queries: Queries,
  account: string,
  filter: DepositFilter = {},
): Promise<RowCount> {
  const where = new Parameters(account);
  const text = `select 1 from deposit d where ${conditionsOf(where, filter)}`;
  return countRows(queries, { text, values: where.values }, "d.seen_at, d.id");
}

function conditionsOf(where: Parameters, filter: DepositFilter): string {
  return [
    "d.account = $1",
    ...where.when(filter.statuses, (parameter) => `d.status = any(${parameter}::text[])`),
    ...where.when(filter.minAmount?.toString(), (parameter) => `d.amount >= ${parameter}::numeric`),
    ...where.when(filter.maxAmount?.toString(), (parameter) => `d.amount <= ${parameter}::numeric`),
    ...where.when(filter.from?.toISOString(), (parameter) => `d.seen_at >= ${parameter}::timestamptz`),
    ...where.when(filter.before?.toISOString(), (parameter) => `d.seen_at < ${parameter}::timestamptz`),
    ...where.when(filter.transactionHash, (parameter) => `d.transaction_hash = ${parameter}::text`),
  ].join(" and ");
}

/** One deposit; undefined for an unknown id. */
export async function findDeposit(queries: Queries, id: string): Promise<StoredDeposit | undefined> {
  return (await queries.rows<DepositRow>(FIND, [id])).map(toDeposit)[0];
}

function readCursor(page: PageRequest, { order }: Scan): readonly string[] {
  const key = readPageCursor(page, LIST, 2);
  if (!key) return [order === "desc" ? "infinity" : "-infinity", ""];
  // With microseconds; the milliseconds must be those of a time.
  const [time = ""] = key;
  if (!/\.\d{6}Z$/.test(time) || !readIsoTime(time.replace(/\d{3}Z$/, "Z"))) throw invalidCursorOf(page);
  return key;
}

type OrphanRow = { id: string; transaction_hash: Hex; account: Hex; amount: string };
type ChangeRow = { id: string; account: string; amount: string };
type DepositRow = {
  id: string;
  account: Hex;
  amount: string;
  status: DepositStatus;
  chain_id: string;
  transaction_hash: Hex;
  log_index: number;
  block_number: string;
  block_hash: Hex;
  seen_at: string;
  credited_at: string | null;
};

function toChange({ id, account, amount }: ChangeRow): DepositChange {
  return { id, account, amount: BigInt(amount) };
}

function toDeposit(row: DepositRow): StoredDeposit {
  return {
    id: row.id,
    account: row.account,
    amount: BigInt(row.amount),
    status: row.status,
    chainId: Number(row.chain_id),
    transactionHash: row.transaction_hash,
    logIndex: row.log_index,
    blockNumber: BigInt(row.block_number),
    blockHash: row.block_hash,
    seenAt: new Date(row.seen_at),
    creditedAt: row.credited_at === null ? null : new Date(row.credited_at),
    cursor: encodeCursor(LIST, row.seen_at, row.id),
  };
}

// Times are read as text with all six digits: a `Date` has three, and a cursor made from it would skip rows.
const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;
const COLUMNS = `id, account, amount::text as amount, status, chain_id::text as chain_id, transaction_hash, log_index,
  block_number::text as block_number, block_hash, to_char(seen_at at time zone 'UTC', ${ISO}) as seen_at,
  to_char(credited_at at time zone 'UTC', ${ISO}) as credited_at`;
const CHANGED = "returning id, account, amount::text as amount";

const INSERT = `
  insert into deposit (id, account, amount, status, chain_id, transaction_hash, log_index, block_number, block_hash)
  select distinct on (chain_id, transaction_hash, log_index)
    id, account, amount, 'seen', chain_id, transaction_hash, log_index, block_number, block_hash
  from jsonb_to_recordset($1::text::jsonb) as a(id text, account text, amount numeric, chain_id bigint,
    transaction_hash text, log_index int, block_number bigint, block_hash text)
  on conflict (chain_id, transaction_hash, log_index) do update
    set status = 'seen', account = excluded.account, amount = excluded.amount,
      block_number = excluded.block_number, block_hash = excluded.block_hash
    where deposit.status = 'reverted'
  ${CHANGED}`;

const CONFIRM = `
  with confirmed as (
    update deposit set status = 'confirmed', credited_at = now()
    where chain_id = $1::bigint and status = 'seen' and block_number <= $2::bigint
    ${CHANGED}
  )
  select * from confirmed order by account, id`;

const REVERT = `
  with reverted as (
    update deposit set status = 'reverted'
    where chain_id = $1::bigint and status = 'seen' and block_number >= $2::bigint
    ${CHANGED}, block_number, log_index
  )
  select id, account, amount from reverted order by block_number desc, log_index desc`;

const ORPHAN = `
  update deposit set orphaned = true
  where chain_id = $1::bigint and status = 'confirmed' and block_number >= $2::bigint`;

const OF_THESE = `
  where chain_id = $1::bigint and orphaned
    and transaction_hash in (select jsonb_array_elements_text($2::text::jsonb))`;
const ORPHANS = `
  select id, transaction_hash, account, amount::text as amount from deposit ${OF_THESE} order by abs(log_index)`;
const LIFT_ORPHANS = `update deposit set log_index = -1 - log_index ${OF_THESE} and log_index >= 0`;
const PLACE_ORPHANS = `
  update deposit set log_index = m.log_index, block_number = m.block_number, block_hash = m.block_hash,
    orphaned = false
  from jsonb_to_recordset($1::text::jsonb) as m(id text, log_index int, block_number bigint, block_hash text)
  where deposit.id = m.id`;

const CONFIRMED_FROM = `
  select id from deposit
  where chain_id = $1::bigint and status = 'confirmed' and not orphaned and block_number >= $2::bigint limit 1`;

const FIND = `select ${COLUMNS} from deposit where id = $1`;
