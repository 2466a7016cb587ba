import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "../../db/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/log.ts";
import type { ProviderClient } from "../providers/provider.client.ts";
import type { Provider } from "../providers/provider.ts";
import { gatherAnswer } from "../providers/provider-answer.ts";
import { readEvidence, storeEvidence } from "./evidence.store.ts";
import {
  type Evidence,
  type JudgedSignature,
  judgeSignature,
  nothing,
  signerOf,
  type Verdict,
} from "./tee-signature.ts";

type Dependencies = {
  readonly queries: Queries;
  readonly providers: Pick<ProviderClient, "get">;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long to wait for a signature, milliseconds: the maximum delay that a check adds to an answer. */
  readonly timeoutMs: number;
  readonly observe?: ((verdict: Verdict) => void) | undefined;
};

/** An answer whose signature is checked. */
export type CheckedAnswer = {
  readonly requestId: string;
  readonly provider: Provider;
  /** The provider's own id of the answer: `ZG-Res-Key`, else the id in its body. */
  readonly answerId: string | undefined;
};

const MAX_SIGNATURE_BYTES = 65_536;
/** A broker may sign shortly after its answer. */
const PAUSE_MS = 200;

/** Fetches providers' signatures of their answers, verifies them and stores them with the request (SPEC 2.5). */
export class EvidenceService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Whether the signer that the network acknowledged signed this answer. Stores the result. Takes at most `timeoutMs`
   * and never throws: an answer that cannot be verified is still delivered.
   */
  async check(answer: CheckedAnswer): Promise<boolean> {
    const { queries, log, observe } = this.#dependencies;
    const { requestId, provider, answerId } = answer;
    const expectedSigner = signerOf(provider);
    const judged = await this.#verify(answer, expectedSigner);
    observe?.(judged.verdict);
    if (judged.verdict !== "verified")
      log.warn(
        { requestId, provider: provider.address, verdict: judged.verdict },
        "an answer could not be verified",
      );
    try {
      await storeEvidence(queries, {
        ...judged,
        requestId,
        provider: provider.address,
        answerId,
        expectedSigner,
      });
    } catch (error) {
      log.error({ err: error, requestId }, "storing evidence failed");
    }
    return judged.verdict === "verified";
  }

  /** The evidence of these requests, in order; undefined for a request of another account or without a check. */
  async byRequests(account: string, ids: readonly string[]): Promise<readonly (Evidence | undefined)[]> {
    const found = await readEvidence(this.#dependencies.queries, account, ids);
    const byId = new Map(found.map((evidence) => [evidence.requestId, evidence]));
    return ids.map((id) => byId.get(id));
  }

  async #verify(
    { provider, answerId }: CheckedAnswer,
    expected: Evidence["expectedSigner"],
  ): Promise<JudgedSignature> {
    if (expected === undefined) return nothing("not_acknowledged");
    if (answerId === undefined) return nothing("missing");
    const { clock, timeoutMs } = this.#dependencies;
    const untilMs = clock.monotonicMs() + timeoutMs;
    const signal = AbortSignal.timeout(timeoutMs);
    const path =
      `/signature/${encodeURIComponent(answerId)}?model=${encodeURIComponent(provider.model)}` as const;
    for (;;) {
      try {
        const { status, body } = await gatherAnswer(
          (listener) => this.#dependencies.providers.get(provider, path, listener, { totalMs: timeoutMs }),
          { signal, maxBytes: MAX_SIGNATURE_BYTES },
        );
        if (status === 200) return await judgeSignature(body, expected);
        if (status < 500 && status !== 404) return nothing("missing");
        if (clock.monotonicMs() + PAUSE_MS >= untilMs)
          return nothing(status === 404 ? "missing" : "unreachable");
      } catch {
        if (clock.monotonicMs() + PAUSE_MS >= untilMs) return nothing("unreachable");
      }
      await sleep(PAUSE_MS);
    }
  }
}
