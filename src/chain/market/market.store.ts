import { countRows, type RowCount } from "../../db/count-rows.ts";
import type { Queries } from "../../db/database.ts";
import { Parameters } from "../../db/parameters.ts";
import {
  encodeChainCursor,
  listOf,
  type Page,
  type PageRequest,
  pageLimit,
  readChainCursor,
  type Scan,
  scanOf,
  toPage,
} from "../../kernel/page.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { ChainLog } from "../watcher/log-handler.ts";
import { type Mark, readMark } from "../watcher/log-watcher.store.ts";
import type { MarketContract } from "./market-contract.ts";
import type { MarketEvent, MarketEventKind } from "./market-event.ts";

/** The market that rows belong to. */
export type MarketKey = { readonly chainId: number; readonly contract: MarketContract };

/** The position of an event in the chain. */
type Place = Pick<ChainLog, "blockNumber" | "logIndex" | "blockHash" | "transactionHash">;
export type PlacedMarketEvent = MarketEvent & { readonly log: Place };

/** A fulfilled order, with the rate at that time; `feeRate` is undefined if no event ever set a rate. */
export type StoredFill = Place & {
  /** The contract of the token. */
  readonly token: Hex;
  readonly tokenId: bigint;
  readonly seller: Hex;
  readonly buyer: Hex;
  /** In the smallest unit of the currency. */
  readonly price: bigint;
  /** An ERC-20 contract; null for the network's own token. */
  readonly currency: Hex | null;
  /** In hundredths of a percent. */
  readonly feeRate: number | undefined;
  readonly seenAt: Date;
  readonly cursor: string;
};

/** A change of an account's balance in the market, neuron. A deposit has `balance`, the other kinds have `amount`. */
export type MarketMove = Place & {
  readonly kind: "deposited" | "withdrawn" | "minted";
  readonly amount: bigint | null;
  readonly balance: bigint | null;
  readonly seenAt: Date;
  readonly cursor: string;
};

/** Selects the fills of a token, those in which an account sold or bought, or all. */
export type FillFilter = { readonly tokenId?: bigint | undefined; readonly account?: Hex | undefined };

/** Inserts events and returns, in chain order, the fills that were not stored yet. */
export async function writeEvents(
  tx: Queries,
  key: MarketKey,
  events: readonly PlacedMarketEvent[],
): Promise<readonly StoredFill[]> {
  if (events.length === 0) return [];
  const rows = events.map(({ log, ...event }) => ({
    chain_id: key.chainId,
    market: key.contract.address,
    block_number: log.blockNumber.toString(),
    log_index: log.logIndex,
    block_hash: log.blockHash,
    transaction_hash: log.transactionHash,
    kind: event.kind,
    account: event.account,
    other: event.other ?? null,
    token_id: event.tokenId?.toString() ?? null,
    amount: event.amount?.toString() ?? null,
    previous: event.previous?.toString() ?? null,
    currency: event.currency ?? null,
  }));
  const written = await tx.rows<{ block_number: string; log_index: number }>(INSERT, [JSON.stringify(rows)]);
  if (written.length === 0) return [];
  return (await tx.rows<FillRow>(FILLS_AT, [...keyParameters(key), JSON.stringify(written)])).map(toFill);
}

/** Deletes the events of block `from` and above, and returns the fills among them, newest first. */
export async function revertEvents(
  tx: Queries,
  key: MarketKey,
  from: bigint,
): Promise<readonly StoredFill[]> {
  const reverted = await tx.rows<FillRow>(FILLS_FROM, [...keyParameters(key), from.toString()]);
  await tx.rows(DELETE, [key.chainId, key.contract.address, from.toString()]);
  return reverted.map(toFill);
}

/** The newest block at or below `upTo` with an event, undefined if there is none. */
export function newestEventBlock(
  queries: Queries,
  { chainId, contract }: MarketKey,
  upTo: bigint,
): Promise<Mark | undefined> {
  return readMark(queries, NEWEST_BLOCK, [chainId, contract.address, upTo.toString()]);
}

const IN_CHAIN_ORDER = "event.block_number, event.log_index";

/** The lists, in their cursors. */
const LISTS = { fills: "market-fills", moves: "market-moves" } as const;

/** Fills that match a filter, newest first. */
export async function listFills(
  queries: Queries,
  key: MarketKey,
  filter: FillFilter,
  page: PageRequest,
): Promise<Page<StoredFill>> {
  const limit = pageLimit(page);
  const scan = scanOf(page, "desc");
  const where = new Parameters(...keyParameters(key), ...readChainCursor(page, LISTS.fills, scan), limit);
  const text = `${FILLS} and ${beyond(scan, 4)} and ${fillConditions(where, filter)}
    order by event.block_number ${scan.order}, event.log_index ${scan.order} limit $6::int`;
  return toPage((await queries.rows<FillRow>(text, where.values)).map(toFill), page);
}

/** How many fills match a filter. */
export function countFills(
  queries: Queries,
  { chainId, contract }: MarketKey,
  filter: FillFilter,
): Promise<RowCount> {
  const where = new Parameters(chainId, contract.address);
  const text = `select 1 from market_event as event where ${FULFILLED} and ${fillConditions(where, filter)}`;
  return countRows(queries, { text, values: where.values }, IN_CHAIN_ORDER);
}

function fillConditions(where: Parameters, { tokenId, account }: FillFilter): string {
  return [
    "true",
    ...where.when(tokenId?.toString(), (parameter) => `event.token_id = ${parameter}::numeric`),
    ...where.when(account, (parameter) => `(event.account = ${parameter} or event.other = ${parameter})`),
  ].join(" and ");
}

/** Changes of an account's balance in the market, newest first. */
export async function listMoves(
  queries: Queries,
  { chainId, contract }: MarketKey,
  account: Hex,
  page: PageRequest,
): Promise<Page<MarketMove>> {
  const limit = pageLimit(page);
  const scan = scanOf(page, "desc");
  const list = listOf(LISTS.moves, account);
  const place = readChainCursor(page, list, scan);
  const text = `
    select ${PLACE}, event.kind, event.amount::text as amount from market_event as event
    where ${MOVED} and ${beyond(scan, 4)}
    order by event.block_number ${scan.order}, event.log_index ${scan.order} limit $6::int`;
  const parameters = [chainId, contract.address, account, ...place, limit];
  const rows = await queries.rows<MoveRow>(text, parameters);
  return toPage(
    rows.map((row) => toMove(list, row)),
    page,
  );
}

/** How many times an account's balance in the market has changed. */
export function countMoves(
  queries: Queries,
  { chainId, contract }: MarketKey,
  account: Hex,
): Promise<RowCount> {
  const text = `select 1 from market_event as event where ${MOVED}`;
  return countRows(queries, { text, values: [chainId, contract.address, account] }, IN_CHAIN_ORDER);
}

/** The token contract of the market's latest `token-set` event, undefined if there is none. */
export async function latestToken(
  queries: Queries,
  { chainId, contract }: MarketKey,
): Promise<Hex | undefined> {
  const rows = await queries.rows<{ token: Hex }>(LATEST_TOKEN, [chainId, contract.address]);
  return rows[0]?.token;
}

function keyParameters({ chainId, contract }: MarketKey): readonly [number, Hex, Hex] {
  return [chainId, contract.address, contract.token];
}

type PlaceRow = {
  block_number: string;
  log_index: number;
  block_hash: Hex;
  transaction_hash: Hex;
  seen_at_ms: string;
};
type FillRow = PlaceRow & {
  token: Hex;
  token_id: string;
  account: Hex;
  other: Hex;
  amount: string;
  currency: Hex | null;
  fee_rate: string | null;
};
type MoveRow = PlaceRow & { kind: MarketEventKind; amount: string };

function toPlace(list: string, row: PlaceRow) {
  return {
    blockNumber: BigInt(row.block_number),
    logIndex: row.log_index,
    blockHash: row.block_hash,
    transactionHash: row.transaction_hash,
    seenAt: new Date(Number(row.seen_at_ms)),
    cursor: encodeChainCursor(list, row.block_number, row.log_index),
  };
}

function toFill(row: FillRow): StoredFill {
  return {
    ...toPlace(LISTS.fills, row),
    token: row.token,
    tokenId: BigInt(row.token_id),
    seller: row.account,
    buyer: row.other,
    price: BigInt(row.amount),
    currency: row.currency,
    feeRate: row.fee_rate === null ? undefined : Number(row.fee_rate),
  };
}

function toMove(list: string, row: MoveRow): MarketMove {
  const kind = row.kind as MarketMove["kind"];
  const amount = BigInt(row.amount);
  return {
    ...toPlace(list, row),
    kind,
    amount: kind === "deposited" ? null : amount,
    balance: kind === "deposited" ? amount : null,
  };
}

const PLACE = `event.block_number::text as block_number, event.log_index, event.block_hash, event.transaction_hash,
  floor(extract(epoch from event.seen_at) * 1000)::bigint::text as seen_at_ms`;

const INSERT = `
  insert into market_event (chain_id, market, block_number, log_index, block_hash, transaction_hash, kind, account, other,
    token_id, amount, previous, currency)
  select * from jsonb_to_recordset($1::text::jsonb) as a(chain_id bigint, market text, block_number bigint, log_index int,
    block_hash text, transaction_hash text, kind text, account text, other text, token_id numeric, amount numeric,
    previous numeric, currency text)
  on conflict do nothing
  returning block_number::text as block_number, log_index`;

const DELETE =
  "delete from market_event where chain_id = $1::bigint and market = $2 and block_number >= $3::bigint";

/** The value in force at an event: the new value of the latest change before it, else the old value of the next one. */
function inForce(kind: MarketEventKind, newValue: string, oldValue: string): string {
  const from = `from market_event as change
      where change.chain_id = event.chain_id and change.market = event.market and change.kind = '${kind}'`;
  const place = "(change.block_number, change.log_index)";
  return `coalesce(
      (select change.${newValue} ${from} and ${place} < (event.block_number, event.log_index)
        order by change.block_number desc, change.log_index desc limit 1),
      (select change.${oldValue} ${from} and ${place} > (event.block_number, event.log_index)
        order by change.block_number, change.log_index limit 1))`;
}

const FULFILLED = "event.chain_id = $1::bigint and event.market = $2 and event.kind = 'fulfilled'";
/** Of the account `$3`. */
const MOVED = `event.chain_id = $1::bigint and event.market = $2 and (
    (event.kind in ('deposited', 'withdrawn') and event.account = $3) or (event.kind = 'minted' and event.other = $3))`;

const FILLS = `
  select ${PLACE}, event.token_id::text as token_id, event.account, event.other, event.amount::text as amount,
    event.currency, coalesce(${inForce("token-set", "account", "other")}, $3) as token,
    ${inForce("fee-rate-set", "amount", "previous")}::text as fee_rate
  from market_event as event
  where ${FULFILLED}`;

const FILLS_AT = `${FILLS} and (event.block_number, event.log_index) in (
    select block_number, log_index from jsonb_to_recordset($4::text::jsonb) as a(block_number bigint, log_index int))
  order by event.block_number, event.log_index`;

const FILLS_FROM = `${FILLS} and event.block_number >= $4::bigint
  order by event.block_number desc, event.log_index desc`;

const beyond = (scan: Scan, n: number) =>
  `(event.block_number, event.log_index) ${scan.beyond} ($${n}::bigint, $${n + 1}::int)`;

const NEWEST_BLOCK = `
  select block_number::text as number, block_hash as hash from market_event
  where chain_id = $1::bigint and market = $2 and block_number <= $3::bigint order by block_number desc limit 1`;

const LATEST_TOKEN = `
  select account as token from market_event where chain_id = $1::bigint and market = $2 and kind = 'token-set'
  order by block_number desc, log_index desc limit 1`;
