import type { Queries } from "../../../db/database.ts";
import {
  encodeCursor,
  invalidCursorOf,
  type PageRequest,
  pageLimit,
  readPageCursor,
  scanOf,
} from "../../../kernel/page.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import type { TokenEventKind, TokenEventRow } from "./token-event-rows.ts";
import {
  type ContractKey,
  listOfToken,
  PLACED,
  type Placed,
  type PlacedRow,
  type TokenKey,
  toPlaced,
} from "./token-rows.ts";

/** Something that happened to a token. */
export type TokenEvent = TokenKey &
  Placed & {
    readonly kind: TokenEventKind;
    readonly blockHash: Hex;
    /** The previous owner, the owner of a clone's original, or who authorised; null where the event has none. */
    readonly from: Hex | null;
    /** The new owner, the receiver, or the user; null where the event has none. */
    readonly to: Hex | null;
    readonly newTokenId: bigint | null;
    /** Null for other events than transfers. */
    readonly withKey: boolean | null;
    /** Whether a reorg reverted it. */
    readonly reverted: boolean;
  };

/** The history of a token, in its cursors. */
const EVENTS = "token-events";

/**
 * Stores events, in their order, that are not stored yet. If a reverted block returns, its events do too, at the
 * position at which they are indexed again.
 */
export async function insertTokenEvents(
  tx: Queries,
  { chainId, contract }: ContractKey,
  rows: readonly TokenEventRow[],
): Promise<void> {
  if (rows.length > 0) await tx.rows(INSERT, [chainId, contract, JSON.stringify(rows)]);
}

/** Marks the events of block `from` and above as reverted. */
export async function revertTokenEvents(
  tx: Queries,
  { chainId, contract }: ContractKey,
  from: bigint,
): Promise<void> {
  await tx.rows(REVERT, [chainId, contract, from.toString()]);
}

/** Deletes events that a reorg reverted more than a day ago. */
export async function forgetRevertedEvents(tx: Queries): Promise<void> {
  await tx.rows(FORGET);
}

/** A token's events, last indexed first, which is newest first except that a reverted event is below what replaced it. */
export async function listTokenEvents(
  queries: Queries,
  chainId: number,
  { contract, tokenId }: TokenKey,
  page: PageRequest,
): Promise<readonly TokenEvent[]> {
  const limit = pageLimit(page);
  const { order, beyond } = scanOf(page, "desc");
  const list = listOfToken(EVENTS, { contract, tokenId });
  const [seq = order === "desc" ? LAST : "-1"] = readPageCursor(page, list, 1) ?? [];
  if (!/^(-1|\d{1,19})$/.test(seq) || BigInt(seq) > BigInt(LAST)) throw invalidCursorOf(page);
  const rows = await queries.rows<EventRow>(
    `${EVENT} and t.seq ${beyond} $4::bigint order by t.seq ${order} limit $5::int`,
    [chainId, contract, tokenId.toString(), seq, limit],
  );
  return rows.map((row) => ({
    contract,
    tokenId,
    ...toPlaced(list, row),
    cursor: encodeCursor(list, row.seq),
    kind: row.kind,
    blockHash: row.block_hash,
    from: row.sender,
    to: row.receiver,
    newTokenId: row.new_token_id === null ? null : BigInt(row.new_token_id),
    withKey: row.with_key,
    reverted: row.reverted,
  }));
}

type EventRow = PlacedRow & {
  seq: string;
  block_hash: Hex;
  kind: TokenEventKind;
  sender: Hex | null;
  receiver: Hex | null;
  new_token_id: string | null;
  with_key: boolean | null;
  reverted: boolean;
};

/** The largest bigint. */
const LAST = "9223372036854775807";

const INSERT = `
  insert into agent_event as t (chain_id, contract, block_number, log_index, block_hash, transaction_hash, token_id,
    kind, sender, receiver, new_token_id, with_key)
  select $1::bigint, $2, r.*
  from jsonb_to_recordset($3::text::jsonb) as r(block_number bigint, log_index int, block_hash text,
    transaction_hash text, token_id numeric, kind text, sender text, receiver text, new_token_id numeric,
    with_key boolean)
  order by r.block_number, r.log_index
  on conflict (chain_id, contract, block_hash, log_index, kind)
    do update set removed_at = null, seq = default, seen_at = now() where t.removed_at is not null`;

const REVERT = `
  update agent_event set removed_at = now()
  where chain_id = $1::bigint and contract = $2 and block_number >= $3::bigint and removed_at is null`;

const FORGET = "delete from agent_event where removed_at < now() - interval '25 hours'";

const EVENT = `
  select ${PLACED}, t.seq::text as seq, t.block_hash, t.kind, t.sender, t.receiver,
    t.new_token_id::text as new_token_id, t.with_key, t.removed_at is not null as reverted
  from agent_event t
  where t.chain_id = $1::bigint and t.contract = $2 and t.token_id = $3::numeric`;
