import type { Hex } from "../../kernel/text/hex.ts";
import { detached } from "../../kernel/tracing.ts";
import type { Rpc } from "../rpc/rpc.client.ts";

type Waiter = { readonly known: Hex; wake(failure?: unknown): void };

/**
 * Tells the watchers of a process that the chain has a new block: reads the newest block once per interval for all of
 * them, and only while one of them waits.
 */
export class HeadFeed {
  readonly #rpc: Pick<Rpc, "head">;
  readonly #pollMs: number;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;

  /** `pollMs` is the interval in milliseconds. */
  constructor(rpc: Pick<Rpc, "head">, pollMs: number) {
    this.#rpc = rpc;
    this.#pollMs = pollMs;
  }

  /**
   * Calls `wake` once, when the newest block has another hash than `known`, or with the failure of reading it. Returns a
   * function that ends the wait.
   */
  wakeAfter(known: Hex, wake: (failure?: unknown) => void): () => void {
    const waiter = { known, wake };
    this.#waiters.add(waiter);
    this.#schedule();
    return () => {
      this.#waiters.delete(waiter);
      this.#schedule();
    };
  }

  #schedule(): void {
    if (this.#waiters.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else if (!this.#isReading)
      this.#timer ??= detached(() => setTimeout(() => void this.#read(), this.#pollMs));
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    // Who begins to wait during the read may know a newer block than this one.
    const waiting = [...this.#waiters];
    const { hash, failure } = await this.#rpc.head().then(
      (newest) => ({ hash: newest.hash, failure: undefined }),
      (error: unknown) => ({ hash: undefined, failure: error }),
    );
    this.#isReading = false;
    for (const waiter of waiting)
      if (waiter.known !== hash && this.#waiters.delete(waiter)) waiter.wake(failure);
    this.#schedule();
  }
}
