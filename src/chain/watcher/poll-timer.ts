/** The waits of a background loop: they end early when poked, and for good when stopped. */
export class PollTimer {
  readonly #stop = new AbortController();
  #poked = false;
  #wake: () => void = () => {};

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Ends the present wait, or the next one if none is under way. */
  wake(): void {
    this.#poked = true;
    this.#wake();
  }

  /** Ends every wait at once, now and later. */
  stop(): void {
    this.#stop.abort();
    this.#wake();
  }

  /** Resolves after `ms`, or as soon as poked or stopped. */
  async wait(ms: number): Promise<void> {
    if (!this.#poked && !this.stopped) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#poked = false;
  }

  /** What `work` gives, unless stopped first: then it throws at once, without waiting for it. */
  orStop<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    return new Promise((resolve, reject) => {
      const onStop = () => reject(new Error("stopped"));
      if (signal.aborted) onStop();
      // The listener goes with the work: a promise raced against a stop that never comes would pile them up.
      else signal.addEventListener("abort", onStop, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onStop));
    });
  }
}
