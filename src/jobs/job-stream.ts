import QuickLru from "quick-lru";
import type { EventStream } from "../events/bus.ts";
import type { DomainEvent } from "../events/topics.ts";
import { isFinal } from "./job.state.ts";

type Step = DomainEvent<"job.progressed">;

const REMEMBERED_JOBS = 10_000;
const DONE: IteratorResult<Step> = { done: true, value: undefined };

/**
 * The steps of an account's jobs, or of one of them: first `present`, how they stand, then what follows in `source`,
 * of each job only greater sequences than were given already (promises F41). That of one job ends behind its last step.
 */
export class JobStream implements EventStream<"job.progressed"> {
  readonly #source: EventStream<"job.progressed">;
  readonly #present: Step[];
  readonly #jobId: string | undefined;
  readonly #given = new QuickLru<string, number>({ maxSize: REMEMBERED_JOBS });
  #over = false;

  constructor(
    source: EventStream<"job.progressed">,
    { present, jobId }: { readonly present: readonly Step[]; readonly jobId?: string },
  ) {
    this.#source = source;
    this.#present = [...present];
    this.#jobId = jobId;
  }

  async next(): Promise<IteratorResult<Step>> {
    if (this.#over) return this.return();
    for (;;) {
      const present = this.#present.shift();
      if (present) return this.#give(present);
      const next = await this.#source.next();
      if (next.done) return next;
      if (this.#isNews(next.value)) return this.#give(next.value);
    }
  }

  async return(): Promise<IteratorResult<Step>> {
    this.#over = true;
    await this.#source.return?.();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #isNews({ data }: Step): boolean {
    if (this.#jobId !== undefined && data.jobId !== this.#jobId) return false;
    return data.sequence > (this.#given.get(data.jobId) ?? 0);
  }

  #give(event: Step): IteratorResult<Step> {
    const { jobId, sequence, status } = event.data;
    this.#given.set(jobId, sequence);
    if (this.#jobId !== undefined && isFinal(status)) this.#over = true;
    return { done: false, value: event };
  }
}
