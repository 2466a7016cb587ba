import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "../../db/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/log.ts";
import type { ProviderClient } from "../providers/provider.client.ts";
import type { Provider } from "../providers/provider.ts";
import { gatherAnswer } from "../providers/provider-answer.ts";
import { keepEvidence, readEvidence } from "./evidence.store.ts";
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
  /** How long a signature is waited for, milliseconds: this is what a check adds to an answer at the most. */
  readonly timeoutMs: number;
  readonly observe?: ((verdict: Verdict) => void) | undefined;
};

/** An answer whose provider is to vouch for it. */
export type CheckedAnswer = {
  readonly requestId: string;
  readonly provider: Provider;
  /** The provider's own id of the answer: `ZG-Res-Key`, else the id in its body. */
  readonly answerId: string | undefined;
};

const MAX_SIGNATURE_BYTES = 65_536;
/** A broker may sign a moment after its answer. */
const PAUSE_MS = 200;

/** Asks providers for the signatures of their answers, judges them and keeps them with the request (SPEC 2.5). */
export class EvidenceService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Whether the signer that the network acknowledged signed this answer. What was found is kept. Takes no longer than
   * `timeoutMs` and never throws: an answer that cannot be verified is an answer still.
   */
  async check(answer: CheckedAnswer): Promise<boolean> {
    const { queries, log, observe } = this.#dependencies;
    const { requestId, provider, answerId } = answer;
    const expectedSigner = signerOf(provider);
    const judged = await this.#judge(answer, expectedSigner);
    observe?.(judged.verdict);
    if (judged.verdict !== "verified")
      log.warn(
        { requestId, provider: provider.address, verdict: judged.verdict },
        "an answer is not verified",
      );
    try {
      await keepEvidence(queries, {
        ...judged,
        requestId,
        provider: provider.address,
        answerId,
        expectedSigner,
      });
    } catch (error) {
      log.error({ err: error, requestId }, "evidence could not be kept");
    }
    return judged.verdict === "verified";
  }

  /** The evidence of these requests in their order; undefined for one that is not this account's, or not checked. */
  async byRequests(account: string, ids: readonly string[]): Promise<readonly (Evidence | undefined)[]> {
    const found = await readEvidence(this.#dependencies.queries, account, ids);
    const byId = new Map(found.map((evidence) => [evidence.requestId, evidence]));
    return ids.map((id) => byId.get(id));
  }

  async #judge(
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
