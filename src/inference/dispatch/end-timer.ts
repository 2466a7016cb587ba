import type { StreamReader } from "./stream-options.ts";

/** How long to wait after the complete answer for usage and the last event, and for the last event alone. */
const ENDING_MS = 3_000;
const LAST_EVENT_MS = 500;

/** Waits for what a provider may send after the last content of an answer. */
export class EndTimer {
  readonly #over: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** `over` is called when the wait is over. */
  constructor(over: () => void) {
    this.#over = over;
  }

  /** Waits from now on, if the answer is complete. */
  restart({ isFinished, usage }: Pick<StreamReader, "isFinished" | "usage">): void {
    this.stop();
    if (isFinished) this.#timer = setTimeout(this.#over, usage ? LAST_EVENT_MS : ENDING_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
