import type { HoldRequest } from "../holds.store.ts";
import type { AllotmentRow } from "./allotment-row.ts";
import type { Return } from "./settle.store.ts";

/** The terms of a key and its account when money was last taken for it. */
export type KeyTerms = {
  readonly restrictionsVersion: number;
  /** The version of its account's budgets of tags. */
  readonly tagBudgetVersion: number;
  /** When the key expires, on the process's monotonic clock. */
  readonly untilMs: number;
};

/** By which nothing is admitted. */
export const NO_TERMS: KeyTerms = {
  restrictionsVersion: 0,
  tagBudgetVersion: 0,
  untilMs: Number.NEGATIVE_INFINITY,
};

/** In advance, a key takes at most this many times what its waiting requests need. */
const MAX_ADVANCE = 32n;

/**
 * The allotment of a key as its process knows it. `amount` is what the database said last; of that, `reserved` is set
 * aside for requests in progress, and the rest is unused. All amounts in neuron.
 */
export class Allotment {
  readonly id: string;
  readonly account: string;
  readonly keyId: string;
  #amount: bigint;
  #reserved = 0n;
  #inProgress = 0;
  #isOpen = false;
  #isTaking = false;
  #isLost = false;
  #terms: KeyTerms = NO_TERMS;
  #advance = 1n;
  #usedMs = 0;
  /** Whether the database still counts something as unused, although this process has closed it. */
  #isOwed = true;

  constructor({ id, account, keyId, amount }: AllotmentRow) {
    this.id = id;
    this.account = account;
    this.keyId = keyId;
    this.#amount = amount;
  }

  get reserved(): bigint {
    return this.#reserved;
  }

  get unused(): bigint {
    return this.#amount > this.#reserved ? this.#amount - this.#reserved : 0n;
  }

  /** Whether the request may be admitted without asking the database, by the terms of the key that were read last. */
  admits(request: HoldRequest, nowMs: number): boolean {
    return (
      this.#isOpen &&
      !this.#isTaking &&
      request.maximum <= this.unused &&
      request.account === this.account &&
      (request.restrictionsVersion ?? 0) === this.#terms.restrictionsVersion &&
      (request.tagBudgetVersion ?? this.#terms.tagBudgetVersion) === this.#terms.tagBudgetVersion &&
      nowMs < this.#terms.untilMs
    );
  }

  reserve(amount: bigint, nowMs: number): void {
    this.#reserved += amount;
    this.#inProgress++;
    this.#usedMs = nowMs;
  }

  /** Sets more aside for a request in progress; returns how much of it was unused. */
  extend(amount: bigint): bigint {
    const extra = amount < this.unused ? amount : this.unused;
    this.#reserved += extra;
    return extra;
  }

  /** Ends a request for which this much was reserved. */
  release(amount: bigint): void {
    this.#reserved -= amount;
    this.#inProgress--;
  }

  /** Begins to take more: nothing is admitted until `taken`. Returns what to take in advance for requests of this much. */
  take(needed: bigint): bigint {
    this.#isTaking = true;
    return needed * this.#advance;
  }

  /** What was taken has arrived; undefined if nothing was. */
  taken(row: AllotmentRow | undefined, terms: KeyTerms): void {
    this.#isTaking = false;
    if (!row) return;
    this.read(row);
    this.#terms = terms;
    this.#isOpen = row.state === "open";
    if (this.#advance < MAX_ADVANCE) this.#advance = this.#advance === 0n ? 1n : this.#advance * 2n;
  }

  /** Notes what the database has. What is recalled, or was closed by a statement that failed, is owed. */
  read({ amount, state }: AllotmentRow): void {
    this.#amount = amount;
    if (state === "recalled") this.close();
    this.#isOwed = !this.#isOpen && state !== "closed";
  }

  /** Nothing is admitted any more, until more is taken. */
  close(): void {
    this.#isOpen = false;
    this.#advance = 0n;
  }

  /** It does not exist any more. */
  lose(): void {
    this.close();
    this.#isLost = true;
    this.#amount = 0n;
  }

  /** Whether nothing was admitted for this long. */
  isIdle(nowMs: number, forMs: number): boolean {
    return this.#isOpen && nowMs - this.#usedMs >= forMs;
  }

  /**
   * What has to be returned when `ending` of its requests end, for which this much is reserved. Undefined if nothing has,
   * or it was lost.
   */
  toReturn(ending = 0, reserved = 0n): Return | undefined {
    const isOver = this.#inProgress === ending;
    const keep = this.#reserved - reserved;
    if (this.#isOpen || this.#isTaking || this.#isLost) return undefined;
    const isOwed = this.#isOwed || isOver || this.#amount > keep;
    return isOwed
      ? { allotmentId: this.id, account: this.account, keyId: this.keyId, keep, isOver }
      : undefined;
  }
}
