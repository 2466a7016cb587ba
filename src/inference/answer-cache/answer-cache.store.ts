import type { Database, Queries } from "../../db/database.ts";

/** A stored answer and its age; `sealed`, encrypted, is absent if it is longer than the limit. */
type StoredAnswer = {
  readonly sizeBytes: number;
  readonly ageSeconds: number;
  readonly sealed: Buffer | undefined;
};

/** An answer to store: its name is unique in its account. */
export type AnswerToStore = {
  readonly account: string;
  readonly name: string;
  readonly sealed: Buffer;
  readonly keptSeconds: number;
};

/** The most answers of one account: finding the oldest ones reads as many index entries. */
const MAX_ANSWERS = 4_096;

/** The answer of this name, if it is not older than `maxAgeSeconds`; with its content if that has at most `maxBytes`. */
export async function findAnswer(
  queries: Pick<Queries, "rows">,
  { account, name, maxAgeSeconds }: { account: string; name: string; maxAgeSeconds: number },
  maxBytes: number,
): Promise<StoredAnswer | undefined> {
  type Row = { readonly sealed: string | null; readonly size: number; readonly age: string };
  const [row] = await queries.rows<Row>(FIND, [account, name, maxAgeSeconds, maxBytes]);
  if (!row) return undefined;
  const sealed = row.sealed === null ? undefined : Buffer.from(row.sealed, "base64");
  return { sizeBytes: row.size, ageSeconds: Number(row.age), sealed };
}

/**
 * Stores an answer, replacing an earlier one of the same name, and deletes the oldest answers of the account that
 * exceed `maxBytes` together with it. Writes for one account take turns, so that the limit always holds.
 */
export async function storeAnswer(
  database: Pick<Database, "transaction">,
  { account, name, sealed, keptSeconds }: AnswerToStore,
  maxBytes: number,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.rows(LOCK, [account]);
    await tx.rows(EVICT, [account, name, maxBytes - sealed.length, MAX_ANSWERS]);
    await tx.rows(STORE, [account, name, sealed.toString("base64"), sealed.length, keptSeconds]);
  });
}

/** Deletes the answer of this name. */
export async function deleteAnswer(
  queries: Pick<Queries, "rows">,
  { account, name }: Pick<AnswerToStore, "account" | "name">,
): Promise<void> {
  await queries.rows(DELETE, [account, name]);
}

/** Deletes at most `limit` answers whose time is over, and returns the count. */
export async function deleteExpired(queries: Queries, limit: number): Promise<number> {
  return (await queries.rows(EXPIRE, [limit])).length;
}

const FIND = `
  select case when size_bytes <= $4::integer then encode(sealed, 'base64') end as sealed, size_bytes as size, floor(greatest(extract(epoch from now() - created_at), 0))::text as age
  from cached_answer
  where account = $1::text and name = $2::text and expires_at > now()
    and created_at > now() - make_interval(secs => $3::integer)`;

const LOCK =
  "select pg_advisory_xact_lock(hashtextextended('cached_answer ' || $1::text, 0))::text as locked";

const EVICT = `
  delete from cached_answer where account = $1::text and (name = $2::text or name in (
    select name from (
      select name, sum(size_bytes) over newest_first as total, row_number() over newest_first as place
      from cached_answer where account = $1::text and name <> $2::text
      window newest_first as (order by created_at desc, name rows between unbounded preceding and current row)
    ) as listed where total > $3::bigint or place >= $4::integer))
  returning 1`;

const STORE = `
  insert into cached_answer (account, name, sealed, size_bytes, created_at, expires_at)
  values ($1::text, $2::text, decode($3::text, 'base64'), $4::integer, now(), now() + make_interval(secs => $5::integer))
  returning 1`;

const DELETE = "delete from cached_answer where account = $1::text and name = $2::text";

const EXPIRE = `
  delete from cached_answer where (account, name) in (
    select account, name from cached_answer where expires_at <= now() order by expires_at limit $1::integer
    for update skip locked
  ) returning 1`;
