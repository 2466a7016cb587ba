import QuickLru from "quick-lru";
import type { EventStream } from "../events/bus.ts";
import type { DomainEvent } from "../events/topics.ts";
import { isFinal } from "./job.state.ts";

type Step = DomainEvent<"job.progressed">;

const REMEMBERED_JOBS = 10_000;
const DONE: IteratorResult<Step> = { done: true, value: undefined };

/**
 * The steps of an account's jobs, or of one job: first `present`, their current state, then the events of `source`, of
 * each job only sequences greater than those already emitted (promises F41). A single job's stream ends after its final
 * step.
 */
export class JobStream implements EventStream<"job.progressed"> {
  readonly #source: EventStream<"job.progressed">;
  readonly #present: Step[];
  readonly #jobId: string | undefined;
  readonly #emitted = new QuickLru<string, number>({ maxSize: REMEMBERED_JOBS });
  #finished = false;

  constructor(
    source: EventStream<"job.progressed">,
    { present, jobId }: { readonly present: readonly Step[]; readonly jobId?: string },
  ) {
    this.#source = source;
    this.#present = [...present];
    this.#jobId = jobId;
  }

  async next(): Promise<IteratorResult<Step>> {
    if (this.#finished) return this.return();
    for (;;) {
      const present = this.#present.shift();
      if (present) return this.#emit(present);
      const next = await this.#source.next();
      if (next.done) return next;
      if (this.#isNew(next.value)) return this.#emit(next.value);
    }
  }

  async return(): Promise<IteratorResult<Step>> {
    this.#finished = true;
    await this.#source.return?.();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #isNew({ data }: Step): boolean {
    if (this.#jobId !== undefined && data.jobId !== this.#jobId) return false;
    return data.sequence > (this.#emitted.get(data.jobId) ?? 0);
  }

  #emit(event: Step): IteratorResult<Step> {
    const { jobId, sequence, status } = event.data;
    this.#emitted.set(jobId, sequence);
    if (this.#jobId !== undefined && isFinal(status)) this.#finished = true;
    return { done: false, value: event };
  }
}
