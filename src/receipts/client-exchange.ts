import { ChunkHash, hashInParts } from "../kernel/hash-in-parts.ts";
import { commit, NONE } from "./draft.ts";
import type { ReturnedHashes } from "./returned-hashes.ts";

/**
 * The bytes of one request between the client and the router: hashes the body that was received, and what is written to
 * the client as it is written. What was written completes the receipt's draft, once all of it is and the request is
 * settled; of a request that is not settled, nothing is kept.
 */
export class ClientExchange {
  readonly endpoint: string;
  /** SHA-256 of the body as it was received. */
  readonly received: Promise<Uint8Array>;
  readonly #hashes: Pick<ReturnedHashes, "add">;
  readonly #returned = new ChunkHash();
  #hasEnded = false;
  #settled: { readonly requestId: string; readonly salt: Uint8Array } | undefined;

  constructor(endpoint: string, body: Buffer, hashes: Pick<ReturnedHashes, "add">) {
    this.endpoint = endpoint;
    this.received = hashInParts(body);
    this.#hashes = hashes;
  }

  /** Hashes bytes that are written to the client. */
  sent(bytes: Uint8Array | string): void {
    if (!this.#hasEnded) this.#returned.update(bytes);
  }

  /** Nothing more is written. Idempotent. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#complete();
  }

  /** The request is settled, with a draft of this salt. */
  settled(requestId: string, salt: Uint8Array): void {
    this.#settled = { requestId, salt };
    this.#complete();
  }

  #complete(): void {
    if (!this.#hasEnded || !this.#settled) return;
    const { requestId, salt } = this.#settled;
    const digest = this.#returned.digest();
    this.#hashes.add(requestId, digest ? commit(salt, digest) : NONE);
  }
}
