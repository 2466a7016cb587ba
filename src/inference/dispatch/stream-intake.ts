import { malformed } from "../providers/exchange/provider-failure.ts";
import { EventScanner } from "./event-scanner.ts";
import type { ReadingTurns, TurnReader } from "./reading-turns.ts";

const MAX_STREAM_BYTES = 64 * 1_048_576;
/**
 * A stream may have this many bytes without content, such as comments and empty deltas, and in addition this many times
 * the bytes of its content. The last events of a native response repeat a text three times.
 */
const MAX_IDLE_BYTES = 2 * 1_048_576;
const MAX_IDLE_RATIO = 4;
/**
 * What a shorter chunk counts as, because receiving it takes as long as reading so many bytes: as content if an event with
 * content arrives in it.
 */
const MIN_CHUNK_BYTES = 64;
/** How much is read at once. */
const PART_BYTES = 4_096;
/** What may wait for the next turn before the provider is paused: a connection that breaks then loses what it holds. */
const MAX_WAITING_BYTES = 262_144;
const MAX_WAITING_CHUNKS = 64;

const BLANK_LINE = Buffer.from("\n\n");

type Listener = {
  /** Takes the next event. Returns whether it has content. */
  event(event: Buffer): boolean;
  /**
   * An event was invalid, or the stream exceeds its limits. `isRest` says that the event is what the stream ended with, and
   * has no blank line after it.
   */
  failed(error: unknown, isRest: boolean): void;
  /** Stops and restarts the provider. */
  pause(): void;
  resume(): void;
};

/**
 * Reads the events of a provider's stream in short turns of the event loop, as fast as the client takes them, and
 * limits what a stream may have beside its content.
 */
export class StreamIntake implements TurnReader {
  readonly #turns: ReadingTurns;
  readonly #on: Listener;
  readonly #scanner = new EventScanner();
  /** What has arrived and was not read yet. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isHeld = false;
  #isPaused = false;
  #isReading = false;
  #onEnd: (() => void) | undefined;
  #receivedBytes = 0;
  #readBytes = 0;
  #contentBytes = 0;
  /** What was added for short chunks since the unfinished event began. */
  #addedBytes = 0;

  constructor(turns: ReadingTurns, on: Listener) {
    this.#turns = turns;
    this.#on = on;
  }

  /** Takes a chunk of the stream. */
  take(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > MAX_STREAM_BYTES) {
      this.#on.failed(malformed("The provider's stream is too long."), false);
      return;
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#run();
  }

  /** Whether the client is behind. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Reads nothing until `release`, because the client is behind. */
  hold(): void {
    this.#isHeld = true;
    this.#pause();
  }

  release(): void {
    this.#isHeld = false;
    this.#run();
  }

  /** Calls `then` when everything that has arrived is read, including an event without a blank line after it. */
  end(then: () => void): void {
    this.#onEnd = then;
    this.#run();
  }

  /** Reads nothing more. What still arrives is not wanted. */
  stop(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#onEnd = undefined;
    this.#turns.remove(this);
    this.#resume();
  }

  /** Called by the turns that it shares with other streams. */
  read(untilMs: number): boolean {
    this.#isReading = true;
    do this.#readPart();
    while (this.#isReadable && performance.now() < untilMs);
    this.#isReading = false;
    this.#settle();
    return this.#isReadable;
  }

  get #isReadable(): boolean {
    return this.#waiting.length > 0 && !this.#isHeld;
  }

  #run(): void {
    if (this.#isReading) return;
    if (this.#isReadable) this.#turns.run(this);
    this.#settle();
  }

  /** Stops or restarts the provider, and ends when everything is read. */
  #settle(): void {
    if (this.#waitingBytes > MAX_WAITING_BYTES || this.#waiting.length > MAX_WAITING_CHUNKS) this.#pause();
    if (this.#waiting.length > 0) return;
    if (this.#onEnd) this.#finish(this.#onEnd);
    else if (!this.#isHeld) this.#resume();
  }

  #readPart(): void {
    const [chunk] = this.#waiting;
    // The client may have fallen behind since the stream waits for its turn.
    if (!chunk || this.#isHeld) return;
    if (chunk.length <= PART_BYTES) this.#waiting.shift();
    else this.#waiting[0] = chunk.subarray(PART_BYTES);
    this.#waitingBytes -= Math.min(chunk.length, PART_BYTES);
    this.#read(chunk.subarray(0, PART_BYTES));
  }

  #read(part: Buffer, isRest = false): void {
    if (this.#scanner.remainder.length === 0) this.#addedBytes = 0;
    const addedBytes = Math.max(0, MIN_CHUNK_BYTES - part.length);
    this.#addedBytes += addedBytes;
    this.#readBytes += part.length + addedBytes;
    try {
      for (const event of this.#scanner.push(part)) {
        const costBytes = this.#costOf(event.length);
        this.#addedBytes -= costBytes - event.length;
        if (this.#on.event(event)) this.#contentBytes += costBytes;
      }
      const unfinishedBytes = this.#costOf(this.#scanner.remainder.length);
      const idleBytes = this.#readBytes - unfinishedBytes - this.#contentBytes;
      if (idleBytes > MAX_IDLE_BYTES + MAX_IDLE_RATIO * this.#contentBytes)
        throw malformed("The provider's stream has too little content.");
    } catch (error) {
      this.#on.failed(error, isRest);
    }
  }

  /** What an event of this length counts as: at most as if each of its bytes was in a chunk of its own. */
  #costOf(bytes: number): number {
    return bytes + Math.min(this.#addedBytes, bytes * (MIN_CHUNK_BYTES - 1));
  }

  #finish(then: () => void): void {
    this.#onEnd = undefined;
    if (this.#scanner.remainder.length > 0) this.#read(BLANK_LINE, true);
    then();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#on.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#on.resume();
  }
}
