import { startTimer } from "./backoff.ts";

/** Notices that a connection is silent: a peer that vanished, or a machine that slept, closes no socket. */
export class SilenceWatch {
  readonly #silentMs: number;
  readonly #onSilent: () => void;
  #heardAtMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls back once when nothing was heard for `silentMs`. */
  constructor(silentMs: number, onSilent: () => void) {
    this.#silentMs = silentMs;
    this.#onSilent = onSilent;
  }

  /** Starts, and counts as something heard. */
  start(): void {
    this.heard();
    this.stop();
    this.#arm(this.#silentMs);
  }

  heard(): void {
    this.#heardAtMs = Date.now();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** One timer at a time, whatever arrives in between. */
  #arm(ms: number): void {
    this.#timer = startTimer(() => {
      const nowMs = Date.now();
      // The clock was set back: what was heard is counted from now on, not from when the clock is there again.
      this.#heardAtMs = Math.min(this.#heardAtMs, nowMs);
      const leftMs = this.#heardAtMs + this.#silentMs - nowMs;
      if (leftMs <= 0) this.#onSilent();
      else this.#arm(leftMs);
    }, ms);
  }
}
