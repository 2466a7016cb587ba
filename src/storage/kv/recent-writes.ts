import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "../../db/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import { findPending } from "./replay.store.ts";

const MAX_WAIT_MS = 1_000;
const POLL_MS = 10;
const MAX_RECENT = 100;

/**
 * Transactions just uploaded through this process, so that clients read their own writes: a read waits until those
 * transactions are decided, in any process, but at most for a second. Without recent writes it costs nothing.
 */
export class RecentWrites {
  readonly #dependencies: { readonly queries: Queries; readonly chainId: number; readonly clock: Clock };
  /** The deadline until which reads wait for each transaction. */
  readonly #deadlines = new Map<bigint, number>();
  /** The look at the database that all waiting reads share. */
  #look: Promise<void> | undefined;

  constructor(dependencies: { readonly queries: Queries; readonly chainId: number; readonly clock: Clock }) {
    this.#dependencies = dependencies;
  }

  /** Records a submission whose file was completed here. Beyond 100, the oldest are dropped. */
  add(txSeq: bigint): void {
    this.#deadlines.delete(txSeq);
    this.#deadlines.set(txSeq, this.#dependencies.clock.monotonicMs() + MAX_WAIT_MS);
    const [oldest] = this.#deadlines.keys();
    if (this.#deadlines.size > MAX_RECENT && oldest !== undefined) this.#deadlines.delete(oldest);
  }

  /**
   * Resolves when the transactions recorded so far are decided, or their deadlines have passed. Later ones are not waited
   * for: while uploads continue, a read would never end.
   */
  async settled(): Promise<void> {
    const untilMs = this.#dependencies.clock.monotonicMs() + MAX_WAIT_MS;
    const awaited = [...this.#deadlines.keys()];
    for (;;) {
      const now = this.#dependencies.clock.monotonicMs();
      for (const [txSeq, until] of this.#deadlines) if (until <= now) this.#deadlines.delete(txSeq);
      // One that was recorded again has a later deadline.
      if (now >= untilMs || !awaited.some((txSeq) => this.#deadlines.has(txSeq))) return;
      this.#look ??= this.#lookUp().finally(() => {
        this.#look = undefined;
      });
      await this.#look;
    }
  }

  /** Drops what is decided, and pauses if something is not. What is added meanwhile is left to the next look. */
  async #lookUp(): Promise<void> {
    const { queries, chainId } = this.#dependencies;
    const recent = [...this.#deadlines.keys()];
    const pending = new Set(await findPending(queries, chainId, recent));
    for (const txSeq of recent) if (!pending.has(txSeq)) this.#deadlines.delete(txSeq);
    if (pending.size > 0) await sleep(POLL_MS);
  }
}
