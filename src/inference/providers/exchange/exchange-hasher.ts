import { createHash } from "node:crypto";
import { ChunkHash, type Digest, hashInParts } from "../../../kernel/hash-in-parts.ts";
import type { ClientExchange } from "../../../receipts/client-exchange.ts";

/** SHA-256 of the bodies of one exchange with a provider. */
export type ExchangeHashes = {
  /** The body of the request, as it was sent. */
  readonly request: Digest;
  /** The body of the answer, as far as it was received. */
  readonly response: Digest;
};

/**
 * Hashes the bodies of one exchange at the provider's socket: the request as it is sent, and the answer chunk by chunk,
 * before anything is masked, edited or added. Nothing is buffered.
 */
export class ExchangeHasher {
  readonly #client: Pick<ClientExchange, "digestOf"> | undefined;
  readonly #response = new ChunkHash();
  readonly #ended = Promise.withResolvers<void>();
  #request: Promise<Digest> | undefined;
  #isOver = false;

  /** `client` knows the digest of the body that it sent, which nearly always is the one that the provider gets. */
  constructor(client?: Pick<ClientExchange, "digestOf">) {
    this.#client = client;
  }

  /** Both hashes, once the exchange is over. An exchange that was cut off has the hash of what arrived. */
  get hashes(): Promise<ExchangeHashes> {
    return this.#ended.promise.then(async () => {
      const { request = NOTHING, response = NOTHING } = await this.digests();
      return { request, response };
    });
  }

  /**
   * The digests of what was sent and has arrived by now, undefined where that is nothing: a provider may close its answer
   * long after its last event.
   */
  async digests(): Promise<{ readonly request?: Digest; readonly response?: Digest }> {
    const response = this.#response.digest();
    const request = await this.#request;
    return { ...(request && { request }), ...(response && { response }) };
  }

  /** Hashes the body of the request; an exchange without one hashes nothing. */
  sent(body: Buffer | undefined): void {
    this.#request = body && (this.#client?.digestOf(body) ?? hashInParts(body));
  }

  /** Hashes a chunk of the answer. */
  received(chunk: Buffer): void {
    if (!this.#isOver) this.#response.update(chunk);
  }

  /** Ends the exchange. Idempotent. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended.resolve();
  }
}

/** The digest of a body that is empty. */
const NOTHING: Digest = createHash("sha256").digest("hex");

/** SHA-256 as lower-case hexadecimal digits. */
export function sha256(bytes: Buffer | Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}
