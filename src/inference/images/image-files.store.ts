import type { SignedTransaction } from "../../chain/transactions/wallet-sender.ts";
import type { Queries } from "../../db/database.ts";
import type { Hex } from "../../kernel/text/hex.ts";

/** An image of a job that is waiting to be stored. */
export type WaitingImage = {
  readonly jobId: string;
  readonly ordinal: number;
  readonly root: Hex;
  readonly failures: number;
  readonly transaction: SignedTransaction | undefined;
};

/** Acquires or renews the lease for sending transactions; false while another process holds it. */
export async function takeLease(queries: Queries, holder: string, seconds: number): Promise<boolean> {
  return (await queries.rows(LEASE, [holder, seconds])).length > 0;
}

/** Ends a lease, so that another process continues at once. */
export async function endLease(queries: Queries, holder: string): Promise<void> {
  await queries.rows(END_LEASE, [holder]);
}

/** Jobs whose images are not recorded yet, oldest first, at most `limit`. */
export async function newResults(queries: Queries, limit: number): Promise<readonly string[]> {
  return (await queries.rows<{ id: string }>(NEW, [limit])).map(({ id }) => id);
}

/**
 * An image of a job's result, while it is available; undefined beyond its last one, and for a result that the database
 * cannot parse: earlier versions stored texts with U+0000 and halves of surrogate pairs.
 */
export async function readImage(
  queries: Queries,
  jobId: string,
  ordinal: number,
): Promise<Buffer | undefined> {
  const [row] = await queries.rows<{ image: string | null }>(IMAGE, [jobId, ordinal]).catch(ifUnparsable);
  return row?.image == null ? undefined : Buffer.from(row.image, "base64");
}

/** No rows if a text is not valid JSON (22P02), or has characters that no text has (22P05). */
function ifUnparsable(error: unknown): readonly { readonly image: null }[] {
  if (UNPARSABLE.has(Object(error).code)) return [];
  throw error;
}

/**
 * Records the images of a job by their roots, in order. One without a root is recorded as failed, so that its job is not
 * read again.
 */
export async function recordImages(
  queries: Queries,
  jobId: string,
  roots: readonly (Hex | undefined)[],
): Promise<void> {
  await queries.rows(RECORD_IMAGES, [jobId, JSON.stringify(roots.map((root) => root ?? ""))]);
}

/** Images that are due, at most `limit`. */
export async function waitingImages(queries: Queries, limit: number): Promise<readonly WaitingImage[]> {
  const rows = await queries.rows<WaitingRow>(WAITING, [limit]);
  return rows.map((row) => ({
    jobId: row.job_id,
    ordinal: row.ordinal,
    root: row.root,
    failures: row.failures,
    transaction:
      row.transaction_raw && row.transaction_hash
        ? { raw: row.transaction_raw, hash: row.transaction_hash, replaced: row.replaced_hashes }
        : undefined,
  }));
}

/**
 * Stores the transaction that pays for an image; null clears one that can no longer be mined. False, and nothing is
 * stored, if the image has another transaction by now than when it was read.
 */
export async function keepTransaction(
  queries: Queries,
  { jobId, ordinal, transaction: known }: WaitingImage,
  transaction: SignedTransaction | null,
): Promise<boolean> {
  const parameters = [
    jobId,
    ordinal,
    transaction?.raw ?? null,
    transaction?.hash ?? null,
    known?.hash ?? null,
    JSON.stringify(transaction?.replaced ?? []),
  ];
  return (await queries.rows(KEEP, parameters)).length > 0;
}

/** Finishes an image, or schedules a retry after some seconds; `failed` counts the attempt as a failure. */
export async function settleImage(
  queries: Queries,
  { jobId, ordinal }: WaitingImage,
  change: {
    readonly state: "waiting" | "stored" | "failed";
    readonly seconds: number;
    readonly failed: boolean;
  },
): Promise<void> {
  const { state, seconds, failed } = change;
  await queries.rows(SETTLE, [jobId, ordinal, state, seconds, failed ? 1 : 0]);
}

type WaitingRow = {
  readonly job_id: string;
  readonly ordinal: number;
  readonly root: Hex;
  readonly failures: number;
  readonly transaction_raw: Hex | null;
  readonly transaction_hash: Hex | null;
  readonly replaced_hashes: readonly Hex[];
};

const UNPARSABLE: ReadonlySet<unknown> = new Set(["22P02", "22P05"]);

const LEASE = `
  update image_file_lease set holder = $1::uuid, until = now() + make_interval(secs => $2::integer)
  where holder is null or holder = $1::uuid or until < now() returning 1`;

const END_LEASE = "update image_file_lease set until = now() where holder = $1::uuid";

const NEW = `
  select job.id::text as id from job
  join job_content content on content.id = job.id
  where job.state = 'completed' and job.kind = 'image' and content.result is not null and content.expires_at > now()
    and not exists (select 1 from image_file where image_file.job_id = job.id)
  order by job.finished_at limit $1::integer`;

// A result has up to 64 MiB: the database takes one image out of it, which costs this process neither the memory of the
// others nor the time to parse them.
const IMAGE = `
  select result::json -> 'data' -> $2::integer ->> 'b64_json' as image from job_content
  where id = $1::uuid and expires_at > now()`;

const RECORD_IMAGES = `
  insert into image_file (job_id, ordinal, root, state)
  select $1::uuid, n - 1, root, case root when '' then 'failed' else 'waiting' end
  from jsonb_array_elements_text($2::text::jsonb) with ordinality as image (root, n)
  on conflict do nothing`;

// Of identical images only one is processed at a time, preferring one that is already paid for.
const WAITING = `
  select job_id::text as job_id, ordinal, root, failures, transaction_raw, transaction_hash,
    replaced_hashes
  from (
    select distinct on (root) * from image_file where state = 'waiting'
    order by root, transaction_raw is null, job_id, ordinal
  ) as foremost
  where next_try <= now() order by next_try limit $1::integer`;

const KEEP = `
  update image_file set transaction_raw = $3::text, transaction_hash = $4::text, replaced_hashes = $6::text::jsonb
  where job_id = $1::uuid and ordinal = $2::integer and transaction_hash is not distinct from $5::text returning 1`;

const SETTLE = `
  update image_file set state = $3::text, next_try = now() + make_interval(secs => $4::integer),
    failures = failures + $5::integer
  where job_id = $1::uuid and ordinal = $2::integer and state = 'waiting'`;
