import type { Queries } from "../../db/database.ts";

/** An open session as stored; only the hash of its token is stored. */
export type SessionRow = { readonly id: string; readonly account: string; readonly expiresAt: Date };

/** Stores a nonce for `seconds` and returns its expiry. All times are the database's, the same for every process. */
export async function keepNonce(queries: Queries, nonce: string, seconds: number): Promise<Date> {
  const [row] = await queries.rows<{ expires_ms: string }>(KEEP_NONCE, [nonce, seconds]);
  return toDate(row?.expires_ms);
}

/** Consumes a nonce and returns its expiry, for exactly one caller, before it expires; undefined for others. */
export async function takeNonce(queries: Queries, nonce: string): Promise<Date | undefined> {
  const [row] = await queries.rows<{ expires_ms: string }>(TAKE_NONCE, [nonce]);
  return row && toDate(row.expires_ms);
}

/** Makes a consumed nonce valid again, until its old expiry. */
export async function restoreNonce(queries: Queries, nonce: string, expiresAt: Date): Promise<void> {
  await queries.rows(RESTORE_NONCE, [nonce, expiresAt.toISOString()]);
}

/** Opens a session for `seconds` and returns when it ends. */
export async function insertSession(
  queries: Queries,
  session: { readonly id: string; readonly account: string; readonly tokenHash: string },
  seconds: number,
): Promise<Date> {
  const { id, account, tokenHash } = session;
  const [row] = await queries.rows<{ expires_ms: string }>(INSERT, [id, account, tokenHash, seconds]);
  return toDate(row?.expires_ms);
}

/** The session with an id; undefined if it has ended. */
export async function findOpenSession(queries: Queries, id: string): Promise<SessionRow | undefined> {
  return toSession(await queries.rows<FoundRow>(FIND_BY_ID, [id]));
}

/** Ends one session of an account, or with `null` all of them. Returns how many. */
export async function endSessions(queries: Queries, account: string, id: string | null): Promise<number> {
  const ended = id === null ? queries.rows(END_ALL, [account]) : queries.rows(END_ONE, [account, id]);
  return (await ended).length;
}

/** Deletes at most `limit` nonces and `limit` sessions that have expired. Returns the number of deleted rows. */
export async function forgetExpired(queries: Queries, limit: number): Promise<number> {
  const nonces = await queries.rows(FORGET_NONCES, [limit]);
  const sessions = await queries.rows(FORGET_SESSIONS, [limit]);
  return nonces.length + sessions.length;
}

const EXPIRES_MS = "floor(extract(epoch from expires_at) * 1000)::bigint::text as expires_ms";

const KEEP_NONCE = `
  insert into sign_in_nonce (nonce, expires_at)
  values ($1::text, now() + $2::integer * interval '1 second') returning ${EXPIRES_MS}`;

const TAKE_NONCE = `
  delete from sign_in_nonce where nonce = $1::text and expires_at > now() returning ${EXPIRES_MS}`;

const RESTORE_NONCE = "insert into sign_in_nonce (nonce, expires_at) values ($1::text, $2::timestamptz)";

const INSERT = `
  insert into wallet_session (id, account, token_hash, expires_at)
  values ($1::uuid, $2::text, $3::text, now() + $4::integer * interval '1 second') returning ${EXPIRES_MS}`;

const FIND_BY_ID = `
  select id::text, account, ${EXPIRES_MS} from wallet_session where id = $1::uuid and expires_at > now()`;

/** An expired session has ended before; it is deleted later. */
const END_ALL = `
  delete from wallet_session where account = $1::text and expires_at > now() returning id::text`;

const END_ONE = `
  delete from wallet_session where account = $1::text and id = $2::uuid and expires_at > now() returning id::text`;

const FORGET_NONCES = `
  delete from sign_in_nonce where nonce in (
    select nonce from sign_in_nonce where expires_at <= now() order by expires_at limit $1::integer
    for update skip locked
  ) returning 1`;

const FORGET_SESSIONS = `
  delete from wallet_session where id in (
    select id from wallet_session where expires_at <= now() order by expires_at limit $1::integer
    for update skip locked
  ) returning 1`;

type FoundRow = { readonly id: string; readonly account: string; readonly expires_ms: string };

function toSession([row]: readonly FoundRow[]): SessionRow | undefined {
  return row && { id: row.id, account: row.account, expiresAt: toDate(row.expires_ms) };
}

function toDate(ms: string | undefined): Date {
  return new Date(Number(ms));
}
