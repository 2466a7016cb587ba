import { randomUUID } from "node:crypto";
import type { EndpointAnswer } from "./endpoints/endpoint.ts";

/** How the asynchronous jobs of a stand-in provider behave. Absent fields mean a well-behaved provider. */
export type JobBehaviour = {
  /** How long a new job stays pending, and how long it then takes. */
  readonly pendingMs?: number;
  readonly processingMs?: number;
  /** The job fails at its end with this message. */
  readonly failure?: string;
  /** Jobs are unknown, as after a crash. */
  readonly lost?: boolean;
  /** The `Retry-After` of an unfinished job, seconds. */
  readonly retryAfterSeconds?: number;
};

/** The response to a poll: an HTTP status and a body. */
export type JobReport = {
  readonly status: number;
  readonly body: object;
  readonly retryAfterSeconds?: number;
  /** The id of an accepted job. */
  readonly jobId?: string;
};

type Job = {
  readonly owner: string;
  readonly submittedMs: number;
  readonly createdAt: string;
  readonly behaviour: JobBehaviour;
  readonly result: object;
};

const PROCESSING_MS = 1_000;
const RETRY_AFTER_SECONDS = 1;
/** The jobs that are kept: beyond, a new one replaces the oldest that has ended. */
const MAX_JOBS = 1_000;

/**
 * The asynchronous jobs of a stand-in provider (facts: router-and-chain 2.1): pending, processing, then completed or
 * failed.
 */
export class StandInJobs {
  readonly #jobs = new Map<string, Job>();
  #submitted = 0;
  #polls = 0;

  /** The number of accepted jobs. */
  get submitted(): number {
    return this.#submitted;
  }

  /** The number of polls. */
  get polls(): number {
    return this.#polls;
  }

  /** Accepts a job for its owner; `answer` is its eventual result. */
  submit(
    owner: string,
    answer: Extract<EndpointAnswer, { kind: "whole" }>,
    behaviour: JobBehaviour,
  ): JobReport {
    const jobId = randomUUID();
    if (!this.#makeRoom()) return { status: 503, body: { error: "Provider: the queue is full" } };
    this.#jobs.set(jobId, {
      owner,
      submittedMs: performance.now(),
      createdAt: new Date().toISOString(),
      behaviour,
      result: JSON.parse(String(answer.content)) as object,
    });
    this.#submitted++;
    return {
      status: 202,
      body: { jobId, status: "pending" },
      retryAfterSeconds: retryAfter(behaviour),
      jobId,
    };
  }

  /** Returns the state of a job; `behaviour` is the provider's current one. */
  poll(owner: string, jobId: string, behaviour: JobBehaviour): JobReport {
    this.#polls++;
    const job = behaviour.lost ? undefined : this.#jobs.get(jobId);
    if (!job) return { status: 404, body: { error: "Provider: job not found" } };
    if (job.owner !== owner) return { status: 403, body: { error: "Provider: not your job" } };
    const { createdAt, result, behaviour: begun } = job;
    const head = { jobId, createdAt, updatedAt: new Date().toISOString() };
    if (!hasEnded(job)) {
      const status = ageMs(job) < 0 ? "pending" : "processing";
      return { status: 200, body: { ...head, status }, retryAfterSeconds: retryAfter(begun) };
    }
    if (begun.failure !== undefined)
      return { status: 200, body: { ...head, status: "failed", errorMessage: begun.failure } };
    return { status: 200, body: { ...head, status: "completed", data: result } };
  }

  /** Returns whether there is room for a new job. */
  #makeRoom(): boolean {
    if (this.#jobs.size < MAX_JOBS) return true;
    for (const [jobId, job] of this.#jobs) if (hasEnded(job)) return this.#jobs.delete(jobId);
    return false;
  }
}

/** The time since a job was begun, negative while it is pending. */
function ageMs({ submittedMs, behaviour }: Job): number {
  return performance.now() - submittedMs - (behaviour.pendingMs ?? 0);
}

function hasEnded(job: Job): boolean {
  return ageMs(job) >= (job.behaviour.processingMs ?? PROCESSING_MS);
}

function retryAfter({ retryAfterSeconds = RETRY_AFTER_SECONDS }: JobBehaviour): number {
  return retryAfterSeconds;
}
