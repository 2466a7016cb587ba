import type { Queries } from "../../db/database.ts";
import type { PageRequest } from "../../kernel/page.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { KeyCause } from "./agent-changes.ts";
import type { SealedKeyEntry } from "./agent-event.ts";
import {
  BELOW,
  NEWEST_FIRST,
  PLACED,
  type Placed,
  type PlacedRow,
  pageKey,
  pick,
  type TokenKey,
  toKey,
  toPlaced,
} from "./token-rows.ts";

/** Keys published for a receiver, aligned with the token's data at that time. */
export type SealedKey = TokenKey &
  Placed & {
    readonly id: string;
    readonly blockHash: Hex;
    readonly from: Hex | null;
    readonly to: Hex;
    readonly cause: KeyCause;
    readonly keys: readonly SealedKeyEntry[];
    readonly keyCount: number;
    readonly removed: boolean;
  };

/** Selects sealed keys of a receiver, a contract or a token. Reverted keys are never selected. */
export type SealedKeyFilter = {
  readonly to?: Hex | undefined;
  readonly contract?: Hex | undefined;
  readonly tokenId?: bigint | undefined;
};

/** Sealed keys, newest first. */
export async function listSealedKeys(
  queries: Queries,
  chainId: number,
  filter: SealedKeyFilter,
  page: PageRequest,
): Promise<readonly SealedKey[]> {
  const { sql, more } = pick(
    [filter.to, "and t.receiver = "],
    [filter.contract, "and t.contract = "],
    [filter.tokenId?.toString(), "and t.token_id = ", "::numeric"],
  );
  const rows = await queries.rows<SealedKeyRow>(listOfKeys(sql), [chainId, ...pageKey(page), ...more]);
  return rows.map(toSealedKey);
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
  cause: KeyCause;
  keys: string;
  key_count: number;
  removed: boolean;
};

function toSealedKey(row: SealedKeyRow): SealedKey {
  return {
    ...toKey(row),
    ...toPlaced(row),
    id: row.id,
    blockHash: row.block_hash,
    from: row.sender,
    to: row.receiver,
    cause: row.cause,
    keys: JSON.parse(row.keys) as SealedKeyEntry[],
    keyCount: row.key_count,
    removed: row.removed,
  };
}

const SEALED_KEY = `
  select ${PLACED}, t.id, t.contract, t.token_id::text as token_id, t.block_hash, t.sender, t.receiver, t.cause,
    t.keys::text as keys, t.key_count, t.removed_at is not null as removed
  from sealed_key t`;
const KEYS_BY_ID = `${SEALED_KEY} where t.id in (select jsonb_array_elements_text($1::text::jsonb))`;
function listOfKeys(conditions: string): string {
  return `${SEALED_KEY}
    where t.chain_id = $1::bigint and t.removed_at is null and ${BELOW} ${conditions} ${NEWEST_FIRST}`;
}
