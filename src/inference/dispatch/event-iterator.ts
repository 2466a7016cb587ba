import { PushIterator } from "../../kernel/async/push-iterator.ts";
import { AppError } from "../../kernel/errors.ts";
import { EventScanner } from "./event-scanner.ts";
import type { StreamSink } from "./stream-options.ts";

const MAX_WAITING = 64;
const INTERRUPTED = "The provider's response was interrupted.";

/**
 * The sink of a streamed answer as an async iterator over what `take` makes of its events. Ending the iteration aborts
 * the provider, and the delivered part is billed. A slow reader applies backpressure to the provider.
 */
export abstract class EventIterator<Piece> extends PushIterator<Piece> implements StreamSink {
  readonly #scanner = new EventScanner({ keepsComments: true });
  readonly #onClose: (() => void)[] = [];
  readonly #onDrain: (() => void)[] = [];
  #isFull = false;
  #isClosed = false;

  constructor() {
    // A full sink stops the provider, so unread pieces need no limit.
    super(undefined, Number.POSITIVE_INFINITY);
  }

  /** Reads one event, and pushes the pieces that it has. */
  protected abstract take(event: Buffer): void;

  start(): void {}

  write(bytes: Buffer): boolean {
    for (const event of this.#scanner.push(bytes)) this.take(event);
    this.#isFull = this.unread >= MAX_WAITING;
    return !this.#isFull;
  }

  abort(): void {
    this.fail(new AppError("unavailable", "The stream was not read in time."));
  }

  isClosed(): boolean {
    return this.#isClosed;
  }

  onDrain(listener: () => void): void {
    this.#onDrain.push(listener);
  }

  onClose(listener: () => void): void {
    this.#onClose.push(listener);
  }

  override next(): Promise<IteratorResult<Piece>> {
    const piece = super.next();
    if (this.#isFull && this.unread === 0) this.#drained();
    return piece;
  }

  override return(): Promise<IteratorResult<Piece>> {
    this.#isClosed = true;
    this.#isFull = false;
    return super.return();
  }

  /** Only a reader that leaves early aborts the provider. */
  protected override release(): void {
    super.release();
    if (this.#isClosed) for (const listener of this.#onClose) listener();
  }

  #drained(): void {
    this.#isFull = false;
    for (const listener of this.#onDrain) listener();
  }
}

/** The failure that an error event of one of our own streams reports. */
export function streamFailure({
  message = INTERRUPTED,
  code,
}: {
  readonly message?: string;
  readonly code?: string;
}): AppError {
  return new AppError(code === "evidence_missing" ? code : "provider_error", message);
}
