import { countRows, type RowCount } from "../../../db/count-rows.ts";
import type { Queries } from "../../../db/database.ts";
import { Parameters } from "../../../db/parameters.ts";
import type { SealedKeyCause } from "../../../events/topics.ts";
import type { PageRequest } from "../../../kernel/page.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import {
  type ContractKey,
  IN_CHAIN_ORDER,
  ofContracts,
  PLACED,
  type PlacedRow,
  pageKey,
  pageSql,
  toKey,
  toPlaced,
} from "../tokens/token-rows.ts";
import { type NewSealedKey, SEALED_KEYS, type SealedKey } from "./sealed-key.ts";

/** Selects sealed keys of contracts, a receiver or a token. Reverted keys are never selected. */
export type SealedKeyFilter = {
  /** Keys of these contracts; undefined for all. */
  readonly contracts?: readonly Hex[] | undefined;
  readonly to?: Hex | undefined;
  readonly tokenId?: bigint | undefined;
};

/** Stores sealed keys, and returns those that were not stored yet. If a reverted block returns, its keys do too. */
export async function insertSealedKeys(
  tx: Queries,
  chainId: number,
  keys: readonly NewSealedKey[],
): Promise<readonly SealedKey[]> {
  if (keys.length === 0) return [];
  const rows = await tx.rows<SealedKeyRow>(INSERT, [chainId, JSON.stringify(keys.map(toRow))]);
  return rows.map(toSealedKey);
}

/** Marks the sealed keys of block `from` and above as reverted, and returns them. */
export async function revertSealedKeys(
  tx: Queries,
  { chainId, contract }: ContractKey,
  from: bigint,
): Promise<readonly SealedKey[]> {
  const rows = await tx.rows<SealedKeyRow>(REVERT, [chainId, contract, from.toString()]);
  return rows.map(toSealedKey);
}

/** Deletes sealed keys that a reorg reverted more than a day ago. */
export async function forgetRevertedKeys(tx: Queries): Promise<void> {
  await tx.rows(FORGET);
}

/** Sealed keys, newest first. */
export async function listSealedKeys(
  queries: Queries,
  chainId: number,
  filter: SealedKeyFilter,
  page: PageRequest,
): Promise<readonly SealedKey[]> {
  const where = new Parameters(chainId, ...pageKey(SEALED_KEYS, page));
  const { beyond, order } = pageSql(page);
  const text = `${SEALED_KEY} where ${beyond} and ${conditionsOf(where, filter)} ${order}`;
  return (await queries.rows<SealedKeyRow>(text, where.values)).map(toSealedKey);
}

/** How many sealed keys match a filter. */
export function countSealedKeys(
  queries: Queries,
  chainId: number,
  filter: SealedKeyFilter,
): Promise<RowCount> {
  const where = new Parameters(chainId);
  const text = `select 1 from sealed_key t where ${conditionsOf(where, filter)}`;
  return countRows(queries, { text, values: where.values }, IN_CHAIN_ORDER);
}

function conditionsOf(where: Parameters, filter: SealedKeyFilter): string {
  return [
    "t.chain_id = $1::bigint and t.removed_at is null",
    ...(filter.contracts ? [ofContracts(where, filter.contracts)] : []),
    ...where.when(filter.to, (parameter) => `t.receiver = ${parameter}`),
    ...where.when(filter.tokenId?.toString(), (parameter) => `t.token_id = ${parameter}::numeric`),
  ].join(" and ");
}

/** Sealed keys by id, including recently reverted ones, in no particular order. */
export async function findSealedKeys(
  queries: Queries,
  ids: readonly string[],
): Promise<readonly SealedKey[]> {
  return (await queries.rows<SealedKeyRow>(KEYS_BY_ID, [JSON.stringify(ids)])).map(toSealedKey);
}

type SealedKeyRow = PlacedRow & {
  id: string;
  contract: Hex;
  token_id: string;
  block_hash: Hex;
  sender: Hex | null;
  receiver: Hex;
  cause: SealedKeyCause;
  keys: string;
  key_count: number;
  removed: boolean;
};

function toSealedKey(row: SealedKeyRow): SealedKey {
  return {
    ...toKey(row),
    ...toPlaced(SEALED_KEYS, row),
    id: row.id,
    blockHash: row.block_hash,
    from: row.sender,
    to: row.receiver,
    cause: row.cause,
    keys: JSON.parse(row.keys),
    keyCount: row.key_count,
    removed: row.removed,
  };
}

/** The members are columns of `INSERT`. */
function toRow(key: NewSealedKey): object {
  return {
    id: key.id,
    contract: key.contract,
    token_id: key.tokenId.toString(),
    block_number: key.blockNumber.toString(),
    log_index: key.logIndex,
    block_hash: key.blockHash,
    transaction_hash: key.transactionHash,
    sender: key.from,
    receiver: key.to,
    cause: key.cause,
    keys: key.keys,
    key_count: key.keyCount,
  };
}

const COLUMNS = `${PLACED}, t.id, t.contract, t.token_id::text as token_id, t.block_hash, t.sender, t.receiver, t.cause,
  t.keys::text as keys, t.key_count, t.removed_at is not null as removed`;

const INSERT = `
  insert into sealed_key as t (chain_id, id, contract, block_number, log_index, block_hash, transaction_hash, token_id,
    sender, receiver, cause, keys, key_count)
  select $1::bigint, r.*
  from jsonb_to_recordset($2::text::jsonb) as r(id text, contract text, block_number bigint, log_index int,
    block_hash text, transaction_hash text, token_id numeric, sender text, receiver text, cause text, keys jsonb,
    key_count int)
  on conflict (id) do update set removed_at = null where t.removed_at is not null
  returning ${COLUMNS}`;

const REVERT = `
  update sealed_key t set removed_at = now()
  where t.chain_id = $1::bigint and t.contract = $2 and t.block_number >= $3::bigint and t.removed_at is null
  returning ${COLUMNS}`;

const FORGET = "delete from sealed_key where removed_at < now() - interval '25 hours'";

const SEALED_KEY = `select ${COLUMNS} from sealed_key t`;
const KEYS_BY_ID = `${SEALED_KEY} where t.id in (select jsonb_array_elements_text($1::text::jsonb))`;
