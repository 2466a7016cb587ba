import { AppError } from "../../src/kernel/errors.ts";

/** Target duration of an event loop turn while something waits for the next one. */
const MAX_TURN_MS = 8;
/** A turn that has taken this long starts nothing more; a batch of chats takes less. */
const MAX_STARTING_MS = 25;
/**
 * How long new connections may delay waiting requests, in processor time of this thread: on a busy machine few
 * connections are accepted per millisecond on the clock.
 */
const MAX_ACCEPTING_MS = 50;
/**
 * The most tasks that begin in one turn. undici writes a request to its provider at the end of the turn: sixteen chats
 * that began together waited for each other, and the provider for all of them.
 */
const MAX_PER_TURN = 8;
/** Tasks that wait for a turn, such as requests or handshakes. */
const MAX_WAITING = 5_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Spreads bursts over turns of the event loop. The number of tasks per turn adapts to the duration of turns: eight chats
 * that arrive together begin in one turn, while expensive requests begin one by one, so that health checks and
 * responses in progress run in between. Connections come first: libuv accepts one per turn, so the last of 300 clients
 * that connect at once would otherwise wait for 300 turns of work.
 */
export class Turns {
  readonly #maxPerTurn: number;
  readonly #waiting: (() => void)[] = [];
  #perTurn: number;
  #begun = 0;
  #startedMs = 0;
  #isOpen = false;
  #hasAccepted = false;
  #acceptingSinceMs: number | undefined;

  constructor(maxPerTurn = MAX_PER_TURN) {
    this.#maxPerTurn = maxPerTurn;
    this.#perTurn = maxPerTurn;
  }

  /** Runs `run` now or in a later turn, in order. Returns false, without running it, when the queue is full. */
  take(run: () => void): boolean {
    if (!this.mayBegin()) return this.wait(run);
    run();
    return true;
  }

  /** Whether a task may begin now. If so, it is counted as begun. */
  mayBegin(): boolean {
    this.#open();
    if (this.#hasAccepted || this.#waiting.length > 0 || !this.#hasRoom()) return false;
    this.#begun += 1;
    return true;
  }

  /** Queues `run` for a later turn. Returns false when the queue is full. */
  wait(run: () => void): boolean {
    if (this.#waiting.length >= MAX_WAITING) return false;
    this.#waiting.push(run);
    return true;
  }

  /**
   * Records a new connection: no request begins while connections keep arriving, for at most `MAX_ACCEPTING_MS`.
   */
  accepted(): void {
    this.#open();
    this.#hasAccepted = true;
  }

  /** A task may itself have taken long: then the rest waits, whatever is left of this turn's quota. */
  #hasRoom(): boolean {
    return this.#begun < this.#perTurn && performance.now() - this.#startedMs < MAX_STARTING_MS;
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#startedMs = performance.now();
    setImmediate(() => this.#endTurn());
  }

  /** `setImmediate` does not make the event loop wait, so the time measured is the time the turn's work took. */
  #endTurn(): void {
    const nowMs = performance.now();
    this.#isOpen = false;
    this.#begun = 0;
    if (this.#isAccepting()) {
      this.#open();
      this.#begun = this.#perTurn;
      return;
    }
    const isLate = nowMs - this.#startedMs > MAX_TURN_MS;
    this.#perTurn = isLate ? Math.ceil(this.#perTurn / 4) : Math.min(this.#maxPerTurn, this.#perTurn * 2);
    if (this.#waiting.length === 0) return;
    this.#open();
    while (this.#hasRoom()) {
      const run = this.#waiting.shift();
      if (!run) return;
      this.#begun += 1;
      run();
    }
  }

  #isAccepting(): boolean {
    if (!this.#hasAccepted) {
      this.#acceptingSinceMs = undefined;
      return false;
    }
    this.#hasAccepted = false;
    const nowMs = threadMs();
    const sinceMs = this.#acceptingSinceMs ?? nowMs;
    const isAccepting = nowMs - sinceMs < MAX_ACCEPTING_MS;
    this.#acceptingSinceMs = isAccepting ? sinceMs : undefined;
    return isAccepting;
  }
}

/** Resolves when the caller's turn comes. Throws `overloaded` when the queue is full. */
export function takeTurn(turns: Turns): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!turns.take(resolve)) reject(overloaded());
  });
}

/** The error for a request that this process has no capacity for. */
export function overloaded(): AppError {
  return new AppError("overloaded", "This server is overloaded. Try again later.", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
