import QuickLru from "quick-lru";
import { closeSource, ReleasingIterator } from "../kernel/async/releasing-iterator.ts";
import type { EventStream } from "./bus.ts";
import type { DomainEvent } from "./topics.ts";

/** A topic whose events are the numbered steps of something. */
type StepTopic = "job.progressed" | "file.progressed";

/** How a stream of steps begins and ends, and which steps it has. */
export type SnapshotOptions<T extends StepTopic> = {
  /** Current states, emitted first. */
  readonly present: readonly DomainEvent<T>[];
  /** What a step belongs to; undefined leaves the step out. */
  readonly keyOf: (step: DomainEvent<T>) => string | undefined;
  /** Whether the stream ends after this step. */
  readonly isLast?: (step: DomainEvent<T>) => boolean;
  /** Called once, however the stream ends. */
  readonly onEnd?: () => void;
};

const MAX_KEYS = 10_000;

/**
 * Steps of jobs or files: first their current states, then the events of `source`, of each only sequences greater than
 * those already emitted (promises F41), since an event may repeat what its current state has already shown.
 */
export class SnapshotStream<T extends StepTopic> extends ReleasingIterator<DomainEvent<T>> {
  readonly #source: EventStream<T>;
  readonly #options: SnapshotOptions<T>;
  readonly #present: DomainEvent<T>[];
  readonly #emitted = new QuickLru<string, number>({ maxSize: MAX_KEYS });
  #isFinished = false;

  constructor(source: EventStream<T>, options: SnapshotOptions<T>) {
    super();
    this.#source = source;
    this.#options = options;
    this.#present = [...options.present];
  }

  async next(): Promise<IteratorResult<DomainEvent<T>>> {
    if (this.#isFinished) return this.return();
    const present = this.#present.shift();
    if (present) return this.#emit(present);
    for (;;) {
      const next = await this.#source.next();
      if (next.done) return this.return();
      if (this.#isNew(next.value)) return this.#emit(next.value);
    }
  }

  protected release(): void {
    this.#isFinished = true;
    this.#options.onEnd?.();
    closeSource(this.#source);
  }

  #isNew(step: DomainEvent<T>): boolean {
    const key = this.#options.keyOf(step);
    return key !== undefined && sequenceOf(step) > (this.#emitted.get(key) ?? 0);
  }

  #emit(step: DomainEvent<T>): IteratorResult<DomainEvent<T>> {
    this.#emitted.set(this.#options.keyOf(step) ?? "", sequenceOf(step));
    if (this.#options.isLast?.(step)) this.#isFinished = true;
    return { done: false, value: step };
  }
}

function sequenceOf(step: { readonly data: { readonly sequence: number } }): number {
  return step.data.sequence;
}
