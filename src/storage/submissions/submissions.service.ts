import type { ChainLog, LogHandler } from "../../chain/watcher/log-handler.ts";
import type { Mark } from "../../chain/watcher/log-watcher.store.ts";
import type { RowCount } from "../../db/count-rows.ts";
import type { Queries } from "../../db/database.ts";
import { appendEvents } from "../../events/outbox.ts";
import { mapInTurns } from "../../kernel/async/map-in-turns.ts";
import type { Page, PageRequest } from "../../kernel/page.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import type { StoredSubmission } from "./submission.row.ts";
import { decodeSubmit, SUBMIT_TOPIC } from "./submission.ts";
import {
  countFirst,
  countSubmissions,
  type FileFilter,
  listFirst,
  listSubmissions,
  type SubmissionFilter,
} from "./submission-lists.store.ts";
import {
  deleteSubmissions,
  findByTxSeq,
  findFirst,
  findOfSize,
  insertSubmissions,
  listFrom,
  newestSubmissionBlock,
  nextTxSeq,
  readSynced,
  type SubmissionChange,
} from "./submissions.store.ts";

export type { FileFilter } from "./submission-lists.store.ts";

/** A file that was submitted to the storage network, once or several times. */
export type SubmittedFile = {
  readonly root: Hex;
  /** From the first submission: files that differ only in the number of trailing zero bytes may share a root. */
  readonly sizeBytes: bigint;
  readonly firstTxSeq: bigint;
  readonly submissions: number;
};

/** How far this product has followed the storage network (facts: storage section 1.5). */
export type StorageStatus = {
  /** The newest block whose submissions were read; 0 and a hash of zeros before the first. */
  readonly logSyncHeight: bigint;
  readonly logSyncBlock: Hex;
  readonly nextTxSeq: bigint;
  readonly chainId: number;
  readonly flowAddress: Hex;
};

/** Receives submissions in the transaction that inserts (`came`) or deletes (`went`) them. */
export type SubmissionListener = {
  came(tx: Queries, submissions: readonly SubmissionChange[]): Promise<void>;
  went(tx: Queries, submissions: readonly SubmissionChange[]): Promise<void>;
};

type Dependencies = {
  readonly queries: Queries;
  readonly chainId: number;
  readonly flow: Hex;
  /** The name of the chain watcher that reads the logs. */
  readonly watcher: string;
  readonly listener?: SubmissionListener;
};

const MAX_LIST = 1_000;
const NO_HASH: Hex = `0x${"0".repeat(64)}`;

/** Stores the submissions in the logs of the Flow contract, and finds them. */
export class SubmissionsService implements LogHandler {
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[] = [SUBMIT_TOPIC];
  readonly needsSenders = true;
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.addresses = [lowerHex(dependencies.flow)];
  }

  async apply(tx: Queries, logs: readonly ChainLog[]): Promise<void> {
    const { chainId, listener } = this.#dependencies;
    // Decoding the logs of a page may take a second in all.
    const submissions = await mapInTurns(logs, ({ transactionSender, ...log }) => {
      if (!transactionSender) throw new Error("the log of a submission has no transaction sender");
      return { chainId, ...log, transactionSender, ...decodeSubmit(log) };
    });
    const came = await insertSubmissions(tx, submissions);
    await listener?.came(tx, came);
    await publishSubmitted(tx, came, false);
  }

  async revert(tx: Queries, from: bigint): Promise<void> {
    const { chainId, listener } = this.#dependencies;
    const went = await deleteSubmissions(tx, chainId, from);
    await listener?.went(tx, went);
    await publishSubmitted(tx, went, true);
  }

  newestBlock(queries: Queries, upTo: bigint): Promise<Mark | undefined> {
    return newestSubmissionBlock(queries, this.#dependencies.chainId, upTo);
  }

  /** For each root, in order, the file that was submitted under it, or undefined. */
  async filesByRoots(roots: readonly Hex[]): Promise<readonly (SubmittedFile | undefined)[]> {
    const wanted = roots.map(lowerHex);
    const found = await findFirst(this.#dependencies.queries, this.#dependencies.chainId, wanted);
    const files = new Map(found.map(({ first, submissions }) => [first.root, toFile(first, submissions)]));
    return wanted.map((root) => files.get(root));
  }

  /** Files that match a filter, newest first by their first submission. */
  files(page: PageRequest, filter: FileFilter = {}): Promise<Page<StoredSubmission>> {
    return listFirst(this.#dependencies.queries, this.#dependencies.chainId, lowerOwner(filter), page);
  }

  /** How many files match a filter. */
  countFiles(filter: FileFilter): Promise<RowCount> {
    return countFirst(this.#dependencies.queries, this.#dependencies.chainId, lowerOwner(filter));
  }

  /** The submission with this sequence number, undefined if there is none yet. */
  async find(txSeq: bigint): Promise<StoredSubmission | undefined> {
    return findByTxSeq(this.#dependencies.queries, this.#dependencies.chainId, txSeq);
  }

  /** The first submission of a root with this size, undefined if there is none. */
  ofSize(root: Hex, sizeBytes: number): Promise<bigint | undefined> {
    const wanted = { root: lowerHex(root), sizeBytes: BigInt(sizeBytes) };
    return findOfSize(this.#dependencies.queries, this.#dependencies.chainId, wanted);
  }

  /** Submissions, newest first: those of a file, those that an account signed, or all. */
  list(page: PageRequest, filter: SubmissionFilter = {}): Promise<Page<StoredSubmission>> {
    return listSubmissions(this.#dependencies.queries, this.#dependencies.chainId, lowerFilter(filter), page);
  }

  /** How many submissions a file has, or an account signed. */
  count(filter: SubmissionFilter): Promise<RowCount> {
    return countSubmissions(this.#dependencies.queries, this.#dependencies.chainId, lowerFilter(filter));
  }

  /** At most `limit` (up to 1,000) submissions starting at `txSeq`, oldest first. */
  listFrom(txSeq: bigint, limit: number): Promise<readonly StoredSubmission[]> {
    return listFrom(this.#dependencies.queries, this.#dependencies.chainId, txSeq, Math.min(limit, MAX_LIST));
  }

  /** The sequence number of the next submission, as far as the chain has been read. */
  nextTxSeq(): Promise<bigint> {
    return nextTxSeq(this.#dependencies.queries, this.#dependencies.chainId);
  }

  /** How far the storage network has been followed. */
  async status(): Promise<StorageStatus> {
    const { queries, watcher, chainId, flow } = this.#dependencies;
    const [synced, nextTxSeq] = await Promise.all([readSynced(queries, watcher), this.nextTxSeq()]);
    return {
      logSyncHeight: synced?.height ?? 0n,
      logSyncBlock: synced?.hash ?? NO_HASH,
      nextTxSeq,
      chainId,
      flowAddress: flow,
    };
  }
}

function lowerFilter({ root, sender }: SubmissionFilter): SubmissionFilter {
  return { ...(root && { root: lowerHex(root) }), ...(sender && { sender: lowerHex(sender) }) };
}

function lowerOwner({ owner, ...filter }: FileFilter): FileFilter {
  return { ...filter, owner: owner && lowerHex(owner) };
}

function toFile({ root, sizeBytes, txSeq }: StoredSubmission, submissions: number): SubmittedFile {
  return { root, sizeBytes, firstTxSeq: txSeq, submissions };
}

async function publishSubmitted(
  tx: Queries,
  changes: readonly SubmissionChange[],
  removed: boolean,
): Promise<void> {
  await appendEvents(
    tx,
    changes.map(({ root, txSeq, sizeBytes }) => ({
      topic: "file.submitted",
      subject: root,
      data: { root, txSeq: txSeq.toString(), size: sizeBytes.toString(), removed },
    })),
  );
}
