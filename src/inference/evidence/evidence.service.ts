import type { Queries } from "../../db/database.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Provider } from "../providers/provider.ts";
import { readEvidence, storeEvidence } from "./evidence.store.ts";
import type { SignatureClient } from "./signature.client.ts";
import type { AnswerHashes } from "./signed-text.ts";
import { type Evidence, type EvidenceResult, signerOf } from "./tee-signature.ts";

type Dependencies = {
  readonly queries: Queries;
  readonly signatures: SignatureClient;
  readonly log: Logger;
  /** Receives every result. */
  readonly observe?: ((provider: Provider, result: EvidenceResult) => void) | undefined;
};

/** An answer whose signature is checked. */
export type CheckedAnswer = {
  /** The address that paid for the request. */
  readonly account: string;
  readonly requestId: string;
  readonly provider: Provider;
  /** The provider's own id of the answer: `ZG-Res-Key`, else the id in its body. */
  readonly answerId: string | undefined;
  /** The hashes of the exchange; undefined if it was not hashed. Never rejects. */
  readonly hashes: Promise<AnswerHashes> | undefined;
};

/** Fetches providers' signatures of their answers, verifies them and stores them with the request (SPEC 2.5). */
export class EvidenceService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Checks whether the signer that the network acknowledged signed this answer, and stores the result. Takes at most
   * the time limit of `SignatureClient` and never throws: an answer that cannot be verified is still delivered.
   */
  async check({ account, requestId, provider, answerId, hashes }: CheckedAnswer): Promise<EvidenceResult> {
    const { queries, signatures, log, observe } = this.#dependencies;
    const expectedSigner = signerOf(provider);
    const judged = await signatures.judge(provider, answerId, { expected: expectedSigner, hashes });
    if (judged.verdict !== "verified")
      log.warn(
        { requestId, provider: provider.address, verdict: judged.verdict },
        "an answer could not be verified",
      );
    try {
      const known = await hashes;
      await storeEvidence(queries, account, {
        ...judged,
        requestId,
        provider: provider.address,
        answerId,
        expectedSigner,
        requestHash: known?.request,
        responseHash: known?.response,
      });
    } catch (error) {
      log.error({ err: error, requestId }, "storing evidence failed");
    }
    // Not before it is stored: a read of what is stored then has it, or is still in progress.
    observe?.(provider, judged);
    return judged;
  }

  /** The provider's signature of the answer to a request; undefined if none was fetched. */
  async signatureOf(account: string, requestId: string) {
    const [evidence] = await this.byRequests(account, [requestId]);
    if (evidence?.text === undefined || evidence.signature === undefined) return undefined;
    return { text: evidence.text, signature: evidence.signature, signing_address: evidence.signer ?? null };
  }

  /** The evidence of these requests, in order; undefined for a request of another account or without a check. */
  async byRequests(account: string, ids: readonly string[]): Promise<readonly (Evidence | undefined)[]> {
    const found = await readEvidence(this.#dependencies.queries, account, ids);
    const byId = new Map(found.map((evidence) => [evidence.requestId, evidence]));
    return ids.map((id) => byId.get(id));
  }
}
