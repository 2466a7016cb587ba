import { randomUUID } from "node:crypto";
import type { EndpointAnswer } from "./provider-endpoints.ts";

/** How the asynchronous jobs of a stand-in provider go. Everything absent is as a good provider has it. */
export type JobBehaviour = {
  /** How long a new job waits before it is begun, and how long it then takes. */
  readonly pendingMs?: number;
  readonly processingMs?: number;
  /** The job fails in the end, for this reason. */
  readonly failure?: string;
  /** Jobs are not known any more, as after a crash. */
  readonly lost?: boolean;
  /** What `Retry-After` says on the way, seconds. */
  readonly retryAfterSeconds?: number;
};

/** The state of a job as a poll tells it: an HTTP status and a body. */
export type JobReport = {
  readonly status: number;
  readonly body: object;
  readonly retryAfterSeconds?: number;
  /** Of a job that was taken on. */
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
const MAX_JOBS = 1_000;

/** The asynchronous jobs of a stand-in provider (facts: router-and-chain 2.1): pending, processing, then completed or failed. */
export class StandInJobs {
  readonly #jobs = new Map<string, Job>();
  #submitted = 0;
  #polls = 0;

  /** Jobs that were taken on, and polls that were answered. */
  get submitted(): number {
    return this.#submitted;
  }

  get polls(): number {
    return this.#polls;
  }

  /** Takes a job on for its owner; `answer` is what it will come to. */
  submit(
    owner: string,
    answer: Extract<EndpointAnswer, { kind: "whole" }>,
    behaviour: JobBehaviour,
  ): JobReport {
    const jobId = randomUUID();
    if (this.#jobs.size >= MAX_JOBS) return { status: 503, body: { error: "Provider: the queue is full" } };
    this.#jobs.set(jobId, {
      owner,
      submittedMs: performance.now(),
      createdAt: new Date().toISOString(),
      behaviour,
      result: JSON.parse(answer.text) as object,
    });
    this.#submitted++;
    return {
      status: 202,
      body: { jobId, status: "pending" },
      retryAfterSeconds: retryAfter(behaviour),
      jobId,
    };
  }

  /** Tells how a job stands; `behaviour` is what the provider is like now. */
  poll(owner: string, jobId: string, behaviour: JobBehaviour): JobReport {
    this.#polls++;
    const job = behaviour.lost ? undefined : this.#jobs.get(jobId);
    if (!job) return { status: 404, body: { error: "Provider: job not found" } };
    if (job.owner !== owner) return { status: 403, body: { error: "Provider: not your job" } };
    const { createdAt, result, behaviour: begun, submittedMs } = job;
    const ageMs = performance.now() - submittedMs - (begun.pendingMs ?? 0);
    const head = { jobId, createdAt, updatedAt: new Date().toISOString() };
    if (ageMs < (begun.processingMs ?? PROCESSING_MS)) {
      const status = ageMs < 0 ? "pending" : "processing";
      return { status: 200, body: { ...head, status }, retryAfterSeconds: retryAfter(begun) };
    }
    if (begun.failure !== undefined)
      return { status: 200, body: { ...head, status: "failed", errorMessage: begun.failure } };
    return { status: 200, body: { ...head, status: "completed", data: result } };
  }
}

function retryAfter({ retryAfterSeconds = RETRY_AFTER_SECONDS }: JobBehaviour): number {
  return retryAfterSeconds;
}
