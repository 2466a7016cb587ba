import type { Queries } from "../../db/database.ts";
import type { Scope } from "./principal.ts";

/** A credential as authentication needs it, by the hash of its secret. */
type Found = { readonly hash: string; readonly id: string; readonly account: string };
export type FoundApiKey = Found & { readonly revoked: boolean; readonly expired: boolean };
export type FoundManagementKey = Found & { readonly revoked: boolean; readonly scopes: readonly Scope[] };
export type FoundSession = Found;

/** The `sk-` keys of these hashes, in their order, in one statement; undefined for an unknown hash. */
export async function findApiKeys(
  queries: Queries,
  hashes: readonly string[],
): Promise<readonly (FoundApiKey | undefined)[]> {
  return inOrder(hashes, await queries.rows<FoundApiKey>(API_KEYS, [JSON.stringify(hashes)]));
}

/** The `mk-` keys of these hashes, likewise. */
export async function findManagementKeys(
  queries: Queries,
  hashes: readonly string[],
): Promise<readonly (FoundManagementKey | undefined)[]> {
  type Row = Omit<FoundManagementKey, "scopes"> & { readonly scopes: string };
  const rows = await queries.rows<Row>(MANAGEMENT_KEYS, [JSON.stringify(hashes)]);
  return inOrder(
    hashes,
    rows.map((row) => ({ ...row, scopes: JSON.parse(row.scopes) as Scope[] })),
  );
}

/** The open sessions of these hashes, likewise. */
export async function findSessions(
  queries: Queries,
  hashes: readonly string[],
): Promise<readonly (FoundSession | undefined)[]> {
  return inOrder(hashes, await queries.rows<FoundSession>(SESSIONS, [JSON.stringify(hashes)]));
}

function inOrder<T extends Found>(hashes: readonly string[], found: readonly T[]): (T | undefined)[] {
  const byHash = new Map(found.map((row) => [row.hash, row]));
  return hashes.map((hash) => byHash.get(hash));
}

const REQUESTED = "any(array(select jsonb_array_elements_text($1::text::jsonb)))";

const API_KEYS = `
  select secret_hash as hash, id::text as id, account, revoked_at is not null as revoked,
    coalesce(expires_at <= now(), false) as expired
  from api_key where secret_hash = ${REQUESTED}`;

const MANAGEMENT_KEYS = `
  select secret_hash as hash, id::text as id, account, revoked_at is not null as revoked, scopes::text as scopes
  from management_key where secret_hash = ${REQUESTED}`;

const SESSIONS = `
  select token_hash as hash, id::text as id, account from wallet_session
  where token_hash = ${REQUESTED} and expires_at > now()`;
