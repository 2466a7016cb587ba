import { ChunkHash, type Digest, hashInParts } from "../kernel/hash-in-parts.ts";
import { NONE, type ReceiptDraft } from "./draft.ts";
import type { ReturnedHashes } from "./returned-hashes.ts";

/**
 * The bytes of one request between the client and the router: hashes the body that was received, and what is written to
 * the client as it is written. The draft of a receipt has the hash of what will have been written, where that is known
 * before the settlement; where it is not, or something else was written, it is completed when the request is settled
 * and all is written. Of a request that is not settled, nothing is kept.
 */
export class ClientExchange {
  readonly endpoint: string;
  /** How long the request took to be authenticated and received, in milliseconds. */
  readonly receivedMs: number;
  /** SHA-256 of the body as it was received. */
  readonly received: Promise<Digest>;
  readonly #body: Buffer;
  readonly #hashes: Pick<ReturnedHashes, "add">;
  readonly #returned = new ChunkHash();
  #isEnding = false;
  #hasEnded = false;
  #settled: { readonly requestId: string; readonly draft: ReceiptDraft } | undefined;

  constructor(endpoint: string, body: Buffer, receivedMs: number, hashes: Pick<ReturnedHashes, "add">) {
    this.endpoint = endpoint;
    this.receivedMs = receivedMs;
    this.#body = body;
    this.received = hashInParts(body);
    this.#hashes = hashes;
  }

  /** The digest of these bytes, if they are the body that was received. */
  digestOf(body: Buffer): Promise<Digest> | undefined {
    return body === this.#body ? this.received : undefined;
  }

  /** Hashes bytes that are written to the client. */
  sent(bytes: Uint8Array | string): void {
    if (!this.#hasEnded) this.#returned.update(bytes);
  }

  /** Whether only the bytes that were given to `expect` are still to be written. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** The hash of all that will have been written after these last bytes. */
  expect(last: Buffer): Promise<Digest> {
    this.#isEnding = true;
    return this.#returned.digestWith(last);
  }

  /** Nothing more is written. Idempotent. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#complete();
  }

  /** The request is settled, or may be, with this draft. It has no `returned` unless that was stored. */
  settled(requestId: string, draft: ReceiptDraft): void {
    this.#settled = { requestId, draft };
    this.#complete();
  }

  #complete(): void {
    if (!this.#hasEnded || !this.#settled) return;
    const { requestId, draft } = this.#settled;
    const { returned } = draft;
    const digest = this.#returned.digest();
    if (digest !== undefined && digest === returned) return;
    this.#hashes.add(requestId, digest ?? NONE);
  }
}
