import type { ProviderHead, ProviderListener } from "../providers/provider.client.ts";
import { MAX_CACHED_BYTES } from "./cache-request.ts";

/** Copies what a provider sends, up to the longest answer that is stored, on its way to a listener. */
export class AnswerRecorder implements ProviderListener {
  readonly #listener: ProviderListener;
  readonly #chunks: Buffer[] = [];
  #contentType = "";
  #sizeBytes = 0;

  constructor(listener: ProviderListener) {
    this.#listener = listener;
  }

  /** What was sent; undefined if that is too long to be stored. */
  get answer(): { readonly contentType: string; readonly body: Buffer } | undefined {
    if (this.#sizeBytes > MAX_CACHED_BYTES) return undefined;
    return { contentType: this.#contentType, body: Buffer.concat(this.#chunks) };
  }

  onHead(head: ProviderHead): void {
    this.#contentType = head.contentType;
    this.#listener.onHead(head);
  }

  onChunk(chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes <= MAX_CACHED_BYTES) this.#chunks.push(chunk);
    else this.#chunks.length = 0;
    this.#listener.onChunk(chunk);
  }

  onEnd(): void {
    this.#listener.onEnd();
  }

  onError(error: Error): void {
    this.#listener.onError(error);
  }
}
