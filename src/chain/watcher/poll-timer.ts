/** The waits of a background loop: `wake` ends one wait early, `stop` ends all. */
export class PollTimer {
  readonly #stop = new AbortController();
  #woken = false;
  #wake: () => void = () => {};

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Ends the current wait, or the next one if none is pending. */
  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Ends the current wait and every later one at once. */
  stop(): void {
    this.#stop.abort();
    this.#wake();
  }

  /** Resolves after `ms`, or on `wake` or `stop`. */
  async wait(ms: number): Promise<void> {
    if (!this.#woken && !this.stopped) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#woken = false;
  }

  /** Resolves like `work`, but rejects at once on `stop`, without waiting for `work`. */
  orStop<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    return new Promise((resolve, reject) => {
      const onStop = () => reject(new Error("stopped"));
      if (signal.aborted) onStop();
      // Remove the listener when `work` ends: a race against a stop that never comes would leak listeners.
      else signal.addEventListener("abort", onStop, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onStop));
    });
  }
}
