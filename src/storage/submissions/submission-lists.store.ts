import { countRows, type RowCount } from "../../db/count-rows.ts";
import type { Queries } from "../../db/database.ts";
import { Parameters } from "../../db/parameters.ts";
import {
  encodeCursor,
  invalidCursorOf,
  type Page,
  type PageRequest,
  pageLimit,
  readPageCursor,
  type Scan,
  scanOf,
  toPage,
} from "../../kernel/page.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import {
  type StoredSubmission,
  SUBMISSION_COLUMNS,
  SUBMISSIONS,
  type SubmissionRow,
  toSubmission,
} from "./submission.row.ts";

/** The submissions of a list: those of a file, those that one account signed, or all. */
export type SubmissionFilter = { readonly root?: Hex; readonly sender?: Hex };

/** Filters files; every condition must hold. All are of a file's first submission; sizes are bytes, both bounds inclusive. */
export type FileFilter = {
  /** The account that signed the submission, in lower case. */
  readonly owner?: Hex | undefined;
  readonly minSize?: bigint | undefined;
  readonly maxSize?: bigint | undefined;
  /** First seen at this time or later. */
  readonly from?: Date | undefined;
  /** First seen before this time. */
  readonly before?: Date | undefined;
};

/** The name of the list of files, in its cursors. */
const FILES = "files";

/** Submissions that match a filter, newest first. */
export async function listSubmissions(
  queries: Queries,
  chainId: number,
  filter: SubmissionFilter,
  page: PageRequest,
): Promise<Page<StoredSubmission>> {
  const limit = pageLimit(page);
  const { order, beyond } = scanOf(page, "desc");
  const where = new Parameters(chainId, readCursor(page, SUBMISSIONS, { order, beyond }), limit);
  const text = `
    select ${SUBMISSION_COLUMNS} from submission
    where submission.tx_seq ${beyond} $2::numeric and ${submissionConditions(where, filter)}
    order by submission.tx_seq ${order} limit $3::int`;
  return toPage((await queries.rows<SubmissionRow>(text, where.values)).map(toSubmission), page);
}

/** How many submissions match a filter. */
export function countSubmissions(
  queries: Queries,
  chainId: number,
  filter: SubmissionFilter,
): Promise<RowCount> {
  const where = new Parameters(chainId);
  const text = `select 1 from submission where ${submissionConditions(where, filter)}`;
  return countRows(queries, { text, values: where.values }, "submission.tx_seq");
}

/** Files that match a filter, newest first by their first submission. */
export async function listFirst(
  queries: Queries,
  chainId: number,
  filter: FileFilter,
  page: PageRequest,
): Promise<Page<StoredSubmission>> {
  const limit = pageLimit(page);
  const { order, beyond } = scanOf(page, "desc");
  const where = new Parameters(chainId, readCursor(page, FILES, { order, beyond }), limit);
  const text = `
    select ${SUBMISSION_COLUMNS} from submission
    where submission.tx_seq ${beyond} $2::numeric and ${fileConditions(where, filter)}
    order by submission.tx_seq ${order} limit $3::int`;
  const rows = await queries.rows<SubmissionRow>(text, where.values);
  const files = rows.map((row) => ({ ...toSubmission(row), cursor: encodeCursor(FILES, row.tx_seq) }));
  return toPage(files, page);
}

/** How many files match a filter. */
export function countFirst(queries: Queries, chainId: number, filter: FileFilter): Promise<RowCount> {
  const where = new Parameters(chainId);
  const text = `select 1 from submission where ${fileConditions(where, filter)}`;
  return countRows(queries, { text, values: where.values }, "submission.tx_seq");
}

function submissionConditions(where: Parameters, { root, sender }: SubmissionFilter): string {
  return [
    "submission.chain_id = $1::bigint",
    ...where.when(root, (parameter) => `submission.root = ${parameter}`),
    ...where.when(sender, (parameter) => `submission.transaction_sender = ${parameter}`),
  ].join(" and ");
}

function fileConditions(where: Parameters, filter: FileFilter): string {
  return [
    "submission.chain_id = $1::bigint",
    ...where.when(filter.owner, (parameter) => `submission.transaction_sender = ${parameter}`),
    ...where.when(
      filter.minSize?.toString(),
      (parameter) => `submission.size_bytes >= ${parameter}::numeric`,
    ),
    ...where.when(
      filter.maxSize?.toString(),
      (parameter) => `submission.size_bytes <= ${parameter}::numeric`,
    ),
    ...where.when(filter.from?.toISOString(), (parameter) => `submission.tx_seq >= ${seenFrom(parameter)}`),
    ...where.when(filter.before?.toISOString(), (parameter) => `submission.tx_seq < ${seenFrom(parameter)}`),
    `not exists (
      select 1 from submission as earlier
      where earlier.root = submission.root and earlier.chain_id = $1::bigint and earlier.tx_seq < submission.tx_seq
    )`,
  ].join(" and ");
}

/**
 * SQL: the number of the first submission that was seen at a time or later. Submissions are seen in the order of their
 * numbers, after a reorg too, so that a range of times is a range of the list.
 */
function seenFrom(time: string): string {
  return `coalesce((
      select b.tx_seq from submission b where b.chain_id = $1::bigint and b.seen_at >= ${time}::timestamptz
      order by b.seen_at, b.tx_seq limit 1), 1e20)`;
}

/** Beyond every sequence number: where a list without a cursor begins. */
const ENDS = { asc: "-1", desc: "1e20" } as const;

function readCursor(page: PageRequest, list: string, { order }: Scan): string {
  const key = readPageCursor(page, list, 1);
  if (!key) return ENDS[order];
  const [txSeq] = key;
  if (!txSeq || !/^\d{1,20}$/.test(txSeq)) throw invalidCursorOf(page);
  return txSeq;
}
