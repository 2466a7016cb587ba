import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "../../db/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import { findPending } from "./replay.store.ts";

const PATIENCE_MS = 1_000;
const LOOK_AGAIN_MS = 10;
const MOST = 100;

/**
 * What was uploaded through this process a moment ago, so that whoever has just written reads it: a read waits until
 * those transactions are decided, wherever that happens, and at the most for a second. At other times it costs nothing.
 */
export class RecentWrites {
  readonly #dependencies: { readonly queries: Queries; readonly chainId: number; readonly clock: Clock };
  /** Until when each is waited for. */
  readonly #noted = new Map<bigint, number>();

  constructor(dependencies: { readonly queries: Queries; readonly chainId: number; readonly clock: Clock }) {
    this.#dependencies = dependencies;
  }

  /** Notes a submission whose file became whole here. Of too many the newest count. */
  note(txSeq: bigint): void {
    this.#noted.delete(txSeq);
    this.#noted.set(txSeq, this.#dependencies.clock.monotonicMs() + PATIENCE_MS);
    const [oldest] = this.#noted.keys();
    if (this.#noted.size > MOST && oldest !== undefined) this.#noted.delete(oldest);
  }

  /** Resolves when those that were noted are decided, or waited for long enough. */
  async settled(): Promise<void> {
    const { queries, chainId, clock } = this.#dependencies;
    for (;;) {
      const now = clock.monotonicMs();
      for (const [txSeq, until] of this.#noted) if (until <= now) this.#noted.delete(txSeq);
      if (this.#noted.size === 0) return;
      const asked = [...this.#noted.keys()];
      const pending = new Set(await findPending(queries, chainId, asked));
      for (const txSeq of asked) if (!pending.has(txSeq)) this.#noted.delete(txSeq);
      if (pending.size === 0) return;
      await sleep(LOOK_AGAIN_MS);
    }
  }
}
