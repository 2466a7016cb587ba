import type { JobLease } from "../../../jobs/lease.ts";
import type { WaitingClock } from "../../../kernel/clock.ts";
import { AppError } from "../../../kernel/errors.ts";
import type { BodyPool } from "../../body/body-pool.ts";
import { readWhenRoom } from "../../chat/answer-reads.ts";
import type { ImageJobClient } from "./image-job.client.ts";
import { ImageJobState } from "./image-job.state.ts";
import type { FinishedImages, ImageJobBillingService } from "./image-job-billing.service.ts";
import {
  type ImageJobAttempt,
  isRepeated,
  type JobFailure,
  nextAction,
  PROVIDER_FAILED,
  readJobRequest,
} from "./image-job-plan.ts";

type Dependencies = {
  readonly client: ImageJobClient;
  readonly bodies: Pick<BodyPool, "readSubmission" | "readReport">;
  readonly billing: ImageJobBillingService;
  readonly clock: WaitingClock;
};

/** Default poll interval of a provider's job. */
const POLL_MS = 2_000;
const FIRST_POLL_MS = 500;
const MAX_PAUSE_MS = 30_000;
const OUTAGE_PAUSE_MS = 500;
/** A provider that is unreachable for this long counts as having lost the job. */
const MAX_UNKNOWN_MS = 60_000;
const TOOK_TOO_LONG: JobFailure = { code: "provider_error", message: "The job took too long." };

/** Runs one image job to its end: submits it to a provider, polls it, stores the result and bills it exactly once. */
export function imageJobWork(dependencies: Dependencies): (lease: JobLease) => Promise<void> {
  return (lease) => new Work(dependencies, new ImageJobState(lease)).run();
}

class Work {
  readonly #dependencies: Dependencies;
  readonly #state: ImageJobState;
  #fraction: number | null;
  #isRunning: boolean;

  constructor(dependencies: Dependencies, state: ImageJobState) {
    this.#dependencies = dependencies;
    this.#state = state;
    this.#fraction = state.lease.job.step.fraction;
    this.#isRunning = state.lease.job.step.fraction !== null;
  }

  async run(): Promise<void> {
    const { spec, lease } = this.#state;
    let isOver = false;
    while (!isOver && !lease.signal.aborted) {
      const { checkpoint } = this.#state;
      const action = nextAction(spec, checkpoint);
      if (lease.leftMs <= 0) isOver = await this.#fail(TOOK_TOO_LONG);
      else if (action.kind === "give-up")
        isOver = await this.#fail(checkpoint.lastFailure ?? PROVIDER_FAILED);
      else if (action.kind === "abandon") await this.#next(action, PROVIDER_FAILED);
      else if (action.kind === "submit") isOver = await this.#submit(action);
      else isOver = await this.#poll(action);
    }
  }

  async #submit(attempt: ImageJobAttempt): Promise<boolean> {
    const { lease, spec, checkpoint } = this.#state;
    const { job, signal } = lease;
    const request = await readJobRequest(spec, job.body).catch(asFailure);
    if ("code" in request) return this.#fail(request);
    await this.#state.save({ submissions: checkpoint.submissions + 1 });
    const { address } = attempt.candidate;
    const key = `${job.id}-${attempt.attempt}`;
    const { leftMs } = lease;
    const given = { request, key, signal, leftMs };
    const answer = await this.#dependencies.client.submit(address, spec.operation, given);
    if (!answer && !signal.aborted && lease.leftMs <= 0) return this.#fail(TOOK_TOO_LONG, attempt);
    const submission = await this.#read((bodies) => bodies.readSubmission(answer));
    if (!submission || signal.aborted) return false;
    if (submission.kind === "accepted") {
      const { providerJobId } = submission;
      const step = {
        step: "submitted",
        provider: address,
        attempt: attempt.attempt,
        fraction: null,
      } as const;
      const requestHash = answer?.hashes.request;
      await this.#state.advance(
        { submissions: 0, providerJobId, ...(requestHash !== undefined && { requestHash }) },
        step,
      );
      await this.#pause(answer?.retryAfterMs ?? FIRST_POLL_MS);
      return false;
    }
    if (submission.kind === "done")
      return this.#complete(attempt, {
        ...submission,
        answerId: answer?.responseKey ?? null,
        requestHash: answer?.hashes.request,
        responseHash: answer?.hashes.response,
      });
    if (submission.kind === "refused") return this.#fail(submission.failure, attempt);
    await this.#next(attempt, submission.failure, answer?.retryAfterMs);
    return false;
  }

  /** Polls until the provider's job has ended. */
  async #poll(attempt: ImageJobAttempt): Promise<boolean> {
    const { client, clock } = this.#dependencies;
    const { lease, spec, checkpoint } = this.#state;
    const { signal } = lease;
    const { address } = attempt.candidate;
    const jobId = checkpoint.providerJobId ?? "";
    let knownAtMs = clock.monotonicMs();
    while (!signal.aborted) {
      const { leftMs } = lease;
      if (leftMs <= 0) return this.#fail(TOOK_TOO_LONG, attempt);
      const beganAtMs = clock.monotonicMs();
      const answer = await client.poll(address, jobId, { model: spec.model, signal, leftMs });
      const report = await this.#read((bodies) => bodies.readReport(answer));
      if (!report || signal.aborted) return false;
      if (report.kind === "done")
        return this.#complete(attempt, {
          ...report,
          answerId: answer?.responseKey ?? jobId,
          requestHash: checkpoint.requestHash,
          responseHash: answer?.hashes.response,
        });
      if (report.kind === "failed" || report.kind === "gone") {
        await this.#next(attempt, report.failure);
        return false;
      }
      if (report.kind === "working" || report.kind === "busy") {
        knownAtMs = clock.monotonicMs();
        if (report.kind === "working") await this.#recordProgress(attempt, report.fraction);
      } else if (beganAtMs - knownAtMs > MAX_UNKNOWN_MS) {
        // Not the time of its end: a poll that broke may have transferred images until then.
        await this.#next(attempt, PROVIDER_FAILED);
        return false;
      }
      await this.#pause(answer?.retryAfterMs ?? POLL_MS);
    }
    return false;
  }

  #read<T>(read: (bodies: Dependencies["bodies"]) => Promise<T>): Promise<T | undefined> {
    const pause = (ms: number) => this.#pause(ms);
    return readWhenRoom(this.#state.lease, () => read(this.#dependencies.bodies), pause);
  }

  /** Records progress: when the provider starts working, and when the fraction changes. */
  async #recordProgress({ candidate, attempt }: ImageJobAttempt, fraction: number | null): Promise<void> {
    if (this.#isRunning && (fraction === null || fraction === this.#fraction)) return;
    this.#isRunning = true;
    this.#fraction = fraction ?? this.#fraction;
    const { address: provider } = candidate;
    await this.#state.advance({}, { step: "running", provider, attempt, fraction: this.#fraction });
  }

  /** Moves to the next attempt. A busy provider that is retried gets the delay that it requested. */
  async #next(
    { candidate, attempt }: ImageJobAttempt,
    failure: JobFailure,
    retryAfterMs?: number,
  ): Promise<void> {
    this.#isRunning = false;
    this.#fraction = null;
    await this.#state.advance(
      {
        failures: this.#state.checkpoint.failures + 1,
        submissions: 0,
        providerJobId: null,
        lastFailure: failure,
        attempts: this.#state.attempted(candidate, "failed"),
      },
      {
        step: "provider_failed",
        provider: candidate.address,
        attempt,
        fraction: null,
        errorCode: failure.code,
        errorMessage: failure.message,
      },
    );
    const { spec, checkpoint } = this.#state;
    const isLast = nextAction(spec, checkpoint).kind === "give-up";
    if (!isLast && isRepeated(spec, checkpoint)) await this.#pause(retryAfterMs ?? POLL_MS);
  }

  /**
   * Stores and bills the images, again while the database is unreachable and the lease lasts: a provider may not give
   * them twice, and one that answered the submission with them would have to make them again.
   */
  async #complete(attempt: ImageJobAttempt, images: FinishedImages): Promise<boolean> {
    const { billing, clock } = this.#dependencies;
    const { signal } = this.#state.lease;
    for (;;) {
      try {
        await billing.complete(this.#state, attempt, images);
        return true;
      } catch (error) {
        if (!(error instanceof AppError && error.code === "unavailable") || signal.aborted) throw error;
      }
      await clock.sleep(OUTAGE_PAUSE_MS, signal);
    }
  }

  async #fail(failure: JobFailure, attempt?: ImageJobAttempt): Promise<boolean> {
    await this.#dependencies.billing.fail(this.#state, failure, attempt);
    return true;
  }

  async #pause(ms: number): Promise<void> {
    const { signal, leftMs } = this.#state.lease;
    const pauseMs = Math.max(0, Math.min(ms, MAX_PAUSE_MS, leftMs));
    await this.#dependencies.clock.sleep(pauseMs, signal);
  }
}

/** A request that this version does not accept any more: to try again would not help. */
function asFailure(error: unknown): JobFailure {
  if (!(error instanceof AppError) || error.status >= 500) throw error;
  const { code, message } = error;
  return { code, message };
}
