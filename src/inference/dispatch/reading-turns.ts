/** How long all streams together may occupy one turn of the event loop, milliseconds, and how long each of them. */
const TURN_MS = 8;
const STREAM_MS = 2;
/** The part of a stream while many others wait. */
const MIN_STREAM_MS = 0.25;

/** Something that has data to read. */
export type TurnReader = {
  /** Reads at least a part, and stops soon after `untilMs` of `performance.now()`. Returns whether more can be read. */
  read(untilMs: number): boolean;
};

/**
 * Shares the turns of the event loop among the streams of the process: the event loop accepts only few connections per
 * turn, so that turns must stay short whatever the number of streams. A stream reads at once while the turn has time
 * left; the others follow in the next turns, one after the other.
 */
export class ReadingTurns {
  /** Those that wait, in the order in which they read. */
  readonly #waiting = new Set<TurnReader>();
  #spentMs = 0;
  #turn: NodeJS.Immediate | undefined;

  /** Lets a reader read, in this turn or one of the next. */
  run(reader: TurnReader): void {
    if (this.#waiting.size > 0 || this.#spentMs >= TURN_MS) this.#waiting.add(reader);
    else this.#serve(reader);
    if (this.#waiting.size > 0 || this.#spentMs > 0) this.#turn ??= setImmediate(() => this.#begin());
  }

  /** Forgets a reader. */
  remove(reader: TurnReader): void {
    this.#waiting.delete(reader);
  }

  #begin(): void {
    this.#turn = undefined;
    this.#spentMs = 0;
    for (const reader of [...this.#waiting]) {
      if (this.#spentMs >= TURN_MS) break;
      // An earlier reader of this turn may have stopped it.
      if (this.#waiting.delete(reader)) this.#serve(reader);
    }
    if (this.#waiting.size > 0 || this.#spentMs > 0) this.#turn ??= setImmediate(() => this.#begin());
  }

  #serve(reader: TurnReader): void {
    const startedMs = performance.now();
    const shareMs = Math.max(MIN_STREAM_MS, Math.min(STREAM_MS, TURN_MS / (this.#waiting.size + 1)));
    const hasMore = reader.read(startedMs + Math.min(shareMs, TURN_MS - this.#spentMs));
    this.#spentMs += performance.now() - startedMs;
    if (hasMore) this.#waiting.add(reader);
  }
}
