import { closeFile, insertFile, keepShown } from "../../client-files/client-file.store.ts";
import { type ClientFilesService, fileNotFound } from "../../client-files/client-files.service.ts";
import type { Database } from "../../db/database.ts";
import type { EventStream } from "../../events/bus.ts";
import { cancelJob, countUnfinished, insertJob, lockOwned } from "../../jobs/job.store.ts";
import type { JobsService, JobView } from "../../jobs/jobs.service.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Page, PageRequest } from "../../kernel/page.ts";
import { newId } from "../../kernel/text/ids.ts";
import type { Reach, Spender } from "../../keys/auth/permissions.ts";
import { insertBatch, readBatches, requestCancel, setStatus } from "./batch.store.ts";
import {
  BATCH_JOB,
  type Batch,
  type BatchEndpoint,
  type BatchState,
  type EndReason,
  hasEnded,
  progressOf,
  WINDOW_SECONDS,
} from "./batch.ts";
import { shownBatchId } from "./batch-id.ts";

/** A batch to create. */
export type NewBatchRequest = {
  readonly inputFileId: string;
  readonly endpoint: BatchEndpoint;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** How long its files are stored, at most and by default as long as uploads. */
  readonly outputSeconds?: number | undefined;
};

type Dependencies = {
  readonly database: Database;
  readonly files: ClientFilesService;
  /** The jobs of batches. */
  readonly jobs: JobsService;
  /** Signals that a batch was created. */
  readonly submitted: () => void;
  /** Signals that events were committed. */
  readonly committed: () => void;
};

/** The files that a batch writes: the answers, and the errors. */
const OUTPUT_FILES = 2;
/** Batches of an account that have not ended. */
const MAX_UNFINISHED = 100;
const CANCELLED: EndReason = {
  status: "cancelled",
  code: "batch_cancelled",
  message: "This request was not executed: the batch was cancelled.",
};

/** Batches of requests, as their owner sees them; `batchWork` runs them. */
export class BatchesService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Creates a batch, which runs with the key of the caller. Its input is checked later. Throws `file_not_found`,
   * `invalid_body` for a file that is not an input, `precondition_failed` for one that this process cannot read,
   * `batch_limit_reached` and `storage_quota_exceeded`.
   */
  async create(spender: Spender, request: NewBatchRequest): Promise<Batch> {
    const { database, files, submitted, committed } = this.#dependencies;
    const { account, keyId } = spender;
    const { endpoint, metadata } = request;
    const input = await files.get(spender, request.inputFileId, "input_file_id");
    if (input.purpose !== "batch")
      throw new AppError("invalid_body", "input_file_id: must be a file of purpose batch", {
        param: "input_file_id",
      });
    await files.keyOf(input.id, "input_file_id");
    const { retentionSeconds: longest } = files.settings;
    const retentionSeconds = Math.min(request.outputSeconds ?? longest, longest);
    const [id, output, errors] = [newId(), newId(), newId()];
    await database.transaction(async (tx) => {
      await files.requireRoom(tx, account, 0, OUTPUT_FILES);
      if (!(await keepShown(tx, input.id))) throw fileNotFound("input_file_id");
      if ((await countUnfinished(tx, BATCH_JOB, account)) >= MAX_UNFINISHED)
        throw new AppError(
          "batch_limit_reached",
          `An account may have at most ${MAX_UNFINISHED} unfinished batches.`,
        );
      for (const [fileId, kind] of [
        [output, "output"],
        [errors, "error"],
      ] as const)
        await insertFile(tx, {
          ...{ id: fileId, account, keyId, purpose: "batch_output", sizeBytes: 0 },
          filename: `${shownBatchId(id)}_${kind}.jsonl`,
          sealedKey: files.newKey(fileId),
          retentionSeconds,
        });
      await insertJob(tx, {
        ...{ id, kind: BATCH_JOB, account, keyId },
        ...{ requestId: null, spec: {}, checkpoint: {}, provider: null, body: Buffer.alloc(0) },
        batch: { status: "validating", total: 0, completed: 0, failed: 0, cost: "0" },
        deadlineSeconds: WINDOW_SECONDS,
        graceSeconds: 0,
      });
      const files_ = { inputFileId: input.id, outputFileId: output, errorFileId: errors };
      await insertBatch(tx, { id, endpoint, metadata, ...files_ });
    });
    committed();
    submitted();
    return this.get(spender, id);
  }

  /** A batch that the caller may access. Throws `batch_not_found`, with `param` if a field names the batch. */
  async get(reach: Reach, id: string, param?: string): Promise<Batch> {
    const batch = await this.find(reach, id);
    if (!batch) throw batchNotFound(param);
    return batch;
  }

  /** A batch that the caller may access, undefined if there is none with this id. */
  async find(reach: Reach, id: string): Promise<Batch | undefined> {
    const job = await this.#dependencies.jobs.find(reach, id);
    return job && (await this.#toBatches([job]))[0];
  }

  /** The batches that the caller may access, newest first. */
  async list(reach: Reach, page: PageRequest): Promise<Page<Batch>> {
    const { rows, ...ends } = await this.#dependencies.jobs.list(reach, page);
    return { ...ends, rows: await this.#toBatches(rows) };
  }

  /** How many batches the caller may access. */
  count(reach: Reach) {
    return this.#dependencies.jobs.count(reach);
  }

  /**
   * Cancels a batch: requests that were sent are answered and billed, the others are not sent. Idempotent until the
   * batch has ended. Throws `batch_not_found` and `batch_not_cancellable`.
   */
  async cancel(reach: Reach, id: string): Promise<Batch> {
    const { database, committed } = this.#dependencies;
    const known = await this.get(reach, id);
    await database.transaction(async (tx) => {
      const state = await lockOwned(tx, known.account, known.id);
      const batch = (await readBatches(tx, [known.id])).get(known.id);
      if (!state || !batch) throw batchNotFound();
      if (batch.status === "cancelling" || batch.status === "cancelled") return;
      if (hasEnded(batch.status))
        throw new AppError("batch_not_cancellable", `This batch is ${batch.status}: it cannot be cancelled.`);
      await requestCancel(tx, known.id, CANCELLED);
      if (!(await cancelJob(tx, known.id, { batch: progressOf({ ...batch, status: "cancelled" }) }))) return;
      await closeFile(tx, batch.outputFileId);
      await closeFile(tx, batch.errorFileId);
      await setStatus(tx, known.id, "cancelled");
    });
    committed();
    return this.get(reach, id);
  }

  /** The steps of one batch, as `JobsService.followOne`. Throws `batch_not_found`. */
  async followOne(reach: Reach, id: string, after?: string): Promise<EventStream<"job.progressed">> {
    await this.get(reach, id);
    return this.#dependencies.jobs.followOne(reach, id, after);
  }

  /** The steps of all batches that the caller may access, as `JobsService.followAll`. */
  followAll(reach: Reach, after?: string): Promise<EventStream<"job.progressed">> {
    return this.#dependencies.jobs.followAll(reach, after);
  }

  async #toBatches(jobs: readonly JobView[]): Promise<readonly Batch[]> {
    if (jobs.length === 0) return [];
    const ids = jobs.map(({ id }) => id);
    const states = await readBatches(this.#dependencies.database, ids);
    return jobs.flatMap((job) => {
      const state = states.get(job.id);
      return state ? [toBatch(job, state)] : [];
    });
  }
}

function toBatch(job: JobView, { endReason, ...state }: BatchState): Batch {
  const isOver = hasEnded(state.status);
  return {
    ...state,
    id: job.id,
    account: job.account,
    keyId: job.keyId ?? "",
    outputFileId: isOver && state.completed > 0 ? state.outputFileId : null,
    errorFileId: isOver && state.failed > 0 ? state.errorFileId : null,
    createdAt: job.createdAt,
    expiresAt: job.deadline,
    job,
  };
}

function batchNotFound(param?: string): AppError {
  return new AppError("batch_not_found", "There is no such batch.", {
    ...(param !== undefined && { param }),
  });
}
