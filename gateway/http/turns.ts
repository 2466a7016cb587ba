import { AppError } from "../../src/kernel/errors.ts";

/** How long a turn of the event loop should take while something waits for the next. */
const MAX_TURN_MS = 8;
/** How long a run of new connections may delay what waits. */
const MAX_ACCEPTING_MS = 50;
/** The most that begin in one turn. */
const MAX_PER_TURN = 16;
/** What waits for its turn, such as a request or a handshake. */
const MAX_WAITING = 5_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Spreads what arrives at once over turns of the event loop. How many begin in a turn follows from how long turns take:
 * sixteen chats that begin together are admitted in one batch, while costly requests begin one by one, so that health
 * checks and answers under way come in between. Connections come first: libuv accepts one per turn, so the last of 300
 * clients that connect at once would otherwise wait for 300 turns of work.
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

  /** Runs now or in a later turn, in order. False when too many wait already: then it does not run. */
  take(run: () => void): boolean {
    if (!this.mayBegin()) return this.wait(run);
    run();
    return true;
  }

  /** Whether something may begin at once, which is counted as begun then. */
  mayBegin(): boolean {
    this.#open();
    if (this.#hasAccepted || this.#waiting.length > 0 || !this.#hasRoom()) return false;
    this.#begun += 1;
    return true;
  }

  /** Runs in a later turn what may not begin now. False when too many wait already. */
  wait(run: () => void): boolean {
    if (this.#waiting.length >= MAX_WAITING) return false;
    this.#waiting.push(run);
    return true;
  }

  /** Notes a new connection: no request begins while connections keep coming, for at most `MAX_ACCEPTING_MS`. */
  accepted(): void {
    this.#open();
    this.#hasAccepted = true;
  }

  /** What began may itself have taken long: then the rest waits, however many this turn might have had. */
  #hasRoom(): boolean {
    return this.#begun < this.#perTurn && performance.now() - this.#startedMs < MAX_TURN_MS;
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#startedMs = performance.now();
    setImmediate(() => this.#endTurn());
  }

  /** An immediate does not let the event loop wait for anything, so the turn took as long as what it did. */
  #endTurn(): void {
    const nowMs = performance.now();
    this.#isOpen = false;
    this.#begun = 0;
    if (this.#isAccepting(nowMs)) {
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

  #isAccepting(nowMs: number): boolean {
    const sinceMs = this.#hasAccepted ? (this.#acceptingSinceMs ?? nowMs) : undefined;
    const isAccepting = sinceMs !== undefined && nowMs - sinceMs < MAX_ACCEPTING_MS;
    this.#acceptingSinceMs = isAccepting ? sinceMs : undefined;
    this.#hasAccepted = false;
    return isAccepting;
  }
}

/** Resolves when it is this one's turn. Throws `overloaded` when too many wait already. */
export function takeTurn(turns: Turns): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!turns.take(resolve)) reject(overloaded());
  });
}

/** How a request is refused for which this process has no capacity now. */
export function overloaded(): AppError {
  return new AppError("overloaded", "This server has too much to do. Try again later.", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
