import { type Mark, readMark } from "../chain/watcher/log-watcher.store.ts";
import type { Queries } from "../db/database.ts";

/** The newest block at or below `upTo` with a deposit that was not reverted, undefined if there is none. */
export function newestDepositBlock(
  queries: Queries,
  chainId: number,
  upTo: bigint,
): Promise<Mark | undefined> {
  return readMark(queries, NEWEST_BLOCK, [chainId, upTo.toString()]);
}

const NEWEST_BLOCK = `
  select block_number::text as number, block_hash as hash from deposit
  where chain_id = $1::bigint and block_number <= $2::bigint and status <> 'reverted' and not orphaned
  order by block_number desc limit 1`;
