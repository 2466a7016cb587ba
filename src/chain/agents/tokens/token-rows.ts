import type { Parameters } from "../../../db/parameters.ts";
import {
  encodeChainCursor,
  listOf,
  type PageRequest,
  pageLimit,
  readChainCursor,
  type Scan,
  scanOf,
} from "../../../kernel/page.ts";
import type { Hex } from "../../../kernel/text/hex.ts";

/** The contract that rows belong to. */
export type ContractKey = { readonly chainId: number; readonly contract: Hex };

/** Identifies a token. */
export type TokenKey = { readonly contract: Hex; readonly tokenId: bigint };

/** The chain position and time of an event. `cursor` is its position in its list. */
export type Placed = {
  readonly blockNumber: bigint;
  readonly logIndex: number;
  readonly transactionHash: Hex;
  readonly seenAt: Date;
  readonly cursor: string;
};

export const ZERO_ADDRESS = `0x${"0".repeat(40)}`;

/** The columns of `PLACED`. */
export type PlacedRow = {
  block_number: string;
  log_index: number;
  transaction_hash: Hex;
  seen_at_ms: string;
};

export function toKey({
  contract,
  token_id,
}: {
  readonly contract: Hex;
  readonly token_id: string;
}): TokenKey {
  return { contract, tokenId: BigInt(token_id) };
}

export function toPlaced(
  list: string,
  { block_number, log_index, transaction_hash, seen_at_ms }: PlacedRow,
): Placed {
  return {
    blockNumber: BigInt(block_number),
    logIndex: log_index,
    transactionHash: transaction_hash,
    seenAt: new Date(Number(seen_at_ms)),
    cursor: encodeChainCursor(list, block_number, log_index),
  };
}

/** The name of a token's list in its cursors. */
export function listOfToken(list: string, { contract, tokenId }: TokenKey): string {
  return listOf(list, contract, tokenId.toString());
}

/** The JSON parameter of statements that take several tokens. */
export function toJson(keys: readonly TokenKey[]): string {
  return JSON.stringify(keys.map(({ contract, tokenId }) => ({ contract, token_id: tokenId.toString() })));
}

/** In events the zero address means no account. */
export function orNull(address: Hex): Hex | null {
  return address === ZERO_ADDRESS ? null : address;
}

/**
 * Selects the rows of these contracts. Each is a parameter of its own, so that the planner can estimate how many rows they
 * select.
 */
export function ofContracts(where: Parameters, contracts: readonly Hex[]): string {
  const parameters = contracts.map((contract) => where.add(contract));
  return parameters.length > 0 ? `t.contract in (${parameters.join(", ")})` : "false";
}

/** The exclusive bound of a page as block and log index, and the number of rows to read. */
export function pageKey(list: string, page: PageRequest): readonly [string, string, number] {
  const limit = pageLimit(page);
  return [...readChainCursor(page, list, scanOf(page, "desc")), limit];
}

/** The columns of an event's place, in every list statement; events are named `t`. */
export const PLACED = `t.block_number::text as block_number, t.log_index, t.transaction_hash,
  floor(extract(epoch from t.seen_at) * 1000)::bigint::text as seen_at_ms`;

/** The order of a list of events, to count them. */
export const IN_CHAIN_ORDER = "t.block_number, t.log_index";

/** The bound from `pageKey`, whose parameters follow the chain's, and the order of a list of events. */
export function pageSql(page: PageRequest): { readonly beyond: string; readonly order: string } {
  const { order, beyond }: Scan = scanOf(page, "desc");
  return {
    beyond: `(t.block_number, t.log_index) ${beyond} ($2::bigint, $3::int)`,
    order: `order by t.block_number ${order}, t.log_index ${order} limit $4::int`,
  };
}
