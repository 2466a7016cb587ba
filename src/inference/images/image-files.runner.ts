import { isBusy, isOutage } from "../../chain/rpc/rpc-errors.ts";
import type { WalletSender } from "../../chain/transactions/wallet-sender.ts";
import type { Queries } from "../../db/database.ts";
import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { newId } from "../../kernel/text/ids.ts";
import { SEGMENT_BYTES } from "../../storage/merkle/shape.ts";
import type { PreparedUpload, UploadsService } from "../../storage/uploads/uploads.service.ts";
import {
  endLease,
  keepTransaction,
  newResults,
  readImage,
  recordImages,
  settleImage,
  takeLease,
  type WaitingImage,
  waitingImages,
} from "./image-files.store.ts";

type Dependencies = {
  readonly queries: Queries;
  readonly uploads: Pick<UploadsService, "prepare" | "put" | "rootOf">;
  /** The wallet that pays. */
  readonly sender: WalletSender;
  readonly log: Logger;
  readonly pollMs?: number;
};

const POLL_MS = 2_000;
const AT_ONCE = 8;
/** Longer than any chain call takes. */
const LEASE_SECONDS = 60;
const MAX_FAILURES = 10;
const SOON_SECONDS = 2;
const MAX_REST_SECONDS = 600;
/** The pause while the chain, its storage or the database is away, which no image is at fault for. */
const OUTAGE_SECONDS = 30;
const CHUNK_BYTES = 256;

/**
 * Stores the images of finished jobs as files: submits each to Flow, paid by the router's wallet, and uploads it once
 * the submission is on chain. An image that is already stored, by anyone, is not paid for again.
 */
export class ImageFilesRunner {
  readonly #dependencies: Dependencies;
  readonly #id = newId();
  readonly #rounds: PeriodicTask;
  #stopped = false;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const { pollMs = POLL_MS, log } = dependencies;
    this.#rounds = new PeriodicTask({
      everyMs: pollMs,
      work: () => this.#run(),
      failed: (error) => log.error({ err: error }, "polling for images of finished jobs failed"),
    });
  }

  /** Polls for images every 2 s until `stop`. */
  start(): void {
    this.#rounds.start();
  }

  /** Resolves when the state of the current image is recorded, and another process may continue. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#rounds.stop();
    const { queries, log } = this.#dependencies;
    await endLease(queries, this.#id).catch((error: unknown) =>
      log.warn({ err: error }, "the lease for storing images could not be ended: it expires within 60 s"),
    );
  }

  async #run(): Promise<void> {
    const { queries } = this.#dependencies;
    if (!(await takeLease(queries, this.#id, LEASE_SECONDS))) return;
    for (const jobId of await newResults(queries, AT_ONCE)) {
      if (this.#stopped) return;
      await recordImages(queries, jobId, await this.#rootsOf(jobId));
    }
    for (const image of await waitingImages(queries, AT_ONCE)) {
      if (this.#stopped || !(await takeLease(queries, this.#id, LEASE_SECONDS))) return;
      await this.#try(image);
    }
  }

  /** Undefined for an image that cannot be read, and for the first one of a result without any. */
  async #rootsOf(jobId: string): Promise<readonly (Hex | undefined)[]> {
    const { queries, uploads, log } = this.#dependencies;
    const roots: (Hex | undefined)[] = [];
    for (;;) {
      const image = await readImage(queries, jobId, roots.length);
      if (!image && roots.length > 0) return roots;
      if (image && image.length > 0) {
        roots.push(await uploads.rootOf(image));
        continue;
      }
      log.error({ jobId, ordinal: roots.length }, "an image of a job cannot be read: it is not stored");
      roots.push(undefined);
      if (!image) return roots;
    }
  }

  async #try(image: WaitingImage): Promise<void> {
    const { queries, log } = this.#dependencies;
    try {
      const state = await this.#step(image);
      await settleImage(queries, image, { state, seconds: SOON_SECONDS, failed: false });
    } catch (error) {
      const { jobId, ordinal, failures } = image;
      if (isAway(error)) {
        await settleImage(queries, image, { state: "waiting", seconds: OUTAGE_SECONDS, failed: false });
        log.warn({ err: error, jobId, ordinal }, "an image of a job could not be stored now; will retry");
        return;
      }
      const isLast = failures + 1 >= MAX_FAILURES;
      const seconds = Math.min(SOON_SECONDS * 2 ** failures, MAX_REST_SECONDS);
      await settleImage(queries, image, { state: isLast ? "failed" : "waiting", seconds, failed: true });
      const line = { err: error, jobId, ordinal, failures: failures + 1 };
      if (isLast) log.error(line, "storing an image of a job failed; giving up");
      else log.warn(line, "storing an image of a job failed; will retry");
    }
  }

  /** Performs the next step: pay, wait for the submission on chain, upload. */
  async #step(image: WaitingImage): Promise<"waiting" | "stored" | "failed"> {
    const { queries, uploads, sender } = this.#dependencies;
    const content = await readImage(queries, image.jobId, image.ordinal);
    if (!content) return "failed";
    const upload = await uploads.prepare({ content, from: sender.address });
    if (upload.file?.finalized) return "stored";
    if (!upload.transaction) return (await this.#upload(upload, content)) ? "stored" : "waiting";
    await this.#pay(image, upload.transaction);
    return "waiting";
  }

  async #pay(image: WaitingImage, call: NonNullable<PreparedUpload["transaction"]>): Promise<void> {
    const { queries, sender } = this.#dependencies;
    const known = image.transaction;
    const outcome = known && (await sender.outcome(known));
    // The submission is on chain and will be indexed shortly: do not pay again.
    if (outcome === "success") return;
    if (outcome === "reverted") {
      await keepTransaction(queries, image, null);
      throw new Error("the submission of an image was reverted");
    }
    const signed = known ? ((await sender.repriced(known)) ?? known) : await sender.sign(call);
    // The lease may have expired since the image was read, and another process may have signed for it.
    if (signed !== known && !(await keepTransaction(queries, image, signed))) return;
    const sent = await sender.send(signed);
    const kept = { ...image, transaction: signed };
    if (sent === "outdated") await keepTransaction(queries, kept, null);
    if (sent !== "underpriced") return;
    await keepTransaction(queries, kept, await sender.raised(signed));
    throw new Error("the node demands a higher fee for the submission of an image");
  }

  /** Uploads the image. Resolves with whether the file is complete. */
  async #upload({ root, segments, sizeBytes, proofs }: PreparedUpload, content: Buffer): Promise<boolean> {
    let isWhole = false;
    for (let index = 0; index < segments; index++) {
      const proof = proofs?.[index];
      if (!proof) throw new Error("a segment has no proof");
      const bytes = content.subarray(index * SEGMENT_BYTES, (index + 1) * SEGMENT_BYTES);
      const data = Buffer.alloc(Math.ceil(bytes.length / CHUNK_BYTES) * CHUNK_BYTES);
      bytes.copy(data);
      const { file } = await this.#dependencies.uploads.put({ root, index, data, proof, sizeBytes });
      isWhole = file.finalized;
    }
    return isWhole;
  }
}

/** Whether a service could not be reached, or takes no requests now: an answer that refuses the image is none of this. */
function isAway(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  if (error.code === "chain_error") return isOutage(error.cause) || isBusy(error.cause);
  return error.code === "storage_unavailable" || error.code === "unavailable";
}
