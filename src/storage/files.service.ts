import type { ChainLog, LogHandler } from "../chain/log-handler.ts";
import type { Queries } from "../db/database.ts";
import { appendEvents } from "../events/outbox.ts";
import { type Hex, lowerHex } from "../kernel/hex.ts";
import type { Page, PageRequest } from "../kernel/page.ts";
import { decodeSubmit, SUBMIT_TOPIC } from "./submission.ts";
import {
  deleteSubmissions,
  findByTxSeq,
  findFirst,
  insertSubmissions,
  listSubmissions,
  type StoredSubmission,
  type SubmissionChange,
} from "./submissions.store.ts";

/** A file that was submitted to the storage network, once or several times. */
export type File = {
  readonly root: Hex;
  /** By its first submission: files that differ only in how many zero bytes end them may share a root. */
  readonly sizeBytes: bigint;
  readonly firstTxSeq: bigint;
  readonly submissions: number;
};

type Needs = { readonly queries: Queries; readonly chainId: number; readonly flow: Hex };

/** Takes files from the logs of the Flow contract, and finds them. */
export class FilesService implements LogHandler {
  readonly addresses: readonly Hex[];
  readonly topics: readonly Hex[] = [SUBMIT_TOPIC];
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
    this.addresses = [lowerHex(needs.flow)];
  }

  async apply(tx: Queries, logs: readonly ChainLog[]): Promise<void> {
    const { chainId } = this.#needs;
    const submissions = logs.map((log) => ({ chainId, ...log, ...decodeSubmit(log) }));
    await tellOf(tx, await insertSubmissions(tx, submissions), false);
  }

  async revert(tx: Queries, from: bigint): Promise<void> {
    await tellOf(tx, await deleteSubmissions(tx, this.#needs.chainId, from), true);
  }

  /** The file with this root, undefined if it was never submitted. */
  async byRoot(root: Hex): Promise<File | undefined> {
    return (await this.byRoots([root]))[0];
  }

  /** For each root, in their order, its file, or undefined. */
  async byRoots(roots: readonly Hex[]): Promise<readonly (File | undefined)[]> {
    const wanted = roots.map(lowerHex);
    const found = await findFirst(this.#needs.queries, this.#needs.chainId, wanted);
    const files = new Map(found.map(({ first, submissions }) => [first.root, toFile(first, submissions)]));
    return wanted.map((root) => files.get(root));
  }

  /** The file of a submission, undefined if there is no such submission yet. */
  async byTxSeq(txSeq: bigint): Promise<File | undefined> {
    const submission = await this.submission(txSeq);
    return submission && this.byRoot(submission.root);
  }

  /** A submission by its sequence number, undefined if there is none yet. */
  async submission(txSeq: bigint): Promise<StoredSubmission | undefined> {
    return findByTxSeq(this.#needs.queries, this.#needs.chainId, txSeq);
  }

  /** A file's submissions, newest first. */
  submissionsOf(root: Hex, page: PageRequest): Promise<Page<StoredSubmission>> {
    return listSubmissions(this.#needs.queries, this.#needs.chainId, { root: lowerHex(root) }, page);
  }

  /** The submissions that name this sender, newest first. The network does not check that name. */
  submissionsBy(sender: Hex, page: PageRequest): Promise<Page<StoredSubmission>> {
    return listSubmissions(this.#needs.queries, this.#needs.chainId, { sender: lowerHex(sender) }, page);
  }

  /** All submissions, newest first. */
  submissions(page: PageRequest): Promise<Page<StoredSubmission>> {
    return listSubmissions(this.#needs.queries, this.#needs.chainId, {}, page);
  }
}

function toFile({ root, sizeBytes, txSeq }: StoredSubmission, submissions: number): File {
  return { root, sizeBytes, firstTxSeq: txSeq, submissions };
}

async function tellOf(tx: Queries, changes: readonly SubmissionChange[], removed: boolean): Promise<void> {
  await appendEvents(
    tx,
    changes.map(({ root, txSeq, sizeBytes }) => ({
      topic: "file.submitted",
      subject: root,
      data: { root, txSeq: txSeq.toString(), size: sizeBytes.toString(), removed },
    })),
  );
}
