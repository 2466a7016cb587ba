import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../kernel/clock.ts";
import type { ProviderClient } from "../providers/exchange/provider.client.ts";
import { gatherAnswer } from "../providers/exchange/provider-answer.ts";
import type { Provider } from "../providers/provider.ts";
import type { AnswerHashes } from "./signed-text.ts";
import { type Evidence, type JudgedSignature, judgeSignature, nothing } from "./tee-signature.ts";

type Dependencies = {
  readonly providers: Pick<ProviderClient, "get">;
  readonly clock: Clock;
  /** How long to wait for a signature, milliseconds: the maximum delay that a check adds to an answer. */
  readonly timeoutMs: number;
};

const MAX_SIGNATURE_BYTES = 65_536;
/** A status that says nothing about the signature. */
const RATE_LIMITED = 429;
/** A broker may sign shortly after its answer. */
const PAUSE_MS = 200;

/** What the signature of an answer is compared with. */
export type ExpectedSignature = {
  readonly expected: Evidence["expectedSigner"];
  /** The hashes of the exchange; undefined if they are not known. Never rejects. */
  readonly hashes: Promise<AnswerHashes> | undefined;
};

/** Brokers put this before their key of an answer to make the id in its body. */
const ID_PREFIX = "chatcmpl-";

/** The client for providers' signatures of their answers (SPEC 2.5). */
export class SignatureClient {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Fetches the signature of an answer, and judges it by its expected signer and the hashes of the exchange. Fetching
   * takes at most `timeoutMs`. Never throws: a missing or unreachable signature is a verdict.
   */
  async judge(
    provider: Provider,
    answerId: string | undefined,
    { expected, hashes }: ExpectedSignature,
  ): Promise<JudgedSignature> {
    if (expected === undefined) return nothing("not_acknowledged");
    if (answerId === undefined) return nothing("missing");
    const { providers, clock, timeoutMs } = this.#dependencies;
    const untilMs = clock.monotonicMs() + timeoutMs;
    const signal = AbortSignal.timeout(timeoutMs);
    const names = namesOf(answerId);
    let verdict: "missing" | "unreachable" = "unreachable";
    for (let round = 0; ; round++) {
      const name = names[round % names.length] ?? answerId;
      const path =
        `/signature/${encodeURIComponent(name)}?model=${encodeURIComponent(provider.model)}` as const;
      try {
        const { status, body } = await gatherAnswer(
          (listener) => providers.get(provider, path, listener, { totalMs: timeoutMs }),
          { signal, maxBytes: MAX_SIGNATURE_BYTES },
        );
        if (status === 200) return await judgeSignature(body, expected, hashes);
        if (status === 404) verdict = "missing";
        else if (status >= 500 || status === RATE_LIMITED) verdict = "unreachable";
        else return nothing("missing");
      } catch {
        // A request that the time limit cuts off says nothing: the answer before it counts.
        if (!signal.aborted) verdict = "unreachable";
      }
      if (clock.monotonicMs() + PAUSE_MS >= untilMs) return nothing(verdict);
      await sleep(PAUSE_MS);
    }
  }
}

/** The names under which the signature may be stored: the id as it is, and without the prefix if the key was lost. */
function namesOf(answerId: string): readonly string[] {
  const key = answerId.startsWith(ID_PREFIX) ? answerId.slice(ID_PREFIX.length) : "";
  return key === "" ? [answerId] : [answerId, key];
}
