import { closeFile } from "../../client-files/client-file.store.ts";
import type { ClientFilesService } from "../../client-files/client-files.service.ts";
import { toDigits } from "../../client-files/file-id.ts";
import type { FileReader } from "../../client-files/file-reader.ts";
import type { Database, Transaction } from "../../db/database.ts";
import type { BatchProgress } from "../../events/topics.ts";
import type { JobLease } from "../../jobs/lease.ts";
import type { WaitingClock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/log.ts";
import type { CatalogueService } from "../providers/catalogue.service.ts";
import { readBatches, setStatus, startBatch, stopBatch } from "./batch.store.ts";
import { type BatchState, type EndReason, EXPIRED, progressOf } from "./batch.ts";
import { checkInput } from "./batch-check.ts";
import { isUnreadable, type OpenedBatch, openBatch } from "./batch-files.ts";
import { InputCheck, type InputLimits, readLine } from "./batch-input.ts";
import { clearLines, insertLines, type OpenLine, openLines, sentLines } from "./batch-lines.store.ts";
import { unsentLine } from "./batch-output.ts";
import {
  type FailedLine,
  type LineLedger,
  LineLost,
  type RunningBatch,
  requireLeased,
} from "./line-ledger.ts";
import type { LineRequestsService } from "./line-requests.service.ts";
import { LineRun } from "./line-run.ts";
import type { LineSlots } from "./line-slots.ts";

export type BatchWorkDependencies = {
  readonly database: Database;
  readonly files: ClientFilesService;
  readonly ledger: LineLedger;
  readonly requests: Pick<LineRequestsService, "run">;
  readonly catalogue: Pick<CatalogueService, "model">;
  readonly slots: Pick<LineSlots, "acquire">;
  readonly clock: WaitingClock;
  readonly log: Logger;
  readonly limits: InputLimits;
};

/** Lines read from the database at once. */
const PAGE = 100;
/** How often progress is published, and a cancellation is looked for; a line that begins after it sees it at once. */
const LOOK_MS = 1_000;

/**
 * Runs one batch to its end: checks its input, sends the request of each line, and closes its files. What has been done
 * is in the database, so another worker resumes after the last line that ended. Lines whose outcome the previous
 * worker did not record are released and sent again, at most twice in all.
 */
export function batchWork(dependencies: BatchWorkDependencies): (lease: JobLease) => Promise<void> {
  return async (lease) => {
    const { id } = lease.job;
    const state = (await readBatches(dependencies.database, [id])).get(id);
    if (!state) throw new Error(`job ${id} has no batch`);
    await new Work(dependencies, lease, state).run();
  };
}

class Work {
  readonly #dependencies: BatchWorkDependencies;
  readonly #lease: JobLease;
  #state: BatchState;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #published = "";

  constructor(dependencies: BatchWorkDependencies, lease: JobLease, state: BatchState) {
    this.#dependencies = dependencies;
    this.#lease = lease;
    this.#state = state;
  }

  async run(): Promise<void> {
    const { signal } = this.#lease;
    const isChecked = this.#state.times.in_progress !== undefined;
    const opened = await this.#open();
    if (!isChecked && this.#state.endReason !== null)
      await this.#whileLeased((tx) => clearLines(tx, this.#lease.job.id));
    else if (!isChecked && opened && !(await this.#check(opened.reader))) return;
    if (signal.aborted) return;
    if (opened) {
      const { batch, reader } = opened;
      await this.#releaseSent();
      await this.#runLines(batch, reader);
      if (signal.aborted) return;
      await this.#closeRest(batch, reader);
    } else await this.#endLines();
    if (!signal.aborted) await this.#finish();
  }

  /** Checks the input. False if the batch has ended by that, or the work was interrupted. */
  async #check(reader: FileReader): Promise<boolean> {
    const { catalogue, limits } = this.#dependencies;
    const { id } = this.#lease.job;
    const { signal } = this.#lease;
    const { endpoint } = this.#state;
    await this.#whileLeased((tx) => clearLines(tx, id));
    const check = new InputCheck(endpoint, limits, (model) => catalogue.model(model) !== undefined);
    await checkInput(reader.parts(), check, {
      maxLineBytes: limits.maxLineBytes,
      signal,
      store: (lines) => this.#whileLeased((tx) => insertLines(tx, id, lines)),
    });
    if (signal.aborted) return false;
    const { errors, lines } = check;
    if (errors.length > 0) {
      const change = { errorCode: "invalid_body", errorMessage: errors[0]?.message ?? null };
      await this.#lease.end(async (tx) => {
        await setStatus(tx, id, "failed", errors);
        await closeFile(tx, this.#state.outputFileId);
        await closeFile(tx, this.#state.errorFileId);
        const batch = progressOf({ ...this.#state, status: "failed" });
        return { state: "failed", change: { ...change, batch } };
      });
      return false;
    }
    await this.#whileLeased((tx) => startBatch(tx, id, lines));
    await this.#publish();
    return true;
  }

  /** Runs a transaction during which no other worker can take the batch over. Throws `LeaseLost` if one has. */
  #whileLeased(work: (tx: Transaction) => Promise<void>): Promise<void> {
    return this.#dependencies.database.transaction(async (tx) => {
      await requireLeased(tx, { lease: this.#lease });
      await work(tx);
    });
  }

  /**
   * Opens the files. Undefined if they cannot be read and the batch is to end. A batch that may still run is tried
   * again until its window ends, because its files may be encrypted under a secret that this process should have and
   * lacks.
   */
  async #open(): Promise<OpenedBatch | undefined> {
    try {
      return await openBatch(this.#dependencies.files, this.#state, this.#lease);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      if (this.#state.endReason === null && this.#lease.leftMs <= 0) await this.#stop(EXPIRED);
      if (this.#state.endReason === null) throw error;
      return undefined;
    }
  }

  /** Releases what an earlier worker sent and did not end. */
  async #releaseSent(): Promise<void> {
    const { database, ledger } = this.#dependencies;
    const { id } = this.#lease.job;
    for (let after = 0; ; ) {
      const lines = await sentLines(database, id, { after, limit: PAGE });
      for (const line of lines) await ledger.release({ id, lease: this.#lease }, line);
      const last = lines.at(-1);
      if (!last) return;
      after = last.n;
    }
  }

  /** Ends the lines that are left, without entries in the error file: those name what cannot be read. */
  async #endLines(): Promise<void> {
    const { database, ledger } = this.#dependencies;
    const { id } = this.#lease.job;
    await this.#releaseSent();
    for (;;) {
      const lines = await openLines(database, id, { after: 0, limit: PAGE });
      if (lines.length === 0 || this.#lease.signal.aborted) return;
      await ledger.drop(
        { id, lease: this.#lease },
        lines.map(({ n }) => n),
      );
    }
  }

  /** Sends the requests of the lines, until none is left or there is a reason to stop; waits for those that were sent. */
  async #runLines(batch: RunningBatch, reader: FileReader): Promise<void> {
    const { database, slots, ledger, requests, clock, log } = this.#dependencies;
    const { signal } = this.#lease;
    const running = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const run = new LineRun({
      ...{ ledger, requests, batch, clock, log },
      stop: (reason) => this.#stop(reason),
      stopped: () => this.#refresh(),
    });
    const send = async (line: OpenLine) => {
      const release = await slots.acquire(signal);
      if (!release) return false;
      let sent: Promise<void> | undefined;
      try {
        if (failures.length > 0 || (await this.#mustStop())) return false;
        sent = run.run(line, await reader.range(line.startsAt, line.sizeBytes));
      } finally {
        if (!sent) release();
      }
      const done = sent
        .catch((error: unknown) => void failures.push(error))
        .finally(() => {
          release();
          running.delete(done);
        });
      running.add(done);
      return true;
    };
    const sendAll = async () => {
      for (let after = 0; failures.length === 0; ) {
        const lines = await openLines(database, batch.id, { after, limit: PAGE });
        if (lines.length === 0) return;
        for (const line of lines) if (!(await send(line))) return;
        after = lines.at(-1)?.n ?? after;
      }
    };
    // After a failure as well: a retry of the batch would release the lines that were sent, and send them again.
    await sendAll().catch((error: unknown) => void failures.push(error));
    await Promise.all(running);
    const [failure] = failures;
    if (failure !== undefined && !(failure instanceof LineLost && signal.aborted)) throw failure;
  }

  /** Whether no more lines may be sent. Once a second it looks, and publishes how far the batch has come. */
  async #mustStop(): Promise<boolean> {
    const { signal, leftMs } = this.#lease;
    if (signal.aborted) return true;
    if (leftMs <= 0) await this.#stop(EXPIRED);
    const nowMs = this.#dependencies.clock.monotonicMs();
    if (nowMs - this.#lookedAtMs >= LOOK_MS) {
      this.#lookedAtMs = nowMs;
      await this.#refresh();
      await this.#publish();
    }
    return this.#state.endReason !== null;
  }

  async #stop(reason: EndReason): Promise<void> {
    await stopBatch(this.#dependencies.database, this.#lease.job.id, reason);
    await this.#refresh();
  }

  async #refresh(): Promise<void> {
    const { id } = this.#lease.job;
    this.#state = (await readBatches(this.#dependencies.database, [id])).get(id) ?? this.#state;
  }

  async #publish(): Promise<void> {
    await this.#refresh();
    const batch = progressOf(this.#state);
    const text = JSON.stringify(batch);
    if (text === this.#published) return;
    this.#published = text;
    await this.#lease.advance({}, { step: "running", batch, fraction: fractionOf(batch) });
  }

  /** Writes the lines that are left to the error file. */
  async #closeRest(batch: RunningBatch, reader: FileReader): Promise<void> {
    const { database, ledger } = this.#dependencies;
    await this.#refresh();
    const { endReason: reason } = this.#state;
    for (let after = 0; reason && !this.#lease.signal.aborted; ) {
      const lines = await openLines(database, batch.id, { after, limit: PAGE });
      const last = lines.at(-1);
      if (!last) return;
      const failed: FailedLine[] = [];
      for (const { n, startsAt, sizeBytes } of lines) {
        const { customId } = readLine(await reader.range(startsAt, sizeBytes), batch.endpoint);
        failed.push({ n, text: unsentLine(`batch_req_${toDigits(batch.id)}_${n}`, customId, reason) });
      }
      await ledger.fail(batch, failed);
      after = last.n;
    }
  }

  async #finish(): Promise<void> {
    const { id } = this.#lease.job;
    if (this.#state.endReason === null) {
      await this.#whileLeased((tx) => setStatus(tx, id, "finalizing"));
      await this.#publish();
    }
    await this.#lease.end(async (tx) => {
      const state = (await readBatches(tx, [id])).get(id) ?? this.#state;
      const reason = state.endReason;
      const status = reason?.status ?? "completed";
      const errors =
        reason?.status === "failed"
          ? [{ code: reason.code, message: reason.message, param: null, line: null }]
          : [];
      await closeFile(tx, state.outputFileId);
      await closeFile(tx, state.errorFileId);
      await setStatus(tx, id, status, errors);
      const batch = progressOf({ ...state, status });
      const failure =
        reason && status !== "cancelled" ? { errorCode: reason.code, errorMessage: reason.message } : {};
      return {
        state: status === "expired" ? "failed" : status,
        change: { batch, fraction: fractionOf(batch), ...failure },
      };
    });
  }
}

function fractionOf({ total, completed, failed }: BatchProgress): number | null {
  return total === 0 ? null : (completed + failed) / total;
}
