import { createHash } from "node:crypto";
import QuickLru from "quick-lru";
import { privateKeyToAccount } from "viem/accounts";
import type { Hex } from "../../kernel/text/hex.ts";

/** How a stand-in provider signs. Absent fields mean a well-behaved provider. */
export type SigningBehaviour = {
  /** Delay before the response. */
  readonly delayMs?: number;
  /** Signs with this key; with `claimsOwn` the response still names the provider's own signer. */
  readonly key?: Hex;
  readonly claimsOwn?: boolean;
  /** A complete response instead of the signature. */
  readonly instead?: { readonly status: number; readonly body: string };
};

const REMEMBERED_ANSWERS = 10_000;

const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");

/**
 * Signs like a broker's enclave: for each response the hashes of the request and of the response, `GET
 * /v1/proxy/signature/{id}` (facts 2.1). Only the newest responses are stored.
 */
export class AnswerSigner {
  readonly #key: Hex;
  readonly #texts = new QuickLru<string, string>({ maxSize: REMEMBERED_ANSWERS });

  constructor(key: Hex) {
    this.#key = key;
  }

  remember(answerId: string, request: Buffer, answer: Buffer | string): void {
    this.#texts.set(answerId, `${sha256(request)}:${sha256(answer)}`);
  }

  /** The signature of a response as JSON text; undefined for an unknown response. */
  async signatureOf(answerId: string, behaviour: SigningBehaviour = {}): Promise<string | undefined> {
    const text = this.#texts.get(answerId);
    if (text === undefined) return undefined;
    const { key = this.#key, claimsOwn = false } = behaviour;
    const signature = await privateKeyToAccount(key).signMessage({ message: text });
    const { address } = privateKeyToAccount(claimsOwn ? this.#key : key);
    return JSON.stringify({ text, signature, signing_address: address, signing_algo: "ecdsa" });
  }
}
