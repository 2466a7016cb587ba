/** How many lines may run in this process. */
type Capacity = {
  /** At most so many, when nothing else is done. */
  readonly parallel: number;
  /** Requests of clients that wait for their answers. */
  readonly live: () => number;
  /** Whether new requests should be rejected. */
  readonly isOverloaded: () => boolean;
};

const RECHECK_MS = 250;

/**
 * The slots of all lines that run in this process, given in the order in which they are requested, so that batches take
 * turns. Each live request takes one away, down to one; an overloaded process gives none.
 */
export class LineSlots {
  readonly #capacity: Capacity;
  readonly #waiting: ((isGranted: boolean) => void)[] = [];
  #taken = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(capacity: Capacity) {
    this.#capacity = capacity;
  }

  /** Resolves with the release of a slot; undefined if `signal` aborts first. Release it once. */
  async acquire(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#waiting.length === 0 && this.#hasRoom()) this.#taken++;
    else if (!(await this.#wait(signal))) return undefined;
    return () => {
      this.#taken--;
      this.#grant();
    };
  }

  #hasRoom(): boolean {
    const { parallel, live, isOverloaded } = this.#capacity;
    if (isOverloaded()) return false;
    return this.#taken < Math.max(1, parallel - live());
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    this.#timer ??= setInterval(() => this.#grant(), RECHECK_MS);
    return new Promise((resolve) => {
      const end = (isGranted: boolean) => {
        signal.removeEventListener("abort", leave);
        if (this.#waiting.length === 0) {
          clearInterval(this.#timer);
          this.#timer = undefined;
        }
        resolve(isGranted);
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(end), 1);
        end(false);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(end);
    });
  }

  #grant(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      this.#taken++;
      this.#waiting.shift()?.(true);
    }
  }
}
