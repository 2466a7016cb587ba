import type { Queries } from "../../../db/database.ts";
import type { PageRequest } from "../../../kernel/page.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import type { AuthorizationEnd } from "../log/temporal-rows.ts";
import {
  listOfToken,
  orNull,
  PLACED,
  type Placed,
  type PlacedRow,
  pageKey,
  pageSql,
  type TokenKey,
  toPlaced,
} from "./token-rows.ts";

/** A transfer of a token. `from` is null for a mint, `to` is null for a burn. */
export type TokenTransfer = TokenKey &
  Placed & { readonly from: Hex | null; readonly to: Hex | null; readonly withKey: boolean };

/** An authorisation to use a token: since when, and, once it has ended, until when and why. */
export type Authorization = TokenKey &
  Placed & {
    readonly by: Hex;
    readonly user: Hex;
    readonly endedBlock: bigint | null;
    readonly endReason: AuthorizationEnd | null;
  };

/** A token cloned from another one. */
export type TokenClone = TokenKey &
  Placed & { readonly newTokenId: bigint; readonly from: Hex; readonly to: Hex };

/** The lists of a token, in their cursors. */
const LISTS = {
  transfers: "token-transfers",
  authorizations: "token-authorizations",
  clones: "token-clones",
} as const;

/** A token's transfers, newest first. */
export async function listTransfers(
  queries: Queries,
  chainId: number,
  key: TokenKey,
  page: PageRequest,
): Promise<readonly TokenTransfer[]> {
  const list = listOfToken(LISTS.transfers, key);
  type Row = PlacedRow & { sender: Hex; receiver: Hex; with_key: boolean };
  const rows = await queries.rows<Row>(
    `${TRANSFERS} ${pageOfToken(page)}`,
    ofToken(chainId, key, list, page),
  );
  return rows.map((row) => ({
    ...key,
    ...toPlaced(list, row),
    from: orNull(row.sender),
    to: orNull(row.receiver),
    withKey: row.with_key,
  }));
}

/** A token's authorisations, including ended ones, newest first. */
export async function listAuthorizations(
  queries: Queries,
  chainId: number,
  key: TokenKey,
  page: PageRequest,
): Promise<readonly Authorization[]> {
  const list = listOfToken(LISTS.authorizations, key);
  type Row = PlacedRow & {
    authorized_by: Hex;
    user_address: Hex;
    ended_block: string | null;
    end_reason: AuthorizationEnd | null;
  };
  const rows = await queries.rows<Row>(
    `${AUTHORIZATIONS} ${pageOfToken(page)}`,
    ofToken(chainId, key, list, page),
  );
  return rows.map((row) => ({
    ...key,
    ...toPlaced(list, row),
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
  const list = listOfToken(LISTS.clones, key);
  type Row = PlacedRow & { new_token_id: string; sender: Hex; receiver: Hex };
  const rows = await queries.rows<Row>(`${CLONES} ${pageOfToken(page)}`, ofToken(chainId, key, list, page));
  return rows.map((row) => ({
    ...key,
    ...toPlaced(list, row),
    newTokenId: BigInt(row.new_token_id),
    from: row.sender,
    to: row.receiver,
  }));
}

function ofToken(
  chainId: number,
  { contract, tokenId }: TokenKey,
  list: string,
  page: PageRequest,
): readonly unknown[] {
  return [chainId, ...pageKey(list, page), contract, tokenId.toString()];
}

function pageOfToken(page: PageRequest): string {
  const { beyond, order } = pageSql(page);
  return `where t.chain_id = $1::bigint and t.contract = $5 and t.token_id = $6::numeric and ${beyond} ${order}`;
}

const TRANSFERS = `select ${PLACED}, t.sender, t.receiver, t.with_key from agent_transfer t`;
const AUTHORIZATIONS = `
  select ${PLACED}, t.authorized_by, t.user_address, t.ended_block::text as ended_block, t.end_reason
  from agent_authorization t`;
const CLONES = `
  select ${PLACED}, t.new_token_id::text as new_token_id, t.sender, t.receiver from agent_clone t`;
