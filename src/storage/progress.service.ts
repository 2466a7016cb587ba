import type { Database, Queries } from "../db/database.ts";
import type { EventStream } from "../events/bus.ts";
import type { EventsService } from "../events/events.service.ts";
import type { DomainEvent, FileProgress } from "../events/topics.ts";
import type { Logger } from "../kernel/log.ts";
import { type Hex, lowerHex } from "../kernel/text/hex.ts";
import { fileShape, MAX_FILE_BYTES } from "./merkle/shape.ts";
import type { FileId, NodeFile } from "./node/storage-node.ts";
import {
  forgetProgress,
  progressPosition,
  readProgress,
  recordProgress,
  recordRemoved,
  type StoredProgress,
} from "./progress.store.ts";
import { ProgressStream } from "./progress-stream.ts";
import type { SubmissionChange } from "./submissions.store.ts";

type Dependencies = {
  readonly database: Database;
  readonly events: EventsService;
  readonly chainId: number;
  readonly log: Logger;
  readonly committed: () => void;
  /** Asks the nodes how files stand. Only where uploads do not all pass through this product. */
  readonly poll?: ((ids: readonly FileId[]) => Promise<readonly (NodeFile | undefined)[]>) | undefined;
  readonly pollMs?: number;
};

const TOPIC = "file.progressed";
const POLL_MS = 2_000;
/** What `StorageNode.find` takes at once. */
const POLLED_AT_ONCE = 100;
const SWEEP_MS = 3_600_000;
const SWEPT_AT_ONCE = 1_000;

/** How far files have come, from their first segment or submission to their end, and who wants to hear of it. */
export class ProgressService {
  readonly #dependencies: Dependencies;
  /** How many follow a root in this process. */
  readonly #followed = new Map<Hex, number>();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweeping: Promise<unknown> = Promise.resolve();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Writes how files stand now, with an event for each that is news, in the transaction that changed them. */
  note(tx: Queries, files: readonly NodeFile[]): Promise<void> {
    return recordProgress(tx, this.#dependencies.chainId, files.map(toNote));
  }

  /** Writes that the chain has submissions of these files, in the transaction that brings them. */
  noteSubmitted(tx: Queries, submissions: readonly SubmissionChange[]): Promise<void> {
    const first = new Map(submissions.toReversed().map((submission) => [submission.root, submission]));
    const notes = [...first.values()]
      // Flow takes what no node ever could.
      .filter(({ sizeBytes }) => sizeBytes > 0n && sizeBytes <= BigInt(MAX_FILE_BYTES))
      .map(({ root, txSeq, sizeBytes }) => ({
        ...{ root, txSeq },
        status: "submitted" as const,
        segments: fileShape(Number(sizeBytes)).segments,
        uploadedSegments: 0,
      }));
    return recordProgress(tx, this.#dependencies.chainId, notes);
  }

  /** Writes that the chain took submissions of these roots back, in the transaction that did. */
  noteRemoved(tx: Queries, roots: readonly Hex[]): Promise<void> {
    return recordRemoved(tx, this.#dependencies.chainId, roots);
  }

  /** How a file stands by the newest event about it; undefined when there is none. */
  read(root: Hex): Promise<StoredProgress | undefined> {
    return readProgress(this.#dependencies.database, this.#dependencies.chainId, lowerHex(root));
  }

  /**
   * The progress of a file, which may still be unknown: its current state, then every later step, until it is
   * finalized. With `after`, in place of how it stands, the steps behind that cursor. Throws what
   * `EventsService.follow` throws.
   */
  async follow(given: Hex, after?: string): Promise<EventStream<typeof TOPIC>> {
    const root = lowerHex(given);
    const { events, database } = this.#dependencies;
    const source = await events.follow({ topic: TOPIC, subject: root }, after);
    try {
      const upTo = await events.position(TOPIC);
      const known = await this.read(root);
      const present = after === undefined && known ? toEvent(known, upTo) : undefined;
      const stream = new ProgressStream(source, { present, onEnd: () => this.#leave(root) });
      this.#enter(root);
      if (after !== undefined && known?.step.status === "finalized") {
        const told = await progressPosition(database, root, known.eventId);
        if (told === "gone" || (told !== "waiting" && told <= events.positionOf(after)))
          await stream.return();
      }
      return stream;
    } catch (error) {
      await source.return?.();
      throw error;
    }
  }

  /** Deletes what came to nothing. Returns how many files that were. */
  async sweep(): Promise<number> {
    for (let gone = 0; ; ) {
      const batch = await forgetProgress(this.#dependencies.database, SWEPT_AT_ONCE);
      gone += batch;
      if (batch < SWEPT_AT_ONCE) return gone;
    }
  }

  /** Sweeps now and every hour until `stop`. */
  start(): void {
    const sweep = () => {
      this.#sweeping = this.sweep().catch((error: unknown) =>
        this.#dependencies.log.error(
          { err: error },
          "deleting the progress of files that came to nothing failed",
        ),
      );
    };
    sweep();
    this.#sweepTimer = setInterval(sweep, SWEEP_MS);
  }

  /** Ends sweeping and asking nodes. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    clearInterval(this.#sweepTimer);
    await Promise.all([this.#polling, this.#sweeping]);
  }

  #enter(root: Hex): void {
    const { poll, pollMs = POLL_MS } = this.#dependencies;
    this.#followed.set(root, (this.#followed.get(root) ?? 0) + 1);
    if (!poll || this.#timer) return;
    const ask = () => {
      this.#polling ??= this.#ask(poll).finally(() => {
        this.#polling = undefined;
      });
    };
    this.#timer = setInterval(ask, pollMs);
    ask();
  }

  #leave(root: Hex): void {
    const left = (this.#followed.get(root) ?? 1) - 1;
    if (left > 0) this.#followed.set(root, left);
    else this.#followed.delete(root);
    if (this.#followed.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Nodes that cannot be asked are asked again: whoever follows a file hears of it as soon as they can. */
  async #ask(poll: NonNullable<Dependencies["poll"]>): Promise<void> {
    const { database, log, committed } = this.#dependencies;
    const roots = [...this.#followed.keys()];
    try {
      for (let from = 0; from < roots.length; from += POLLED_AT_ONCE) {
        const asked = roots.slice(from, from + POLLED_AT_ONCE).map((root) => ({ root }));
        const found = (await poll(asked)).filter((file) => file !== undefined);
        await database.transaction((tx) => this.note(tx, found));
      }
      committed();
    } catch (error) {
      log.warn({ err: error }, "storage nodes could not be asked for the progress of files");
    }
  }
}

function toNote(file: NodeFile) {
  const { root, txSeq, segments, uploadedSegments } = file;
  return { root, txSeq: txSeq ?? null, segments, uploadedSegments, status: statusOf(file) };
}

function statusOf({ pruned, finalized, txSeq }: NodeFile): FileProgress["status"] {
  if (pruned) return "pruned";
  if (finalized) return "finalized";
  return txSeq === undefined ? "uploading" : "submitted";
}

/** How a file stands, as the event that told it; `upTo` is published before this was read. */
function toEvent({ step, eventId, updatedAt }: StoredProgress, upTo: bigint): DomainEvent<typeof TOPIC> {
  return { id: eventId, position: upTo, topic: TOPIC, subject: step.root, at: updatedAt, data: step };
}
