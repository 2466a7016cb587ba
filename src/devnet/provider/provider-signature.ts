import { createHash } from "node:crypto";
import QuickLru from "quick-lru";
import { privateKeyToAccount } from "viem/accounts";
import type { Hex } from "../../kernel/text/hex.ts";

/** How a stand-in provider signs, well or badly. Everything absent is as a good provider has it. */
export type SigningBehaviour = {
  /** Before it answers. */
  readonly delayMs?: number;
  /** Signed with this key; who is claimed to have signed stays the same when `claimsOwn`. */
  readonly key?: Hex;
  readonly claimsOwn?: boolean;
  /** A whole answer in place of the signature. */
  readonly instead?: { readonly status: number; readonly body: string };
};

const REMEMBERED_ANSWERS = 10_000;

const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");

/**
 * What a broker's enclave signs: of each answer the hashes of its request and of itself, `GET
 * /v1/proxy/signature/{id}` (facts 2.1). The newest answers are remembered.
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

  /** The answer's signature as JSON text, undefined for an answer that is not known. */
  async signatureOf(answerId: string, behaviour: SigningBehaviour = {}): Promise<string | undefined> {
    const text = this.#texts.get(answerId);
    if (text === undefined) return undefined;
    const { key = this.#key, claimsOwn = false } = behaviour;
    const signature = await privateKeyToAccount(key).signMessage({ message: text });
    const { address } = privateKeyToAccount(claimsOwn ? this.#key : key);
    return JSON.stringify({ text, signature, signing_address: address, signing_algo: "ecdsa" });
  }
}
