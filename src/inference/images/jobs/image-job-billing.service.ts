import type { HoldsService } from "../../../accounts/holds.service.ts";
import type { Settlement } from "../../../accounts/settlements.store.ts";
import { hashInParts } from "../../../kernel/hash-in-parts.ts";
import type { ReceiptDraft } from "../../../receipts/draft.ts";
import type { AttemptRecord } from "../../billing/ending.ts";
import type { BodyPool } from "../../body/body-pool.ts";
import type { EvidenceService } from "../../evidence/evidence.service.ts";
import type { CatalogueService } from "../../providers/catalogue.service.ts";
import type { RequestObserver } from "../../requests/request-observer.ts";
import type { ImageJobState } from "./image-job.state.ts";
import {
  type ImageCandidate,
  type ImageJobAttempt,
  type JobFailure,
  jobHashes,
  resultPath,
  serviceTypeOf,
} from "./image-job-plan.ts";

type Dependencies = {
  readonly holds: Pick<HoldsService, "settleIn">;
  readonly catalogue: Pick<CatalogueService, "provider">;
  readonly evidence: Pick<EvidenceService, "check">;
  readonly bodies: Pick<BodyPool, "hashImages">;
  readonly observer?: RequestObserver | undefined;
  /** Retention time of a result, seconds. */
  readonly retentionSeconds: number;
};

/** The images of a provider: the result as JSON in UTF-8, the provider's own id of it, and the hashes of the bodies. */
export type FinishedImages = {
  readonly result: Uint8Array;
  readonly images: number;
  readonly answerId: string | null;
  readonly requestHash: string | undefined;
  readonly responseHash: string | undefined;
};

const EXPIRED: JobFailure = { code: "provider_error", message: "The job did not finish in time." };

/** Ends image jobs: each is billed once, in the transaction that ends it. */
export class ImageJobBillingService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Stores the result and bills it in one transaction. If the hold has expired, the job fails without a result. */
  async complete(
    state: ImageJobState,
    { candidate, attempt }: ImageJobAttempt,
    { result, images, answerId, requestHash, responseHash }: FinishedImages,
  ): Promise<void> {
    const { holds, retentionSeconds } = this.#dependencies;
    const { lease, spec } = state;
    const attempts = state.attempted(candidate, "answered");
    await state.save({
      answerId,
      ...(requestHash !== undefined && { requestHash }),
      ...(responseHash !== undefined && { responseHash }),
    });
    if (spec.verifyTee) await this.#verify(state, candidate, result);
    const billed = Math.min(images, spec.images);
    const outputPrice = BigInt(candidate.outputPrice);
    const receipt = await draftOf(state);
    let outcome = "completed";
    await lease.end(async (tx) => {
      const charged = await holds.settleIn(tx, {
        ...ending(state, "completed"),
        receipt,
        units: billed,
        routing: { attempts, refused: spec.refused, streamed: false },
        outputCost: BigInt(billed) * outputPrice,
        answeredBy: {
          provider: candidate.address,
          inputPrice: BigInt(candidate.inputPrice),
          outputPrice,
          trustMode: candidate.trustMode,
        },
      });
      const known = { provider: candidate.address, attempt, errorCode: null, errorMessage: null } as const;
      if (charged === undefined) {
        outcome = EXPIRED.code;
        const change = { ...known, errorCode: EXPIRED.code, errorMessage: EXPIRED.message };
        return { state: "failed", change };
      }
      const change = { ...known, fraction: 1, result: resultPath(lease.job.id, candidate.address) };
      return { state: "completed", result, retentionSeconds, change };
    });
    this.#observe(state, outcome, attempts);
  }

  /** Ends the job without a charge. */
  async fail(state: ImageJobState, failure: JobFailure, attempt?: ImageJobAttempt): Promise<void> {
    const { holds } = this.#dependencies;
    const { lease, spec, checkpoint } = state;
    const attempts = attempt ? state.attempted(attempt.candidate, "failed") : checkpoint.attempts;
    const routing = { attempts, refused: spec.refused, streamed: false };
    const receipt = await draftOf(state);
    await lease.end(async (tx) => {
      await holds.settleIn(tx, { ...ending(state, "failed"), errorCode: failure.code, routing, receipt });
      const provider = attempt && { provider: attempt.candidate.address, attempt: attempt.attempt };
      const change = { ...provider, fraction: null, errorCode: failure.code, errorMessage: failure.message };
      return { state: "failed", change };
    });
    this.#observe(state, failure.code, attempts);
  }

  /** Verifies the provider's signature of its result, and stores the evidence with the request. */
  async #verify(
    { lease, checkpoint }: ImageJobState,
    { address }: ImageCandidate,
    result: Uint8Array,
  ): Promise<void> {
    const { catalogue, evidence, bodies } = this.#dependencies;
    const provider = catalogue.provider(address);
    const { requestId, account } = lease.job;
    if (!provider) return;
    const hashes = jobHashes(checkpoint, () => bodies.hashImages(Buffer.from(result).toString("utf8")));
    await evidence.check({
      account,
      requestId,
      provider,
      answerId: checkpoint.answerId ?? undefined,
      hashes,
    });
  }

  #observe({ lease, spec }: ImageJobState, outcome: string, attempts: readonly AttemptRecord[]): void {
    this.#dependencies.observer?.ended({
      serviceType: serviceTypeOf({ spec }),
      model: spec.model,
      outcome,
      inputTokens: undefined,
      outputTokens: undefined,
      tries: attempts.length,
      firstByteMs: undefined,
      durationMs: Math.round(lease.ageMs),
    });
  }
}

/**
 * The draft of a job's receipt. A job is submitted with one request and read with another, any number of times, so there
 * is no hash of what is returned.
 */
async function draftOf({ lease, spec, checkpoint }: ImageJobState): Promise<ReceiptDraft> {
  const { requestHash, responseHash } = checkpoint;
  return {
    endpoint: `/v1/async/images/${spec.operation}`,
    modelAnswered: spec.model,
    received: await hashInParts(lease.job.body),
    forwarded: requestHash,
    answered: responseHash,
    returned: undefined,
    awaitsReturned: false,
  };
}

function ending(
  { lease }: ImageJobState,
  outcome: "completed" | "failed",
): Omit<Settlement, "routing" | "answeredBy" | "units"> {
  return {
    id: lease.job.requestId,
    outcome,
    inputTokens: undefined,
    outputTokens: undefined,
    usageEstimated: false,
    inputCost: 0n,
    outputCost: 0n,
    errorCode: undefined,
    firstByteMs: undefined,
    durationMs: Math.round(lease.ageMs),
  };
}
