import type { HoldsService } from "../../accounts/holds.service.ts";
import type { HoldRequest } from "../../accounts/holds.store.ts";
import { costOf, failedSettlement, type Settlement } from "../../accounts/settlements.store.ts";
import { growFile } from "../../client-files/client-file.store.ts";
import type { FileKey } from "../../client-files/file-cipher.ts";
import type { Database, Transaction } from "../../db/database.ts";
import { shareLeased } from "../../jobs/job.store.ts";
import { type JobLease, LeaseLost } from "../../jobs/lease.ts";
import { countCompleted, countFailed } from "./batch.store.ts";
import type { BatchEndpoint } from "./batch.ts";
import { beginLine, endLine, endWaiting, freeLine, type OpenLine } from "./batch-lines.store.ts";
import { responseLine } from "./batch-output.ts";
import { ContestedMoney } from "./contested-money.ts";

/** A batch while this worker has its lease. */
export type LeasedBatch = { readonly id: string; readonly lease: JobLease };

/** A batch while this worker runs it, and the files that its lines are written to. */
export type RunningBatch = LeasedBatch & {
  readonly account: string;
  readonly keyId: string;
  readonly endpoint: BatchEndpoint;
  readonly output: { readonly id: string; readonly key: FileKey };
  readonly errors: { readonly id: string; readonly key: FileKey };
};

/** A line whose request is being sent. */
export type SentLine = {
  readonly batch: RunningBatch;
  readonly n: number;
  readonly customId: string;
  readonly body: Buffer;
};

/** The text of a line in the error file. */
export type FailedLine = { readonly n: number; readonly text: Buffer };

/** The request of a line ended before its answer was recorded: its hold expired, or another worker released it. */
export class LineLost extends Error {
  override readonly name = "LineLost";
}

/** The batch of a line was cancelled, or is stopped for another reason, before the line began. */
export class BatchStopped extends Error {
  override readonly name = "BatchStopped";
}

type Dependencies = {
  readonly database: Database;
  readonly holds: Pick<HoldsService, "holdIn" | "settleIn" | "commit" | "lastSpendable">;
  /** Signals that events were committed. */
  readonly committed: () => void;
};

/** The largest part of a file, bytes before encryption. */
const MAX_PART_BYTES = 1_048_576;
/** Places of parts within a line. */
const PARTS_PER_LINE = 1_024;

/**
 * The money of lines. The hold of a line and the mark that it is being sent are one transaction, and so are its charge
 * and its answer: a line is billed once when its answer is in the output file, and never otherwise (promises F40). A
 * request that a worker did not end is released by the next one.
 */
export class LineLedger {
  readonly #dependencies: Dependencies;
  /** By the ids of their requests. */
  readonly #sent = new Map<string, SentLine>();
  readonly #money = new ContestedMoney();
  readonly #wasHeld = new Set<string>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Runs the request of a line, which `hold` and `settle` know by its id meanwhile. */
  async track<T>(requestId: string, line: SentLine, work: () => Promise<T>): Promise<T> {
    this.#sent.set(requestId, line);
    try {
      return await work();
    } finally {
      this.#sent.delete(requestId);
      this.#money.release(line.batch.account, requestId);
      this.#wasHeld.delete(requestId);
    }
  }

  /** Whether the tracked request had a hold, so that it may have been sent. */
  wasHeld(requestId: string): boolean {
    return this.#wasHeld.has(requestId);
  }

  /** Whether money that the tracked request was refused may come back from other lines of its account. */
  isContested(requestId: string): Promise<boolean> {
    return this.#money.isContested(this.lineOf(requestId).batch.account, requestId);
  }

  /** The line of a request. Throws if it is not tracked. */
  lineOf(requestId: string): SentLine {
    const line = this.#sent.get(requestId);
    if (!line) throw new Error(`the request ${requestId} has no line`);
    return line;
  }

  /** See `HoldsService.lastSpendable`. */
  lastSpendable(keyId: string): bigint | undefined {
    return this.#dependencies.holds.lastSpendable(keyId);
  }

  /**
   * Holds money for the request of a line, as `HoldsService.hold` does. Throws `LeaseLost` if the batch was taken over,
   * and `BatchStopped` if none of its lines may begin any more.
   */
  async hold(request: HoldRequest): Promise<bigint> {
    const { database, holds } = this.#dependencies;
    const { batch, n } = this.lineOf(request.id);
    const place = () =>
      database.transaction(async (tx) => {
        await requireLeased(tx, batch);
        const amount = await holds.holdIn(tx, request);
        const begin = await beginLine(tx, batch.id, n, request.id);
        if (begin === "stopped") throw new BatchStopped("no more lines of the batch may begin");
        if (begin === "lost") throw new LineLost("the line is not waiting");
        return amount;
      });
    const granted = await this.#money.hold(batch.account, request.id, () => holds.commit(request, place));
    this.#wasHeld.add(request.id);
    return granted;
  }

  /**
   * Ends the request of a line. With `answer`, which gives the answer that states what was charged, it is written to the
   * output file in the same transaction; without, the line waits again. Resolves with the neuron charged. Throws
   * `LineLost` for an answer whose hold had ended: then nothing is charged.
   */
  async settle(settlement: Settlement, answer?: (charged: bigint) => Promise<Buffer>): Promise<bigint> {
    const { database, holds, committed } = this.#dependencies;
    const { id } = settlement;
    const { batch, n, customId } = this.lineOf(id);
    // Rendered before the transaction; again only if less than the cost can be charged.
    const expected = await answer?.(costOf(settlement));
    const charged = await database.transaction(async (tx) => {
      const amount = await holds.settleIn(tx, settlement);
      if (!answer || !expected) {
        await freeLine(tx, batch.id, { n, requestId: id, isUncounted: settlement.outcome === "aborted" });
        return amount ?? 0n;
      }
      if (amount === undefined || !(await endLine(tx, batch.id, n, id)))
        throw new LineLost("the request had ended before its answer was recorded");
      const body = amount === costOf(settlement) ? expected : await answer(amount);
      const line = responseLine(customId, { requestId: id, statusCode: 200, body });
      await growFile(tx, batch.output.id, partsOf(batch.output.key, n, line), line.length);
      const { inputTokens = 0, outputTokens = 0, cache, reasoningTokens = 0 } = settlement;
      const cachedTokens = cache?.read ?? 0;
      const tokens = { inputTokens, cachedTokens, outputTokens, reasoningTokens };
      await countCompleted(tx, batch.id, { cost: amount, ...tokens });
      return amount;
    });
    this.#money.release(batch.account, id);
    committed();
    return charged;
  }

  /** Ends lines that are not being sent by writing their texts to the error file. Throws `LeaseLost`. */
  async fail(batch: RunningBatch, lines: readonly FailedLine[]): Promise<void> {
    if (lines.length === 0) return;
    const runs = runsOf(lines);
    const parts = runs.flatMap(({ first, text }) => partsOf(batch.errors.key, first, text));
    const sizeBytes = runs.reduce((sum, { text }) => sum + text.length, 0);
    const numbers = lines.map(({ n }) => n);
    await this.#endWaiting(batch, numbers, async (tx) => {
      await growFile(tx, batch.errors.id, parts, sizeBytes);
      await countFailed(tx, batch.id, lines.length);
    });
  }

  /** Ends lines that are not being sent and have no entry in a file: they are not counted. Throws `LeaseLost`. */
  drop(batch: LeasedBatch, lines: readonly number[]): Promise<void> {
    return this.#endWaiting(batch, lines);
  }

  #endWaiting(
    batch: LeasedBatch,
    lines: readonly number[],
    record?: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    return this.#dependencies.database.transaction(async (tx) => {
      await requireLeased(tx, batch);
      if ((await endWaiting(tx, batch.id, lines)) !== lines.length)
        throw new LineLost("a line is not waiting");
      await record?.(tx);
    });
  }

  /** Releases the hold of a request that another worker sent and did not end, and lets its line wait again. */
  async release(batch: LeasedBatch, { n, requestId }: OpenLine): Promise<void> {
    const { database, holds, committed } = this.#dependencies;
    if (requestId === null) return;
    await database.transaction(async (tx) => {
      await requireLeased(tx, batch);
      await holds.settleIn(tx, failedSettlement(requestId, "interrupted"));
      await freeLine(tx, batch.id, { n, requestId, isUncounted: false });
    });
    committed();
  }
}

/** Prevents other workers from taking a batch over before the transaction ends. Throws `LeaseLost` if one has. */
export async function requireLeased(tx: Transaction, { lease }: Pick<LeasedBatch, "lease">): Promise<void> {
  if (await shareLeased(tx, lease.job)) return;
  lease.interrupt();
  throw new LeaseLost(`job ${lease.job.id} was taken over`);
}

/**
 * The texts of consecutive lines as one: parts are read in the order of their first lines, and an error file may have
 * entries of the lines between two others already.
 */
function runsOf(lines: readonly FailedLine[]): readonly { readonly first: number; readonly text: Buffer }[] {
  const runs: FailedLine[][] = [];
  for (const line of lines) {
    const run = runs.at(-1);
    if (run?.at(-1)?.n === line.n - 1) run.push(line);
    else runs.push([line]);
  }
  return runs.map((run) => ({ first: run[0]?.n ?? 0, text: Buffer.concat(run.map(({ text }) => text)) }));
}

/** Encrypts the text of a line, or of lines of which it is the first, in parts. */
function partsOf(key: FileKey, line: number, text: Buffer) {
  const count = Math.ceil(text.length / MAX_PART_BYTES);
  if (count > PARTS_PER_LINE) throw new RangeError("a line of an output file is too long");
  return Array.from({ length: count }, (_, k) => {
    const n = line * PARTS_PER_LINE + k;
    return { n, bytes: key.seal(text.subarray(k * MAX_PART_BYTES, (k + 1) * MAX_PART_BYTES), n) };
  });
}
