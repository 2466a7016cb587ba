import type { EventStream } from "../events/bus.ts";
import type { DomainEvent } from "../events/topics.ts";

type Step = DomainEvent<"file.progressed">;

const DONE: IteratorResult<Step> = { done: true, value: undefined };

/**
 * The steps of one file: first `present`, its current state, then the events of `source`, only with sequences greater
 * than those already emitted. It ends after the step that finalizes the file.
 */
export class ProgressStream implements EventStream<"file.progressed"> {
  readonly #source: EventStream<"file.progressed">;
  readonly #onEnd: () => void;
  #present: Step | undefined;
  #emitted = 0;
  #finished = false;
  #ended = false;

  /** `onEnd` runs once, however the stream ends. */
  constructor(
    source: EventStream<"file.progressed">,
    { present, onEnd }: { readonly present: Step | undefined; readonly onEnd: () => void },
  ) {
    this.#source = source;
    this.#present = present;
    this.#onEnd = onEnd;
  }

  async next(): Promise<IteratorResult<Step>> {
    if (this.#finished) return this.return();
    const present = this.#present;
    this.#present = undefined;
    if (present) return this.#emit(present);
    for (;;) {
      const next = await this.#source.next();
      if (next.done) return this.return();
      if (next.value.data.sequence > this.#emitted) return this.#emit(next.value);
    }
  }

  async return(): Promise<IteratorResult<Step>> {
    this.#finished = true;
    if (!this.#ended) {
      this.#ended = true;
      this.#onEnd();
    }
    await this.#source.return?.();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #emit(event: Step): IteratorResult<Step> {
    this.#emitted = event.data.sequence;
    if (event.data.status === "finalized") this.#finished = true;
    return { done: false, value: event };
  }
}
