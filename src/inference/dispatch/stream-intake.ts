import { ProviderFailure } from "../providers/exchange/provider-failure.ts";
import { EventScanner } from "./event-scanner.ts";

const MAX_STREAM_BYTES = 64 * 1_048_576;
/**
 * A stream may have this many bytes without content, such as comments and empty deltas, and in addition this many times
 * the bytes of its content. The last events of a native response repeat a text three times.
 */
const MAX_IDLE_BYTES = 2 * 1_048_576;
const MAX_IDLE_RATIO = 4;
/** What a shorter chunk counts as: receiving it takes as long as reading so many bytes. */
const MIN_CHUNK_BYTES = 64;
/** How long a stream may occupy one turn of the event loop, milliseconds, and how much of it is read at once. */
const TURN_MS = 2;
const PART_BYTES = 4_096;
/** What may wait for the next turn before the provider is paused: a connection that breaks then loses what it holds. */
const MAX_WAITING_BYTES = 262_144;
const MAX_WAITING_CHUNKS = 64;

const BLANK_LINE = Buffer.from("\n\n");

type Listener = {
  /** Takes the next event. Returns whether it has content. */
  event(event: Buffer): boolean;
  /** An event was invalid, or the stream exceeds its limits. */
  failed(error: unknown): void;
  /** Stops and restarts the provider. */
  pause(): void;
  resume(): void;
};

/**
 * Reads the events of a provider's stream in short turns of the event loop, as fast as the client takes them, and
 * limits what a stream may have beside its content.
 */
export class StreamIntake {
  readonly #on: Listener;
  readonly #scanner = new EventScanner();
  /** What has arrived and was not read yet. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #turn: NodeJS.Immediate | undefined;
  #spentMs = 0;
  #isHeld = false;
  #isPaused = false;
  #isReading = false;
  #onEnd: (() => void) | undefined;
  #receivedBytes = 0;
  #readBytes = 0;
  #contentBytes = 0;

  constructor(on: Listener) {
    this.#on = on;
  }

  /** Takes a chunk of the stream. */
  take(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > MAX_STREAM_BYTES) {
      this.#on.failed(malformed("The provider's stream is too long."));
      return;
    }
    this.#readBytes += Math.max(0, MIN_CHUNK_BYTES - chunk.length);
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
    clearImmediate(this.#turn);
    this.#resume();
  }

  #run(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#waiting.length > 0 && !this.#isHeld && this.#spentMs < TURN_MS) this.#readPart();
    this.#isReading = false;
    if (this.#waitingBytes > MAX_WAITING_BYTES || this.#waiting.length > MAX_WAITING_CHUNKS) this.#pause();
    if (this.#waiting.length > 0) return;
    if (this.#onEnd) this.#finish(this.#onEnd);
    else if (!this.#isHeld) this.#resume();
  }

  #readPart(): void {
    const startedMs = performance.now();
    const [chunk = BLANK_LINE] = this.#waiting;
    if (chunk.length <= PART_BYTES) this.#waiting.shift();
    else this.#waiting[0] = chunk.subarray(PART_BYTES);
    this.#waitingBytes -= Math.min(chunk.length, PART_BYTES);
    this.#read(chunk.subarray(0, PART_BYTES));
    this.#spentMs += performance.now() - startedMs;
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#spentMs = 0;
      this.#run();
    });
  }

  #read(part: Buffer): void {
    this.#readBytes += part.length;
    try {
      for (const event of this.#scanner.push(part))
        if (this.#on.event(event)) this.#contentBytes += event.length;
      const idleBytes = this.#readBytes - this.#scanner.remainder.length - this.#contentBytes;
      if (idleBytes > MAX_IDLE_BYTES + MAX_IDLE_RATIO * this.#contentBytes)
        throw malformed("The provider's stream has too little content.");
    } catch (error) {
      this.#on.failed(error);
    }
  }

  #finish(then: () => void): void {
    this.#onEnd = undefined;
    if (this.#scanner.remainder.length > 0) this.#read(BLANK_LINE);
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

function malformed(message: string): ProviderFailure {
  return new ProviderFailure("malformed", { message });
}
