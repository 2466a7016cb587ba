import type { MemoryLease } from "../../load/memory-budget.ts";
import type { ProviderHead, ProviderListener } from "../providers/exchange/provider-exchange.ts";
import { MAX_CACHED_BYTES } from "./cache-request.ts";

/**
 * Copies what a provider sends on its way to a listener, up to the longest answer that is stored, and as far as the
 * lease has room for it.
 */
export class AnswerRecorder implements ProviderListener {
  readonly #listener: ProviderListener;
  readonly #lease: Pick<MemoryLease, "reserve"> | undefined;
  readonly #chunks: Buffer[] = [];
  #contentType = "";
  #sizeBytes = 0;
  #isDropped = false;

  constructor(listener: ProviderListener, lease?: Pick<MemoryLease, "reserve">) {
    this.#listener = listener;
    this.#lease = lease;
  }

  /** What was sent; undefined if that is too long to be stored, or found no room in memory. */
  get answer(): { readonly contentType: string; readonly body: Buffer } | undefined {
    if (this.#isDropped) return undefined;
    return { contentType: this.#contentType, body: Buffer.concat(this.#chunks) };
  }

  onHead(head: ProviderHead): void {
    this.#contentType = head.contentType;
    this.#listener.onHead(head);
  }

  onChunk(chunk: Buffer): void {
    if (!this.#isDropped) this.#keep(chunk);
    this.#listener.onChunk(chunk);
  }

  #keep(chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    try {
      if (this.#sizeBytes <= MAX_CACHED_BYTES) {
        this.#lease?.reserve(chunk.length);
        this.#chunks.push(chunk);
        return;
      }
    } catch {
      // There is no room: the answer is delivered, and not stored.
    }
    this.#isDropped = true;
    this.#chunks.length = 0;
  }

  onEnd(): void {
    this.#listener.onEnd();
  }

  onError(error: Error): void {
    this.#listener.onError(error);
  }
}
