import type { EventStream } from "../events/bus.ts";
import type { DomainEvent } from "../events/topics.ts";

type Step = DomainEvent<"file.progressed">;

const DONE: IteratorResult<Step> = { done: true, value: undefined };

/**
 * The steps of one file: first `present`, how it stands, then what follows in `source`, only with greater sequences than
 * were given already. It ends behind the step by which the file is finalized.
 */
export class ProgressStream implements EventStream<"file.progressed"> {
  readonly #source: EventStream<"file.progressed">;
  readonly #onEnd: () => void;
  #present: Step | undefined;
  #given = 0;
  #over = false;
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
    if (this.#over) return this.return();
    const present = this.#present;
    this.#present = undefined;
    if (present) return this.#give(present);
    for (;;) {
      const next = await this.#source.next();
      if (next.done) return this.return();
      if (next.value.data.sequence > this.#given) return this.#give(next.value);
    }
  }

  async return(): Promise<IteratorResult<Step>> {
    this.#over = true;
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

  #give(event: Step): IteratorResult<Step> {
    this.#given = event.data.sequence;
    if (event.data.status === "finalized") this.#over = true;
    return { done: false, value: event };
  }
}
