import type { JobView } from "../../../jobs/job-view.store.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import { isStorable, toStorable } from "../../../kernel/text/storable.ts";
import type { AttemptRecord } from "../../billing/ending.ts";
import { parseAnswerJson } from "../../body/outline.ts";
import type { AnswerHashes } from "../../evidence/signed-text.ts";
import { type ProviderAnswer, refusalOf } from "../../providers/exchange/provider-answer.ts";
import { ProviderFailure } from "../../providers/exchange/provider-failure.ts";
import { shownReason } from "../../providers/exchange/shown-reason.ts";
import type { ServiceType } from "../../providers/provider.ts";
import type { Refused } from "../../routing/choice-context.ts";
import { isImage } from "../image-answer.ts";
import {
  type ImageRequest,
  MAX_IMAGES,
  MAX_PROMPT_LENGTH,
  readImageEdit,
  readImageRequest,
} from "../image-request.ts";

/** The two kinds of image jobs, named by the last segment of their path. */
export type ImageOperation = "generations" | "edits";

/** The specification that is stored with an image job. Prices are neuron per image, decimal. */
export type ImageJobSpec = {
  readonly operation: ImageOperation;
  readonly model: string;
  readonly images: number;
  readonly contentType: string;
  /** Whether to verify the provider's signature of the result. */
  readonly verifyTee: boolean;
  /** The providers that are excluded, and why. */
  readonly refused: readonly Refused[];
  readonly candidates: readonly ImageCandidate[];
};

/** A candidate provider of a job, at the price of the admission. Candidates are in the order of the admission. */
export type ImageCandidate = {
  readonly address: Hex;
  readonly inputPrice: string;
  readonly outputPrice: string;
  readonly trustMode: "standard" | "verified" | "private";
};

/** The progress of a job: the state that a worker needs to continue after another worker died. */
export type ImageJobCheckpoint = {
  /** Number of failed attempts. */
  readonly failures: number;
  /** How often the current provider may have received the request: incremented before it is sent. */
  readonly submissions: number;
  /** The provider's own id of the job, once it has accepted it. */
  readonly providerJobId: string | null;
  readonly lastFailure: JobFailure | null;
  /** The attempts so far, in order. */
  readonly attempts: readonly AttemptRecord[];
  /** The provider's own id of the result, used to fetch its signature. */
  readonly answerId: string | null;
  /** SHA-256 of the request as it was last sent, and of the answer with the images. Absent in jobs of earlier versions. */
  readonly requestHash?: string;
  readonly responseHash?: string;
};

export type JobFailure = { readonly code: string; readonly message: string };

/** The initial checkpoint of every job. */
export const UNTRIED: ImageJobCheckpoint = {
  failures: 0,
  submissions: 0,
  providerJobId: null,
  lastFailure: null,
  attempts: [],
  answerId: null,
};

/** An attempt of a job at one candidate; `attempt` is its 1-based number. */
export type ImageJobAttempt = { readonly candidate: ImageCandidate; readonly attempt: number };

/** The next action of a job. */
export type ImageJobAction =
  | ({ readonly kind: "submit" | "poll" } & ImageJobAttempt)
  /** The job was sent twice with an unknown outcome each time, and is not sent a third time. */
  | ({ readonly kind: "abandon" } & ImageJobAttempt)
  | { readonly kind: "give-up" };

const MAX_ATTEMPTS = 3;
const MAX_SUBMISSIONS = 2;

/** At most three attempts, round-robin over the candidates, each with at most two submissions. */
export function nextAction(
  { candidates }: Pick<ImageJobSpec, "candidates">,
  { failures, submissions, providerJobId }: ImageJobCheckpoint,
): ImageJobAction {
  const candidate = candidates[failures % Math.max(candidates.length, 1)];
  if (!candidate || failures >= MAX_ATTEMPTS) return { kind: "give-up" };
  const attempt = failures + 1;
  if (providerJobId !== null) return { kind: "poll", candidate, attempt };
  return { kind: submissions < MAX_SUBMISSIONS ? "submit" : "abandon", candidate, attempt };
}

/** Parses the request of a job from the client's own bytes, which were validated when the job was created. */
export async function readJobRequest(
  { operation, contentType }: Pick<ImageJobSpec, "operation" | "contentType">,
  bytes: Buffer,
): Promise<ImageRequest> {
  return operation === "generations" ? readImageRequest(bytes) : readImageEdit(bytes, contentType);
}

/** The addresses of a job's candidate providers, in lower case. */
export function providersOf({ spec }: Pick<JobView, "spec">): readonly string[] {
  return (spec as ImageJobSpec).candidates.map(({ address }) => address);
}

/** The model id of a job. */
export function modelOf({ spec }: Pick<JobView, "spec">): string {
  return (spec as ImageJobSpec).model;
}

/** The type of the service that a job uses. */
export function serviceTypeOf({ spec }: Pick<JobView, "spec">): ServiceType {
  return (spec as ImageJobSpec).operation === "edits" ? "image-editing" : "text-to-image";
}

/** What a job does. */
export function operationOf({ spec }: Pick<JobView, "spec">): ImageOperation {
  return (spec as ImageJobSpec).operation;
}

/** The hashes to compare the signature of a job's result with; `images` hashes its images. */
export function jobHashes(
  { requestHash, responseHash }: ImageJobCheckpoint,
  images: () => Promise<readonly string[]>,
): Promise<AnswerHashes> {
  return Promise.resolve({ request: requestHash, response: responseHash, images });
}

/** The path to fetch the result of a job. */
export function resultPath(jobId: string, provider: string): string {
  return `/v1/async/jobs/${jobId}?provider_address=${provider}`;
}

/** Whether the next attempt goes to a provider that failed before, and should be delayed. */
export function isRepeated(
  spec: Pick<ImageJobSpec, "candidates">,
  { failures }: ImageJobCheckpoint,
): boolean {
  return failures >= spec.candidates.length;
}

/**
 * The outcome of a submission: accepted under an id, done with the images, rejected because of the request, or failed.
 */
export type Submission =
  | { readonly kind: "accepted"; readonly providerJobId: string }
  | { readonly kind: "done"; readonly result: Uint8Array; readonly images: number }
  | { readonly kind: "refused" | "failed"; readonly failure: JobFailure };

/**
 * Whether a provider with this status took a submission: it makes the images. 201 is what some servers answer for a job
 * that they created.
 */
export function isServed(status: number): boolean {
  return status === 200 || status === 201 || status === 202;
}

/** Reads the answer to a submission; undefined means none arrived. Long answers are read by `BodyPool`. */
export function readSubmission(answer: ProviderAnswer | undefined): Submission {
  if (!answer) return { kind: "failed", failure: PROVIDER_FAILED };
  if (!isServed(answer.status)) {
    const refusal = refusalOf(answer, answer.body);
    const { code, message } = refusal;
    return { kind: refusal instanceof ProviderFailure ? "failed" : "refused", failure: { code, message } };
  }
  const { jobId, data, ...rest } = fieldsOf(answer.body);
  if (typeof jobId === "string" && jobId.length > 0 && jobId.length <= MAX_JOB_ID && isStorable(jobId))
    return { kind: "accepted", providerJobId: jobId };
  if (data !== undefined) return readResult({ ...rest, data });
  return { kind: "failed", failure: PROVIDER_FAILED };
}

/** The status of a job at its provider: working, done, reported as failed, gone, withheld because of too many polls, or unknown. */
export type Report =
  | { readonly kind: "working"; readonly fraction: number | null }
  | { readonly kind: "done"; readonly result: Uint8Array; readonly images: number }
  | { readonly kind: "failed" | "gone"; readonly failure: JobFailure }
  | { readonly kind: "busy" | "unknown" };

/**
 * Reads the answer to a poll; undefined means none arrived. An invalid result is a failure of the provider. Long
 * answers are read by `BodyPool`.
 */
export function readReport(answer: ProviderAnswer | undefined): Report {
  if (!answer) return { kind: "unknown" };
  const { status, body } = answer;
  if (status === 403 || status === 404 || status === 410) return { kind: "gone", failure: JOB_GONE };
  if (status === 429) return { kind: "busy" };
  if (status !== 200) return { kind: "unknown" };
  const report = fieldsOf(body);
  if (report.status === "completed") return readResult(report.data);
  if (report.status === "failed") {
    const text = typeof report.errorMessage === "string" ? report.errorMessage : "";
    const reason = text === "" ? "no reason was given" : shownReason(text, answer.providerUrl);
    return { kind: "failed", failure: { code: "provider_error", message: `The provider failed: ${reason}` } };
  }
  if (typeof report.status === "string" && WORKING.has(report.status))
    return { kind: "working", fraction: fractionOf(report.progress) };
  return { kind: "unknown" };
}

/** The names of pending and processing (facts 0). */
const WORKING: ReadonlySet<string> = new Set(["pending", "queued", "processing", "running"]);
const MAX_JOB_ID = 256;
const NOT_ASCII = /[\u0080-\uffff]/g;

/** The failure of a provider that could not be reached, timed out, or sent an invalid answer. */
export const PROVIDER_FAILED: JobFailure = { code: "provider_error", message: "The provider failed." };
const JOB_GONE: JobFailure = {
  code: "provider_error",
  message: "The provider no longer knows the job.",
};
const NO_IMAGES: JobFailure = { code: "provider_error", message: "The provider's answer has no images." };

/**
 * Reads a result. It is stored as ASCII JSON bytes, which can be transferred between threads without a copy, and
 * without images beyond the maximum of a request.
 */
function readResult(
  data: unknown,
): Extract<Report, { kind: "done" }> | { readonly kind: "failed"; readonly failure: JobFailure } {
  const { created, data: images } = isObject(data) ? data : {};
  if (!Array.isArray(images) || images.length === 0) return { kind: "failed", failure: NO_IMAGES };
  const kept = [];
  for (const image of images.slice(0, MAX_IMAGES)) {
    if (!isImage(image)) return { kind: "failed", failure: NO_IMAGES };
    const { b64_json, revised_prompt } = image;
    // The database reads images out of the result, and refuses all of it if it has a text that it cannot represent.
    const prompt =
      typeof revised_prompt === "string" ? toStorable(revised_prompt, MAX_PROMPT_LENGTH) : undefined;
    kept.push({ b64_json, ...(prompt !== undefined && { revised_prompt: prompt }) });
  }
  const text = JSON.stringify({ created: Number.isSafeInteger(created) ? created : 0, data: kept });
  const result = new TextEncoder().encode(text.replace(NOT_ASCII, escaped));
  return { kind: "done", result, images: kept.length };
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Accepts a fraction from 0 to 1, or a percentage. */
function fractionOf(progress: unknown): number | null {
  if (typeof progress !== "number" || !(progress >= 0 && progress <= 100)) return null;
  return progress <= 1 ? progress : progress / 100;
}

function fieldsOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value = parseAnswerJson(body);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
