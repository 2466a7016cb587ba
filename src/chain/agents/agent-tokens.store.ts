import type { Queries } from "../../db/database.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/hex.ts";
import { decodeCursor, encodeCursor, type PageRequest, pageLimit } from "../../kernel/page.ts";
import type { AuthorizationEnd, KeyCause } from "./agent-changes.ts";
import type { IntelligentData, SealedKeyEntry } from "./agent-event.ts";

/** Names a token. */
export type TokenKey = { readonly contract: Hex; readonly tokenId: bigint };

/** Where and when something happened. `cursor` is its place in every list. */
type Placed = {
  readonly blockNumber: bigint;
  readonly logIndex: number;
  readonly transactionHash: Hex;
  readonly seenAt: Date;
  readonly cursor: string;
};

/** A token as it stands. `owner` is null once it was burned. */
export type StoredToken = TokenKey &
  Placed & {
    readonly owner: Hex | null;
    readonly creator: Hex | null;
    readonly datas: readonly IntelligentData[];
    readonly clonedFrom: bigint | null;
    readonly movedWithoutKey: boolean;
  };

/** A move of a token. A mint comes from, and a burn goes to, null. */
export type TokenTransfer = TokenKey &
  Placed & { readonly from: Hex | null; readonly to: Hex | null; readonly withKey: boolean };

/** Who may use a token, and from when; until when and why, once that is over. */
export type Authorization = TokenKey &
  Placed & {
    readonly by: Hex;
    readonly user: Hex;
    readonly endedBlock: bigint | null;
    readonly endReason: AuthorizationEnd | null;
  };

/** A token that was made of another one. */
export type TokenClone = TokenKey &
  Placed & { readonly newTokenId: bigint; readonly from: Hex; readonly to: Hex };

/** Keys that were published for a receiver, aligned with the token's data as it was then. */
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

/** Who signs access proofs for a user. */
export type Delegation = Placed & { readonly contract: Hex; readonly user: Hex; readonly assistant: Hex };

/** No token has more authorised users (SPEC 8); a contract that allows one more is believed. */
const MAX_USERS = 101;
const ZERO_ADDRESS = `0x${"0".repeat(40)}`;

/** These tokens, each that was ever minted, in no order. */
export async function findTokens(
  queries: Queries,
  chainId: number,
  keys: readonly TokenKey[],
): Promise<readonly StoredToken[]> {
  const rows = await queries.rows<TokenRow>(TOKENS_BY_KEY, [chainId, toJson(keys)]);
  return rows.map(toToken);
}

/** Tokens that somebody has, the newest acquired first: of a contract, of an owner, or of both. */
export async function listTokens(
  queries: Queries,
  chainId: number,
  filter: { readonly contract?: Hex | undefined; readonly owner?: Hex | undefined },
  page: PageRequest,
): Promise<readonly StoredToken[]> {
  const { sql, more } = pick([filter.contract, "and t.contract = "], [filter.owner, "and t.receiver = "]);
  return (await queries.rows<TokenRow>(listOfTokens(sql), [chainId, ...pageKey(page), ...more])).map(toToken);
}

/** The users that may use these tokens now, by token. */
export async function findUsers(
  queries: Queries,
  chainId: number,
  keys: readonly TokenKey[],
): Promise<readonly (TokenKey & { readonly user: Hex })[]> {
  const rows = await queries.rows<{ contract: Hex; token_id: string; user_address: Hex }>(USERS, [
    chainId,
    toJson(keys),
  ]);
  return rows.map((row) => ({ ...toKey(row), user: row.user_address }));
}

/** The assistants that these users have named and not replaced, by contract. */
export async function findDelegations(
  queries: Queries,
  chainId: number,
  users: readonly Hex[],
): Promise<readonly Delegation[]> {
  type Row = PlacedRow & { contract: Hex; user_address: Hex; assistant: Hex };
  const rows = await queries.rows<Row>(DELEGATIONS, [chainId, JSON.stringify(users)]);
  return rows.map((row) => ({
    ...toPlaced(row),
    contract: row.contract,
    user: row.user_address,
    assistant: row.assistant,
  }));
}

/** A token's moves, newest first. */
export async function listTransfers(
  queries: Queries,
  chainId: number,
  key: TokenKey,
  page: PageRequest,
): Promise<readonly TokenTransfer[]> {
  type Row = PlacedRow & { sender: Hex; receiver: Hex; with_key: boolean };
  const rows = await queries.rows<Row>(TRANSFERS, ofToken(chainId, key, page));
  return rows.map((row) => ({
    ...key,
    ...toPlaced(row),
    from: orNull(row.sender),
    to: orNull(row.receiver),
    withKey: row.with_key,
  }));
}

/** A token's authorisations, those that ended among them, newest first. */
export async function listAuthorizations(
  queries: Queries,
  chainId: number,
  key: TokenKey,
  page: PageRequest,
): Promise<readonly Authorization[]> {
  type Row = PlacedRow & {
    authorized_by: Hex;
    user_address: Hex;
    ended_block: string | null;
    end_reason: AuthorizationEnd | null;
  };
  const rows = await queries.rows<Row>(AUTHORIZATIONS, ofToken(chainId, key, page));
  return rows.map((row) => ({
    ...key,
    ...toPlaced(row),
    by: row.authorized_by,
    user: row.user_address,
    endedBlock: row.ended_block === null ? null : BigInt(row.ended_block),
    endReason: row.end_reason,
  }));
}

/** The clones of a token, newest first. */
export async function listClones(
  queries: Queries,
  chainId: number,
  key: TokenKey,
  page: PageRequest,
): Promise<readonly TokenClone[]> {
  type Row = PlacedRow & { new_token_id: string; sender: Hex; receiver: Hex };
  const rows = await queries.rows<Row>(CLONES, ofToken(chainId, key, page));
  return rows.map((row) => ({
    ...key,
    ...toPlaced(row),
    newTokenId: BigInt(row.new_token_id),
    from: row.sender,
    to: row.receiver,
  }));
}

/** Which sealed keys: a receiver's, of one contract or one token. Those that the chain took back are none. */
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

/** Sealed keys by their ids, also such as the chain took back lately, in no order. */
export async function findSealedKeys(
  queries: Queries,
  ids: readonly string[],
): Promise<readonly SealedKey[]> {
  return (await queries.rows<SealedKeyRow>(KEYS_BY_ID, [JSON.stringify(ids)])).map(toSealedKey);
}

type PlacedRow = {
  block_number: string;
  log_index: number;
  transaction_hash: Hex;
  seen_at_ms: string;
};
type TokenRow = PlacedRow & {
  contract: Hex;
  token_id: string;
  receiver: Hex;
  creator: Hex | null;
  datas: string | null;
  cloned_from: string | null;
  moved_without_key: boolean;
};
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

function toToken(row: TokenRow): StoredToken {
  return {
    ...toKey(row),
    ...toPlaced(row),
    owner: orNull(row.receiver),
    creator: row.creator,
    datas: row.datas === null ? [] : (JSON.parse(row.datas) as IntelligentData[]),
    clonedFrom: row.cloned_from === null ? null : BigInt(row.cloned_from),
    movedWithoutKey: row.moved_without_key,
  };
}

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

function toKey({ contract, token_id }: { readonly contract: Hex; readonly token_id: string }): TokenKey {
  return { contract, tokenId: BigInt(token_id) };
}

function toPlaced({ block_number, log_index, transaction_hash, seen_at_ms }: PlacedRow): Placed {
  return {
    blockNumber: BigInt(block_number),
    logIndex: log_index,
    transactionHash: transaction_hash,
    seenAt: new Date(Number(seen_at_ms)),
    cursor: encodeCursor(block_number, String(log_index)),
  };
}

function toJson(keys: readonly TokenKey[]): string {
  return JSON.stringify(keys.map(({ contract, tokenId }) => ({ contract, token_id: tokenId.toString() })));
}

function orNull(address: Hex): Hex | null {
  return address === ZERO_ADDRESS ? null : address;
}

/** Block and log that a page lies below, and how many rows to read. */
function pageKey(page: PageRequest): readonly [string | null, string | null, number] {
  const limit = pageLimit(page);
  if (page.after === undefined) return [null, null, limit];
  const [block = "", log = ""] = decodeCursor(page.after, 2);
  if (!/^\d{1,18}$/.test(block) || !/^\d{1,9}$/.test(log))
    throw new AppError("invalid_cursor", "This cursor is not one of ours.", { param: "after" });
  return [block, log, limit];
}

function ofToken(chainId: number, { contract, tokenId }: TokenKey, page: PageRequest): readonly unknown[] {
  return [chainId, ...pageKey(page), contract, tokenId.toString()];
}

/** The conditions of a filter that are asked for, with their parameters, which come after the first four. */
function pick(...conditions: readonly (readonly [string | undefined, string, string?])[]) {
  const asked = conditions.filter(([value]) => value !== undefined);
  return {
    sql: asked.map(([, text, cast = ""], n) => `${text}$${n + 5}${cast}`).join(" "),
    more: asked.map(([value]) => value),
  };
}

const PLACED = `t.block_number::text as block_number, t.log_index, t.transaction_hash,
  floor(extract(epoch from t.seen_at) * 1000)::bigint::text as seen_at_ms`;
const BELOW = "($2::bigint is null or (t.block_number, t.log_index) < ($2::bigint, $3::int))";
const NEWEST_FIRST = "order by t.block_number desc, t.log_index desc limit $4::int";

/** Whoever set the data anew since the move knows its keys. */
const TOKEN = `
  select ${PLACED}, t.contract, t.token_id::text as token_id, t.receiver, c.creator, d.datas::text as datas,
    k.token_id::text as cloned_from,
    not t.with_key and t.sender <> '${ZERO_ADDRESS}' and t.receiver <> '${ZERO_ADDRESS}'
      and coalesce(jsonb_array_length(d.datas), 0) > 0
      and (d.block_number, d.log_index) < (t.block_number, t.log_index) as moved_without_key
  from agent_transfer t
  left join agent_data d on d.chain_id = t.chain_id and d.contract = t.contract and d.token_id = t.token_id
    and d.ended_block is null
  left join agent_creator c on c.chain_id = t.chain_id and c.contract = t.contract and c.token_id = t.token_id
    and c.ended_block is null
  left join lateral (
    select token_id from agent_clone
    where chain_id = t.chain_id and contract = t.contract and new_token_id = t.token_id
    order by block_number desc, log_index desc limit 1
  ) k on true`;
const KEYS_GIVEN = `jsonb_to_recordset($2::text::jsonb) as k(contract text, token_id numeric)`;
const TOKENS_BY_KEY = `${TOKEN}
  where t.chain_id = $1::bigint and t.ended_block is null
    and (t.contract, t.token_id) in (select contract, token_id from ${KEYS_GIVEN})`;
function listOfTokens(conditions: string): string {
  return `${TOKEN}
    where t.chain_id = $1::bigint and t.ended_block is null and t.receiver <> '${ZERO_ADDRESS}'
      and ${BELOW} ${conditions} ${NEWEST_FIRST}`;
}

const USERS = `
  select k.contract, k.token_id::text as token_id, u.user_address
  from (select distinct contract, token_id from ${KEYS_GIVEN}) k
  join lateral (
    select user_address, block_number, log_index from agent_authorization
    where chain_id = $1::bigint and contract = k.contract and token_id = k.token_id and ended_block is null
    order by block_number, log_index limit ${MAX_USERS}
  ) u on true
  order by u.block_number, u.log_index`;
const DELEGATIONS = `
  select ${PLACED}, t.contract, t.user_address, t.assistant from agent_delegation t
  where t.chain_id = $1::bigint and t.ended_block is null and t.assistant <> '${ZERO_ADDRESS}'
    and t.user_address in (select jsonb_array_elements_text($2::text::jsonb))
  order by t.contract`;
const OF_TOKEN = `
  where t.chain_id = $1::bigint and t.contract = $5 and t.token_id = $6::numeric and ${BELOW} ${NEWEST_FIRST}`;
const TRANSFERS = `select ${PLACED}, t.sender, t.receiver, t.with_key from agent_transfer t ${OF_TOKEN}`;
const AUTHORIZATIONS = `
  select ${PLACED}, t.authorized_by, t.user_address, t.ended_block::text as ended_block, t.end_reason
  from agent_authorization t ${OF_TOKEN}`;
const CLONES = `
  select ${PLACED}, t.new_token_id::text as new_token_id, t.sender, t.receiver from agent_clone t ${OF_TOKEN}`;
const SEALED_KEY = `
  select ${PLACED}, t.id, t.contract, t.token_id::text as token_id, t.block_hash, t.sender, t.receiver, t.cause,
    t.keys::text as keys, t.key_count, t.removed_at is not null as removed
  from sealed_key t`;
const KEYS_BY_ID = `${SEALED_KEY} where t.id in (select jsonb_array_elements_text($1::text::jsonb))`;
function listOfKeys(conditions: string): string {
  return `${SEALED_KEY}
    where t.chain_id = $1::bigint and t.removed_at is null and ${BELOW} ${conditions} ${NEWEST_FIRST}`;
}
