/** The silence after which a replay is over, milliseconds: the server sends missed events without pauses. */
const QUIET_MS = 500;

/**
 * Estimates when a replay is over, for the label `replaying` only. The protocol has no mark for it: it is over with
 * the first event that happened after the connection was opened, or when no event arrives for a while.
 */
export class ReplayEnd {
  readonly #onEnd: () => void;
  #openedAtMs = Number.POSITIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  start(): void {
    this.#openedAtMs = Date.now();
    this.#arm();
  }

  /** An event arrived; `at` is when it happened, if the document selects it. */
  saw(at: unknown): void {
    if (this.#timer === undefined) return;
    if (typeof at === "string" && Date.parse(at) >= this.#openedAtMs) this.#end();
    else this.#arm();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), QUIET_MS);
  }

  #end(): void {
    this.stop();
    this.#onEnd();
  }
}
