import type { Database, Queries } from "../../db/database.ts";
import type { EventStream } from "../../events/bus.ts";
import type { EventsService } from "../../events/events.service.ts";
import { SnapshotStream } from "../../events/snapshot-stream.ts";
import type { DomainEvent } from "../../events/topics.ts";
import { inBatches, PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Logger } from "../../kernel/log.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { fileShape, MAX_FILE_BYTES } from "../merkle/shape.ts";
import type { NodeFile } from "../node/storage-node.ts";
import type { SubmissionChange } from "../submissions/submissions.store.ts";
import type { FollowedFiles } from "./followed-files.runner.ts";
import {
  forgetProgress,
  progressOf,
  progressPosition,
  readProgress,
  recordProgress,
  recordRemoved,
  type StoredProgress,
} from "./progress.store.ts";

type Dependencies = {
  readonly database: Database;
  readonly events: EventsService;
  readonly chainId: number;
  readonly log: Logger;
  /** Set only when uploads may bypass this product. */
  readonly followed?: FollowedFiles | undefined;
};

const TOPIC = "file.progressed";
const SWEEP_MS = 3_600_000;
const SWEEP_BATCH = 1_000;

/** The progress of files, from their first segment or submission to their end, and the streams that follow it. */
export class ProgressService {
  readonly #dependencies: Dependencies;
  readonly #sweeps = new PeriodicTask({
    everyMs: SWEEP_MS,
    work: () => this.sweep(),
    failed: (error) =>
      this.#dependencies.log.error({ err: error }, "deleting the progress of abandoned files failed"),
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Records the current state of files, with an event for each change, in the transaction that changed them. */
  record(tx: Queries, files: readonly NodeFile[]): Promise<void> {
    return recordProgress(tx, this.#dependencies.chainId, files.map(progressOf));
  }

  /** Records that the chain has submissions of these files, in the transaction that inserts the submissions. */
  recordSubmitted(tx: Queries, submissions: readonly SubmissionChange[]): Promise<void> {
    const first = new Map(submissions.toReversed().map((submission) => [submission.root, submission]));
    const updates = [...first.values()]
      // Flow accepts sizes that no node can store.
      .filter(({ sizeBytes }) => sizeBytes > 0n && sizeBytes <= BigInt(MAX_FILE_BYTES))
      .map(({ root, txSeq, sizeBytes }) => ({
        ...{ root, txSeq },
        status: "submitted" as const,
        segments: fileShape(Number(sizeBytes)).segments,
        uploadedSegments: 0,
      }));
    return recordProgress(tx, this.#dependencies.chainId, updates);
  }

  /** Records that submissions of these roots were reorged out, in the transaction that deletes them. */
  recordRemoved(tx: Queries, roots: readonly Hex[]): Promise<void> {
    return recordRemoved(tx, this.#dependencies.chainId, roots);
  }

  /** The state of a file by its newest event; undefined when there is none. */
  read(root: Hex): Promise<StoredProgress | undefined> {
    return readProgress(this.#dependencies.database, this.#dependencies.chainId, lowerHex(root));
  }

  /**
   * The progress of a file, which may still be unknown: its current state, then every later step, until it is
   * finalized. With `after`, the steps after that cursor instead of the current state. Throws what
   * `EventsService.follow` throws.
   */
  async follow(given: Hex, after?: string): Promise<EventStream<typeof TOPIC>> {
    const root = lowerHex(given);
    const { events, followed } = this.#dependencies;
    const source = await events.follow({ topic: TOPIC, subject: root }, after);
    try {
      const upTo = await events.position(TOPIC);
      const known = await this.read(root);
      const present = after === undefined && known ? toEvent(known, upTo) : undefined;
      const isOver =
        after !== undefined &&
        known?.step.status === "finalized" &&
        (await this.#isBefore(root, known.eventId, after));
      const stream = new SnapshotStream(source, {
        present: present ? [present] : [],
        keyOf: ({ subject }) => subject,
        isLast: ({ data }) => data.status === "finalized",
        onEnd: () => followed?.remove(root),
      });
      followed?.add(root);
      if (isOver) await stream.return();
      return stream;
    } catch (error) {
      await source.return?.();
      throw error;
    }
  }

  /** Whether the cursor `after` is that of this event or of a later one, or the event was deleted. */
  async #isBefore(root: Hex, eventId: string, after: string): Promise<boolean> {
    const { events, database } = this.#dependencies;
    const position = await progressPosition(database, root, eventId);
    return position === "gone" || (position !== "waiting" && position <= events.positionOf(after));
  }

  /** Deletes the progress of abandoned files. Returns the number of files. */
  sweep(): Promise<number> {
    return inBatches(SWEEP_BATCH, (limit) => forgetProgress(this.#dependencies.database, limit));
  }

  /** Sweeps now and every hour until `stop`. */
  start(): void {
    this.#sweeps.start();
  }

  /** Stops sweeping and polling. */
  async stop(): Promise<void> {
    await Promise.all([this.#dependencies.followed?.stop(), this.#sweeps.stop()]);
  }
}

/** The state of a file, as its event; `upTo` is a position published before the state was read. */
function toEvent({ step, eventId, updatedAt }: StoredProgress, upTo: bigint): DomainEvent<typeof TOPIC> {
  return { id: eventId, position: upTo, topic: TOPIC, subject: step.root, at: updatedAt, data: step };
}
