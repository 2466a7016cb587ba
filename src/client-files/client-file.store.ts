import type { Queries } from "../db/database.ts";
import { Parameters } from "../db/parameters.ts";
import { inBatches } from "../kernel/async/periodic-task.ts";
import type { Scan } from "../kernel/page.ts";
import type { Reach } from "../keys/auth/permissions.ts";

/** What a file is for: requests that a client uploaded, or the answers and errors of a batch. */
export type FilePurpose = "batch" | "batch_output";

/** A file as its owner sees it. */
export type ClientFile = {
  readonly id: string;
  readonly account: string;
  /** The `sk-` key that uploaded it, or created its batch. */
  readonly keyId: string;
  readonly purpose: FilePurpose;
  readonly filename: string;
  readonly sizeBytes: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
};

/** Where a file is in a list. */
export type FilePlace = Pick<ClientFile, "id" | "createdAt">;

/** A file to create; it is hidden until `finishFile`. `sizeBytes` counts against the account's quota from now on. */
export type NewFile = Omit<ClientFile, "createdAt" | "expiresAt"> & {
  readonly sealedKey: Buffer;
  readonly retentionSeconds: number;
};

/** An encrypted part of a file; parts are in the order of `n`. */
export type SealedPart = { readonly n: number; readonly bytes: Buffer };

/** Makes the transaction the only one that adds files to this account, until it ends. */
export async function lockFilesOf(tx: Queries, account: string): Promise<void> {
  await tx.rows("select pg_advisory_xact_lock(hashtextextended('client_file ' || $1::text, 0))", [account]);
}

/** The size of all files of an account whose content is stored, also of deleted ones, and their number. */
export async function usedBy(
  queries: Queries,
  account: string,
): Promise<{ readonly bytes: bigint; readonly files: number }> {
  const [row] = await queries.rows<{ bytes: string; files: number }>(USED, [account]);
  return { bytes: BigInt(row?.bytes ?? 0), files: row?.files ?? 0 };
}

/** Writes a hidden file without parts. */
export async function insertFile(queries: Queries, file: NewFile): Promise<void> {
  await queries.rows(INSERT, [
    ...[file.id, file.account, file.keyId, file.purpose, file.filename, file.sizeBytes],
    ...[file.sealedKey.toString("base64"), file.retentionSeconds],
  ]);
}

/** Appends a part to a hidden file. */
export async function insertPart(queries: Queries, fileId: string, { n, bytes }: SealedPart): Promise<void> {
  await queries.rows(INSERT_PART, [fileId, n, bytes.toString("base64")]);
}

/** Appends parts with `sizeBytes` of content to a hidden file, whose size grows by as much. */
export async function growFile(
  tx: Queries,
  fileId: string,
  parts: readonly SealedPart[],
  sizeBytes: number,
): Promise<void> {
  for (const part of parts) await insertPart(tx, fileId, part);
  await tx.rows(GROW, [fileId, sizeBytes]);
}

/** Shows a file that `growFile` wrote to its owner, or deletes it if it is empty. Returns whether it is shown. */
export async function closeFile(tx: Queries, id: string): Promise<boolean> {
  const shown = await tx.rows(CLOSE, [id]);
  if (shown.length === 0)
    await tx.rows("delete from client_file where id = $1::uuid and size_bytes = 0", [id]);
  return shown.length > 0;
}

/** Shows a complete file to its owner, from now on for `retentionSeconds`. */
export async function finishFile(
  queries: Queries,
  id: string,
  sizeBytes: number,
  retentionSeconds: number,
): Promise<void> {
  await queries.rows(FINISH, [id, sizeBytes, retentionSeconds]);
}

/** Marks a file as deleted, which hides it. Its parts are deleted by `forgetFiles`. */
export async function hideFile(queries: Queries, id: string): Promise<void> {
  await queries.rows(HIDE, [id]);
}

/**
 * Deletes a file whose upload failed, in small statements. If `finishFile` showed it although its answer was lost, it is
 * hidden with all of its parts, and they are deleted by `forgetFiles`: something may read the file already.
 */
export async function dropFile(queries: Queries, id: string): Promise<void> {
  const [file] = await queries.rows<{ was_shown: boolean }>(ABANDON, [id]);
  if (!file || file.was_shown) return;
  await inBatches(DROPPED_AT_ONCE, async (limit) => (await queries.rows(DROP_PARTS, [id, limit])).length);
  await queries.rows("delete from client_file where id = $1::uuid", [id]);
}

/** The file with this id, if the caller may access it. */
export async function findFile(queries: Queries, reach: Reach, id: string): Promise<ClientFile | undefined> {
  const where = new Parameters(reach.account, id);
  const text = `select ${COLUMNS} from client_file where id = $2::uuid and ${conditionsOf(where, reach)}`;
  const [row] = await queries.rows<FileRow>(text, where.values);
  return row && toFile(row);
}

/**
 * Prevents a file from being deleted or removed before the transaction ends. False if it is no longer shown to its
 * owner.
 */
export async function keepShown(tx: Queries, id: string): Promise<boolean> {
  return (await tx.rows(KEEP_SHOWN, [id])).length > 0;
}

/** The place of a file in the lists of the caller, also of one that was deleted or has expired, until it is removed. */
export async function findPlace(queries: Queries, reach: Reach, id: string): Promise<FilePlace | undefined> {
  const where = new Parameters(reach.account, id);
  const text = `select ${COLUMNS} from client_file where id = $2::uuid and ${placesOf(where, reach)}`;
  const [row] = await queries.rows<FileRow>(text, where.values);
  return row && toFile(row);
}

/** At most `limit` files that the caller may access, in the order of `scan`, beyond the file `from`. */
export async function listFiles(
  queries: Queries,
  reach: Reach,
  query: {
    readonly limit: number;
    readonly scan: Scan;
    readonly purpose?: FilePurpose | undefined;
    readonly from?: FilePlace | undefined;
  },
): Promise<readonly ClientFile[]> {
  const { scan, from, purpose, limit } = query;
  const start = from ? [from.createdAt.toISOString(), from.id] : [ENDS[scan.order], NO_ID];
  const where = new Parameters(reach.account, limit, ...start);
  const text = `
    select ${COLUMNS} from client_file
    where (created_at, id) ${scan.beyond} ($3::timestamptz, $4::uuid) and ${conditionsOf(where, reach, purpose)}
    order by created_at ${scan.order}, id ${scan.order} limit $2::integer`;
  return (await queries.rows<FileRow>(text, where.values)).map(toFile);
}

/** That a file is shown to the caller; `$1` is the account. */
function conditionsOf(where: Parameters, { keyId }: Reach, purpose?: FilePurpose): string {
  return [
    "account = $1::text and state = 'ready' and expires_at > now()",
    ...where.when(keyId, (parameter) => `api_key_id = ${parameter}::uuid`),
    ...where.when(purpose, (parameter) => `purpose = ${parameter}::text`),
  ].join(" and ");
}

/** That a file is, or was, shown to the caller; `$1` is the account. */
function placesOf(where: Parameters, { keyId }: Reach): string {
  return [
    "account = $1::text and state <> 'writing'",
    ...where.when(keyId, (parameter) => `api_key_id = ${parameter}::uuid`),
  ].join(" and ");
}

/** The encrypted key of a file, also of one that is hidden. */
export async function sealedKeyOf(queries: Queries, id: string): Promise<Buffer | undefined> {
  const [row] = await queries.rows<{ key: string }>(KEY, [id]);
  return row && Buffer.from(row.key, "base64");
}

/** The first parts of a file after part `after`, at least one, together about 1 MiB. */
export async function readParts(queries: Queries, id: string, after: number): Promise<readonly SealedPart[]> {
  const rows = await queries.rows<{ n: string; bytes: string }>(READ_PARTS, [id, after]);
  return rows.map(({ n, bytes }) => ({ n: Number(n), bytes: Buffer.from(bytes, "base64") }));
}

/**
 * Marks at most `limit` expired files as deleted, and returns the count. Only then is their content deleted, by another
 * statement, so that this sees what has begun to use them meanwhile (`keepShown`). A file that `isUsed` is kept: that
 * is SQL about `f`, never user input.
 */
export async function hideExpired(queries: Queries, limit: number, isUsed: string): Promise<number> {
  return (await queries.rows(HIDE_EXPIRED(isUsed), [limit])).length;
}

/** Deletes at most `limit` parts of files that are deleted, or whose upload was cut off, and returns the count. */
export async function forgetParts(queries: Queries, limit: number, isUsed: string): Promise<number> {
  return (await queries.rows(FORGET_PARTS(isUsed), [limit])).length;
}

/** Deletes at most `limit` of those files that have no parts left, and returns the count. */
export async function forgetFiles(queries: Queries, limit: number, isUsed: string): Promise<number> {
  return (await queries.rows(FORGET_FILES(isUsed), [limit])).length;
}

type FileRow = {
  readonly id: string;
  readonly account: string;
  readonly key_id: string;
  readonly purpose: FilePurpose;
  readonly filename: string;
  readonly size_bytes: string;
  readonly created_ms: string;
  readonly expires_ms: string;
};

function toFile(row: FileRow): ClientFile {
  return {
    id: row.id,
    account: row.account,
    keyId: row.key_id,
    purpose: row.purpose,
    filename: row.filename,
    sizeBytes: Number(row.size_bytes),
    createdAt: new Date(Number(row.created_ms)),
    expiresAt: new Date(Number(row.expires_ms)),
  };
}

const ENDS = { asc: "-infinity", desc: "infinity" } as const;
const NO_ID = "00000000-0000-0000-0000-000000000000";

const COLUMNS = `id::text as id, account, api_key_id::text as key_id, purpose, filename, size_bytes::text as size_bytes,
  floor(extract(epoch from created_at) * 1000)::bigint::text as created_ms,
  floor(extract(epoch from expires_at) * 1000)::bigint::text as expires_ms`;

const USED = `
  select coalesce(sum(size_bytes), 0)::text as bytes, count(*)::int as files
  from client_file where account = $1::text`;

const INSERT = `
  insert into client_file (id, account, api_key_id, purpose, filename, size_bytes, state, sealed_key, expires_at)
  values ($1::uuid, $2::text, $3::uuid, $4::text, $5::text, $6::bigint, 'writing', decode($7::text, 'base64'),
    now() + make_interval(secs => $8::integer))`;

const INSERT_PART = `
  insert into client_file_part (file_id, n, bytes) values ($1::uuid, $2::bigint, decode($3::text, 'base64'))`;

const FINISH = `
  update client_file set state = 'ready', size_bytes = $2::bigint, created_at = now(),
    expires_at = now() + make_interval(secs => $3::integer)
  where id = $1::uuid and state = 'writing'`;

const GROW = "update client_file set size_bytes = size_bytes + $2::bigint where id = $1::uuid";

const CLOSE = `
  update client_file set state = 'ready', created_at = now(), expires_at = now() + (expires_at - created_at)
  where id = $1::uuid and state = 'writing' and size_bytes > 0 returning 1`;

/** Parts of up to 1 MiB. */
const DROPPED_AT_ONCE = 50;

/** Hides the file first: a `finishFile` that the database still executes then finds nothing to show. */
const ABANDON = `
  with before as (
    select id, state <> 'writing' as was_shown from client_file where id = $1::uuid for update
  )
  update client_file f set state = 'deleted' from before b where f.id = b.id returning b.was_shown`;

const DROP_PARTS = `
  delete from client_file_part where file_id = $1::uuid and n in (
    select n from client_file_part where file_id = $1::uuid order by n limit $2::integer
  ) returning 1`;

const HIDE = "update client_file set state = 'deleted' where id = $1::uuid";

const KEY = "select encode(sealed_key, 'base64') as key from client_file where id = $1::uuid";

const READ_PARTS = `
  select n::text as n, encode(bytes, 'base64') as bytes from (
    select n, bytes, sum(octet_length(bytes)) over (order by n) - octet_length(bytes) as earlier from (
      select n, bytes from client_file_part where file_id = $1::uuid and n > $2::bigint order by n limit 256
    ) next_parts
  ) parts where earlier < 786432 order by parts.n`;

const KEEP_SHOWN = `
  select 1 from client_file where id = $1::uuid and state = 'ready' and expires_at > now() for share`;

/** A file that a transaction keeps meanwhile is hidden by the next sweep. */
const HIDE_EXPIRED = (isUsed: string) => `
  update client_file set state = 'deleted' where id in (
    select f.id from client_file f
    where f.state = 'ready' and f.expires_at < now() and not (${isUsed})
    limit $1::integer for update skip locked
  ) returning 1`;

/** The output of a batch that is running is not over, however long that takes: its time begins when it is shown. */
const IS_OVER = (isUsed: string) => `(f.state = 'deleted'
    or f.state = 'writing' and f.purpose = 'batch' and f.created_at < now() - interval '1 hour') and not (${isUsed})`;

const FORGET_PARTS = (isUsed: string) => `
  delete from client_file_part where (file_id, n) in (
    select p.file_id, p.n from client_file f join client_file_part p on p.file_id = f.id
    where ${IS_OVER(isUsed)} limit $1::integer
  ) returning 1`;

const FORGET_FILES = (isUsed: string) => `
  delete from client_file where id in (
    select f.id from client_file f
    where ${IS_OVER(isUsed)} and not exists (select 1 from client_file_part p where p.file_id = f.id)
    limit $1::integer
  ) returning 1`;
