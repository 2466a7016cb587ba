import { encodeCursor } from "../../kernel/page.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Submission, SubmissionNode } from "./submission.ts";

/** A submission and its place on the chain. */
export type PlacedSubmission = Submission & {
  readonly chainId: number;
  readonly transactionHash: Hex;
  /** The signer of the transaction: unlike `submitter`, verified by the chain. */
  readonly transactionSender: Hex;
  readonly logIndex: number;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
};

/** A submission as it is stored. `cursor` is its place in every list of submissions. */
export type StoredSubmission = PlacedSubmission & { readonly seenAt: Date; readonly cursor: string };

/** The name of the list of submissions, in its cursors. */
export const SUBMISSIONS = "submissions";

/** A row of `SUBMISSION_COLUMNS`. */
export type SubmissionRow = {
  chain_id: string;
  tx_seq: string;
  root: Hex;
  submitter: Hex;
  identity: Hex;
  size_bytes: string;
  start_entry_index: string;
  sectors: string;
  tags: Hex;
  nodes: string;
  transaction_hash: Hex;
  transaction_sender: Hex;
  log_index: number;
  block_number: string;
  block_hash: Hex;
  seen_at_ms: string;
};

/** Reads a row. */
export function toSubmission(row: SubmissionRow): StoredSubmission {
  return {
    chainId: Number(row.chain_id),
    txSeq: BigInt(row.tx_seq),
    root: row.root,
    submitter: row.submitter,
    identity: row.identity,
    sizeBytes: BigInt(row.size_bytes),
    startEntryIndex: BigInt(row.start_entry_index),
    sectors: BigInt(row.sectors),
    tags: row.tags,
    nodes: JSON.parse(row.nodes) as SubmissionNode[],
    transactionHash: row.transaction_hash,
    transactionSender: row.transaction_sender,
    logIndex: row.log_index,
    blockNumber: BigInt(row.block_number),
    blockHash: row.block_hash,
    seenAt: new Date(Number(row.seen_at_ms)),
    cursor: encodeCursor(SUBMISSIONS, row.tx_seq),
  };
}

/** The columns of a `SubmissionRow`. */
export const SUBMISSION_COLUMNS = `chain_id::text as chain_id, submission.tx_seq::text as tx_seq, root, submitter, identity,
  size_bytes::text as size_bytes, start_entry_index::text as start_entry_index, sectors::text as sectors, tags,
  nodes::text as nodes, transaction_hash, transaction_sender, log_index, block_number::text as block_number, block_hash,
  floor(extract(epoch from seen_at) * 1000)::bigint::text as seen_at_ms`;
