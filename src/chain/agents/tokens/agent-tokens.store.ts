import { countRows, type RowCount } from "../../../db/count-rows.ts";
import type { Queries } from "../../../db/database.ts";
import { Parameters } from "../../../db/parameters.ts";
import type { PageRequest } from "../../../kernel/page.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import type { IntelligentData } from "../log/agent-event.ts";
import {
  IN_CHAIN_ORDER,
  ofContracts,
  orNull,
  PLACED,
  type Placed,
  type PlacedRow,
  pageKey,
  pageSql,
  type TokenKey,
  toJson,
  toKey,
  toPlaced,
  ZERO_ADDRESS,
} from "./token-rows.ts";

/** The current state of a token. `owner` is null once burned. */
export type StoredToken = TokenKey &
  Placed & {
    readonly owner: Hex | null;
    readonly creator: Hex | null;
    readonly datas: readonly IntelligentData[];
    readonly clonedFrom: bigint | null;
    readonly movedWithoutKey: boolean;
  };

/** Filters tokens; every condition must hold. Addresses are in lower case. */
export type TokenFilter = {
  /** Tokens of these contracts; undefined for all. */
  readonly contracts?: readonly Hex[] | undefined;
  readonly owner?: Hex | undefined;
  readonly creator?: Hex | undefined;
};

/** The account that signs access proofs for a user. */
export type Delegation = Placed & { readonly contract: Hex; readonly user: Hex; readonly assistant: Hex };

/** The list of tokens, in its cursors. */
const TOKENS = "agent-tokens";

/** The most authorised users of a token: the limit of SPEC 8, plus one that contracts may allow. */
const MAX_USERS = 101;

/** The tokens of these keys that were ever minted, in no particular order. */
export async function findTokens(
  queries: Queries,
  chainId: number,
  keys: readonly TokenKey[],
): Promise<readonly StoredToken[]> {
  const rows = await queries.rows<TokenRow>(TOKENS_BY_KEY, [chainId, toJson(keys)]);
  return rows.map(toToken);
}

/** Tokens that have an owner and match a filter, the most recently acquired first. */
export async function listTokens(
  queries: Queries,
  chainId: number,
  filter: TokenFilter,
  page: PageRequest,
): Promise<readonly StoredToken[]> {
  const where = new Parameters(chainId, ...pageKey(TOKENS, page));
  const { beyond, order } = pageSql(page);
  const text = `${TOKEN} where ${beyond} and ${conditionsOf(where, filter)} ${order}`;
  return (await queries.rows<TokenRow>(text, where.values)).map(toToken);
}

/** How many tokens have an owner and match a filter. */
export function countTokens(queries: Queries, chainId: number, filter: TokenFilter): Promise<RowCount> {
  const where = new Parameters(chainId);
  const text = `select 1 from agent_transfer t where ${conditionsOf(where, filter)}`;
  return countRows(queries, { text, values: where.values }, IN_CHAIN_ORDER);
}

function conditionsOf(where: Parameters, filter: TokenFilter): string {
  return [
    `t.chain_id = $1::bigint and t.ended_block is null and t.receiver <> '${ZERO_ADDRESS}'`,
    ...(filter.contracts ? [ofContracts(where, filter.contracts)] : []),
    ...where.when(filter.owner, (parameter) => `t.receiver = ${parameter}`),
    ...where.when(
      filter.creator,
      (parameter) => `(t.contract, t.token_id) in (
        select n.contract, n.token_id from agent_creator n
        where n.chain_id = $1::bigint and n.creator = ${parameter} and n.ended_block is null)`,
    ),
  ].join(" and ");
}

/** The users who may use these tokens now, by token. */
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

/** The current assistants of these users, by contract. */
export async function findDelegations(
  queries: Queries,
  chainId: number,
  users: readonly Hex[],
): Promise<readonly Delegation[]> {
  type Row = PlacedRow & { contract: Hex; user_address: Hex; assistant: Hex };
  const rows = await queries.rows<Row>(DELEGATIONS, [chainId, JSON.stringify(users)]);
  return rows.map((row) => ({
    ...toPlaced("delegations", row),
    contract: row.contract,
    user: row.user_address,
    assistant: row.assistant,
  }));
}

type TokenRow = PlacedRow & {
  contract: Hex;
  token_id: string;
  receiver: Hex;
  creator: Hex | null;
  datas: string | null;
  cloned_from: string | null;
  moved_without_key: boolean;
};

function toToken(row: TokenRow): StoredToken {
  return {
    ...toKey(row),
    ...toPlaced(TOKENS, row),
    owner: orNull(row.receiver),
    creator: row.creator,
    datas: row.datas === null ? [] : (JSON.parse(row.datas) as IntelligentData[]),
    clonedFrom: row.cloned_from === null ? null : BigInt(row.cloned_from),
    movedWithoutKey: row.moved_without_key,
  };
}

/** Data that was replaced after the transfer has new keys, which its author knows. */
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
