import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { MemoryLease } from "../../load/memory-budget.ts";
import type { FileBody } from "./answer.ts";
import { resetConnection } from "./reset-connection.ts";

/** What is written at once, and all that a client that does not read keeps in memory. */
export const SLICE_BYTES = 16_384;
const SEGMENT_BYTES = 262_144;
/** A client that takes longer for one buffer of its body, usually a segment, is slow. */
const BUFFER_MS = 1_000;
/** How long a parked body stays parked at least: reading a segment again for each slice would load the disk. */
const PARKED_MS = 250;

type Options = {
  /** How long a client may leave one slice unread before it is disconnected. */
  readonly stallMs: number;
  readonly memory: MemoryLease;
  /** What is reserved in `memory` for the body. */
  readonly heldBytes: number;
};

/**
 * Writes a body to a response, no faster than the client reads. For a slow client, the body is parked while its client
 * does not read: the segments in memory are dropped and read again later, so a connection without progress holds one
 * slice. A body that cannot be read again stays in memory, marked as unread.
 */
export class FilePump {
  readonly #response: ServerResponse;
  readonly #body: FileBody;
  readonly #options: Options;
  readonly #slice = Buffer.allocUnsafeSlow(SLICE_BYTES);
  #heldBytes: number;
  #isSlow = false;
  /** Bytes that were written since the client last had to be waited for. */
  #sinceWaitBytes = 0;

  constructor(response: ServerResponse, body: FileBody, options: Options) {
    this.#response = response;
    this.#body = body;
    this.#options = options;
    this.#heldBytes = options.heldBytes;
  }

  /** Writes the body, of which `first` was read, and returns the number of bytes. */
  async run(first: Uint8Array): Promise<number> {
    let sent = 0;
    for (let buffer: Uint8Array | undefined = first; buffer && !this.#response.destroyed; ) {
      sent += await this.#send(buffer);
      if (this.#isSlow && this.#sinceWaitBytes >= SEGMENT_BYTES) this.#speedUp();
      const next = await this.#body.next();
      buffer = next.done ? undefined : next.value;
    }
    return sent;
  }

  /** Writes a buffer until the body is parked, and returns the number of bytes. */
  async #send(buffer: Uint8Array): Promise<number> {
    const slowAtMs = performance.now() + (this.#isSlow ? 0 : BUFFER_MS);
    let sent = 0;
    while (sent < buffer.length && !this.#response.destroyed) {
      const slice = buffer.subarray(sent, sent + SLICE_BYTES);
      sent += slice.length;
      this.#sinceWaitBytes += slice.length;
      const flushed = this.#write(slice);
      if (!flushed) continue;
      this.#sinceWaitBytes = 0;
      if (await this.#isFlushed(flushed, slowAtMs)) continue;
      if (this.#body.park) {
        await this.#park(flushed, buffer.length - sent);
        break;
      }
      this.#options.memory.markUnread(() => resetConnection(this.#response));
      await this.#orReset(flushed);
      this.#options.memory.markRead();
    }
    return sent;
  }

  /**
   * Writes a copy of a slice, because the slice keeps its whole segment in memory. Undefined if the system has taken
   * all of it, otherwise resolves when it has, or when the response is closed.
   */
  #write(slice: Uint8Array): Promise<void> | undefined {
    const response = this.#response;
    this.#slice.set(slice);
    const { promise, resolve } = Promise.withResolvers<void>();
    response.write(this.#slice.subarray(0, slice.length), () => resolve());
    // Node corks the socket until the next tick, which hides whether the system takes the slice at once.
    response.socket?.uncork();
    if (response.writableLength === 0) return undefined;
    response.once("close", resolve);
    return promise.finally(() => response.off("close", resolve));
  }

  async #isFlushed(flushed: Promise<void>, untilMs: number): Promise<boolean> {
    const cancel = new AbortController();
    const timeout = sleep(Math.max(0, untilMs - performance.now()), false, { signal: cancel.signal });
    timeout.catch(() => {});
    const isFlushed = await Promise.race([flushed.then(() => true), timeout]);
    cancel.abort();
    return isFlushed;
  }

  /** Waits for a slice; after `stallMs` the connection is reset. */
  async #orReset(flushed: Promise<void>): Promise<void> {
    const timer = setTimeout(() => resetConnection(this.#response), this.#options.stallMs);
    await flushed;
    clearTimeout(timer);
  }

  /** Gives all memory back until the client has read, and there is memory for a segment again. */
  async #park(flushed: Promise<void>, unsentBytes: number): Promise<void> {
    const { memory, stallMs } = this.#options;
    this.#isSlow = true;
    this.#body.park?.(unsentBytes);
    memory.free(this.#heldBytes);
    this.#heldBytes = 0;
    await Promise.all([this.#orReset(flushed), sleep(PARKED_MS)]);
    const wantedBytes = Math.min(SEGMENT_BYTES, this.#options.heldBytes);
    for (const endsMs = performance.now() + stallMs; !this.#response.destroyed; await sleep(PARKED_MS)) {
      if (memory.tryReserve(wantedBytes)) {
        this.#heldBytes = wantedBytes;
        return;
      }
      if (performance.now() > endsMs) resetConnection(this.#response);
    }
  }

  /** Reads ahead again, if there is memory for it. */
  #speedUp(): void {
    const moreBytes = this.#options.heldBytes - this.#heldBytes;
    if (!this.#options.memory.tryReserve(moreBytes)) return;
    this.#heldBytes += moreBytes;
    this.#isSlow = false;
    this.#body.readAhead?.();
  }
}
