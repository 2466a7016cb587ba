import type { HoldsService } from "../../../accounts/holds.service.ts";
import type { JobLease } from "../../../jobs/lease.ts";
import type { WaitingClock } from "../../../kernel/clock.ts";
import type { AttemptRecord } from "../../billing/admitted.ts";
import type { BodyPool } from "../../body/body-pool.ts";
import { readWhenRoom } from "../../chat/answer-reads.ts";
import type { EvidenceService } from "../../evidence/evidence.service.ts";
import type { CatalogueService } from "../../providers/catalogue.service.ts";
import type { RequestObserver } from "../../requests/request-observer.ts";
import type { ImageRequest } from "../image-request.ts";
import type { ImageJobClient } from "./image-job.client.ts";
import {
  type ImageCandidate,
  type ImageJobAction,
  type ImageJobCheckpoint,
  type ImageJobSpec,
  isRepeated,
  type JobFailure,
  nextAction,
  PROVIDER_FAILED,
  readJobRequest,
  resultPath,
} from "./image-job-plan.ts";

type Dependencies = {
  readonly client: ImageJobClient;
  readonly holds: Pick<HoldsService, "settleIn">;
  readonly catalogue: Pick<CatalogueService, "provider">;
  readonly evidence: Pick<EvidenceService, "check">;
  readonly bodies: Pick<BodyPool, "readSubmission" | "readReport">;
  readonly clock: WaitingClock;
  readonly observer?: RequestObserver | undefined;
  /** Retention time of a result, seconds. */
  readonly keptSeconds: number;
};

/** Default poll interval of a provider's job. */
const POLL_MS = 2_000;
const FIRST_POLL_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** A provider that is unreachable for this long counts as having lost the job. */
const MAX_UNKNOWN_MS = 60_000;
const TOOK_TOO_LONG: JobFailure = { code: "provider_error", message: "The job took too long." };
const EXPIRED: JobFailure = { code: "provider_error", message: "The job did not finish in time." };

type Candidate = Extract<ImageJobAction, { candidate: ImageCandidate }>;

/** Runs one image job to its end: submits it to a provider, polls it, stores the result and bills it exactly once. */
export function imageJobWork(dependencies: Dependencies): (lease: JobLease) => Promise<void> {
  return async (lease) => {
    const request = await readJobRequest(lease.job.spec as ImageJobSpec, lease.job.body);
    await new Work(dependencies, lease, request).run();
  };
}

class Work {
  readonly #dependencies: Dependencies;
  readonly #lease: JobLease;
  readonly #spec: ImageJobSpec;
  readonly #request: ImageRequest;
  #checkpoint: ImageJobCheckpoint;
  #fraction: number | null;
  #isRunning: boolean;

  constructor(dependencies: Dependencies, lease: JobLease, request: ImageRequest) {
    this.#dependencies = dependencies;
    this.#lease = lease;
    this.#spec = lease.job.spec as ImageJobSpec;
    this.#request = request;
    this.#checkpoint = lease.job.checkpoint as ImageJobCheckpoint;
    this.#fraction = lease.job.step.fraction;
    this.#isRunning = lease.job.step.fraction !== null;
  }

  async run(): Promise<void> {
    const { signal } = this.#lease;
    let isOver = false;
    while (!isOver && !signal.aborted) {
      const action = nextAction(this.#spec, this.#checkpoint);
      if (this.#lease.leftMs <= 0) isOver = await this.#fail(TOOK_TOO_LONG);
      else if (action.kind === "give-up")
        isOver = await this.#fail(this.#checkpoint.lastFailure ?? PROVIDER_FAILED);
      else if (action.kind === "abandon") await this.#next(action, PROVIDER_FAILED);
      else if (action.kind === "submit") isOver = await this.#submit(action);
      else isOver = await this.#poll(action);
    }
  }

  async #submit(action: Candidate): Promise<boolean> {
    const { client } = this.#dependencies;
    const { job, signal } = this.#lease;
    const { submissions } = this.#checkpoint;
    await this.#save({ ...this.#checkpoint, submissions: submissions + 1 });
    const { address } = action.candidate;
    const key = `${job.id}-${action.attempt}`;
    const answer = await client.submit(address, this.#spec.operation, {
      request: this.#request,
      key,
      signal,
    });
    const submission = await this.#read((bodies) => bodies.readSubmission(answer));
    if (!submission || signal.aborted) return false;
    if (submission.kind === "accepted") {
      const { providerJobId } = submission;
      this.#checkpoint = { ...this.#checkpoint, submissions: 0, providerJobId };
      const change = {
        step: "submitted",
        provider: address,
        attempt: action.attempt,
        fraction: null,
      } as const;
      await this.#lease.advance(this.#checkpoint, change);
      await this.#pause(answer?.retryAfterMs ?? FIRST_POLL_MS);
      return false;
    }
    if (submission.kind === "done") return this.#complete(action, submission, answer?.responseKey ?? null);
    if (submission.kind === "refused") return this.#fail(submission.failure, action);
    await this.#next(action, submission.failure, answer?.retryAfterMs);
    return false;
  }

  /** Polls until the provider's job has ended. */
  async #poll(action: Candidate): Promise<boolean> {
    const { signal } = this.#lease;
    const { address } = action.candidate;
    const jobId = this.#checkpoint.providerJobId ?? "";
    const { clock } = this.#dependencies;
    let knownAtMs = clock.monotonicMs();
    while (!signal.aborted) {
      if (this.#lease.leftMs <= 0) return this.#fail(TOOK_TOO_LONG, action);
      const answer = await this.#dependencies.client.poll(address, jobId, {
        model: this.#spec.model,
        signal,
      });
      const report = await this.#read((bodies) => bodies.readReport(answer));
      if (!report || signal.aborted) return false;
      if (report.kind === "done") return this.#complete(action, report, answer?.responseKey ?? jobId);
      if (report.kind === "failed" || report.kind === "gone") {
        await this.#next(action, report.failure);
        return false;
      }
      if (report.kind === "working") {
        knownAtMs = clock.monotonicMs();
        await this.#recordProgress(action, report.fraction);
      } else if (clock.monotonicMs() - knownAtMs > MAX_UNKNOWN_MS) {
        await this.#next(action, PROVIDER_FAILED);
        return false;
      }
      await this.#pause(answer?.retryAfterMs ?? POLL_MS);
    }
    return false;
  }

  #read<T>(read: (bodies: Dependencies["bodies"]) => Promise<T>): Promise<T | undefined> {
    const pause = (ms: number) => this.#pause(ms);
    return readWhenRoom(this.#lease, () => read(this.#dependencies.bodies), pause);
  }

  /** Records progress: when the provider starts working, and when the fraction changes. */
  async #recordProgress({ candidate, attempt }: Candidate, fraction: number | null): Promise<void> {
    if (this.#isRunning && (fraction === null || fraction === this.#fraction)) return;
    this.#isRunning = true;
    this.#fraction = fraction ?? this.#fraction;
    const change = {
      step: "running",
      provider: candidate.address,
      attempt,
      fraction: this.#fraction,
    } as const;
    await this.#lease.advance(this.#checkpoint, change);
  }

  /** Moves to the next attempt. A busy provider that is retried gets the delay that it requested. */
  async #next({ candidate, attempt }: Candidate, failure: JobFailure, retryAfterMs?: number): Promise<void> {
    const { failures } = this.#checkpoint;
    this.#checkpoint = {
      ...this.#checkpoint,
      failures: failures + 1,
      submissions: 0,
      providerJobId: null,
      lastFailure: failure,
      attempts: this.#attempted(candidate, "failed"),
    };
    this.#isRunning = false;
    this.#fraction = null;
    await this.#lease.advance(this.#checkpoint, {
      step: "provider_failed",
      provider: candidate.address,
      attempt,
      fraction: null,
      errorCode: failure.code,
      errorMessage: failure.message,
    });
    const isLast = nextAction(this.#spec, this.#checkpoint).kind === "give-up";
    if (!isLast && isRepeated(this.#spec, this.#checkpoint)) await this.#pause(retryAfterMs ?? POLL_MS);
  }

  /** Stores the result and bills it in one transaction. If the hold has expired, the job fails without a result. */
  async #complete(
    { candidate, attempt }: Candidate,
    { result, images }: { readonly result: Uint8Array; readonly images: number },
    answerId: string | null,
  ): Promise<boolean> {
    const { holds, keptSeconds } = this.#dependencies;
    const { job } = this.#lease;
    const attempts = this.#attempted(candidate, "answered");
    await this.#save({ ...this.#checkpoint, answerId });
    if (this.#spec.verifyTee) await this.#verify(candidate, answerId);
    const billed = Math.min(images, this.#spec.images);
    const outputPrice = BigInt(candidate.outputPrice);
    await this.#lease.end(async (tx) => {
      const charged = await holds.settleIn(tx, {
        ...this.#ending("completed"),
        units: billed,
        routing: { attempts, refused: this.#spec.refused },
        outputCost: BigInt(billed) * outputPrice,
        answeredBy: {
          provider: candidate.address,
          inputPrice: BigInt(candidate.inputPrice),
          outputPrice,
          trustMode: candidate.trustMode,
        },
      });
      const known = { provider: candidate.address, attempt, errorCode: null, errorMessage: null } as const;
      if (charged === undefined)
        return {
          state: "failed",
          change: { ...known, errorCode: EXPIRED.code, errorMessage: EXPIRED.message },
        };
      const change = { ...known, fraction: 1, result: resultPath(job.id, candidate.address) };
      return { state: "completed", result, keptSeconds, change };
    });
    this.#observe("completed", attempts);
    return true;
  }

  /** Ends the job without a charge. */
  async #fail(failure: JobFailure, action?: Candidate): Promise<boolean> {
    const { holds } = this.#dependencies;
    const { attempts } = this.#checkpoint;
    const routing = {
      attempts: action ? this.#attempted(action.candidate, "failed") : attempts,
      refused: this.#spec.refused,
    };
    await this.#lease.end(async (tx) => {
      await holds.settleIn(tx, { ...this.#ending("failed"), errorCode: failure.code, routing });
      const provider = action && { provider: action.candidate.address, attempt: action.attempt };
      const change = { ...provider, fraction: null, errorCode: failure.code, errorMessage: failure.message };
      return { state: "failed", change };
    });
    this.#observe(failure.code, routing.attempts);
    return true;
  }

  /** Verifies the provider's signature of its result, and stores the evidence with the request. */
  async #verify({ address }: ImageCandidate, answerId: string | null): Promise<void> {
    const provider = this.#dependencies.catalogue.provider(address);
    const { requestId } = this.#lease.job;
    if (provider)
      await this.#dependencies.evidence.check({ requestId, provider, answerId: answerId ?? undefined });
  }

  #attempted({ address }: ImageCandidate, outcome: AttemptRecord["outcome"]): readonly AttemptRecord[] {
    const { attempts } = this.#checkpoint;
    const beforeMs = attempts.reduce((sum, { durationMs }) => sum + durationMs, 0);
    const durationMs = Math.max(0, Math.round(this.#lease.ageMs - beforeMs));
    return [...attempts, { provider: address, outcome, durationMs }];
  }

  #observe(outcome: string, attempts: readonly AttemptRecord[]): void {
    this.#dependencies.observer?.ended({
      serviceType: this.#request.serviceType,
      model: this.#spec.model,
      outcome,
      inputTokens: undefined,
      outputTokens: undefined,
      tries: attempts.length,
      firstByteMs: undefined,
      durationMs: Math.round(this.#lease.ageMs),
    });
  }

  #ending(outcome: "completed" | "failed") {
    return {
      id: this.#lease.job.requestId,
      outcome,
      inputTokens: undefined,
      outputTokens: undefined,
      usageEstimated: false,
      inputCost: 0n,
      outputCost: 0n,
      errorCode: undefined,
      firstByteMs: undefined,
      durationMs: Math.round(this.#lease.ageMs),
    };
  }

  async #save(checkpoint: ImageJobCheckpoint): Promise<void> {
    this.#checkpoint = checkpoint;
    await this.#lease.save(checkpoint);
  }

  async #pause(ms: number): Promise<void> {
    const { signal, leftMs } = this.#lease;
    const pauseMs = Math.max(0, Math.min(ms, MAX_PAUSE_MS, leftMs));
    await this.#dependencies.clock.sleep(pauseMs, signal);
  }
}
