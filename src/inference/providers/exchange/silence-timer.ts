import { ProviderFailure } from "./provider-failure.ts";

/** Fails an exchange whose provider sends nothing for too long. The allowed time depends on what is awaited. */
export class SilenceTimer {
  readonly #onSilent: (failure: ProviderFailure) => void;
  #timer: NodeJS.Timeout | undefined;
  #allowedMs: number | undefined;

  constructor(onSilent: (failure: ProviderFailure) => void) {
    this.#onSilent = onSilent;
  }

  /** Restarts the timer with `ms` of allowed silence; undefined means no limit. */
  allow(ms: number | undefined): void {
    if (this.#timer && ms === this.#allowedMs) {
      this.#timer.refresh();
      return;
    }
    this.stop();
    this.#allowedMs = ms;
    if (ms === undefined) return;
    this.#timer = setTimeout(
      () => this.#onSilent(new ProviderFailure("silent", { cause: new Error(`silent for ${ms} ms`) })),
      ms,
    );
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
