import { OperationRefused, type ZerographError } from "../core/errors.ts";
import { failureOfErrors } from "../core/failures.ts";
import type { ImageJobProgressSubscription, JobStatus } from "../operations/graphql.ts";
import type { LiveSnapshot } from "./live-store.ts";

/** A step of an image job. */
export type ImageJobStep = ImageJobProgressSubscription["imageJobProgress"];

/** An image job as it proceeds. */
export type UseImageJob = Pick<LiveSnapshot<unknown>, "state" | "error"> & {
  readonly status: JobStatus | undefined;
  /** Done so far, 0 to 1, if the provider reports it. */
  readonly fraction: number | undefined;
  /** Every step that was received, in order. */
  readonly steps: readonly ImageJobStep[];
  /** The images, once the job is completed. If the server does not send them, `error` says why. */
  readonly images: NonNullable<NonNullable<ImageJobStep["job"]>["images"]>;
  /** Whether the job has ended: completed, failed or cancelled. */
  readonly isDone: boolean;
};

const FINAL: ReadonlySet<JobStatus> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/** The job, as of the events of its subscription. */
export function readImageJob({
  events,
  errors,
  state,
  error,
}: LiveSnapshot<ImageJobProgressSubscription>): UseImageJob {
  const steps: ImageJobStep[] = [];
  // A job that is opened again begins with its present step, which may be known.
  for (const { imageJobProgress: step } of events) {
    const known = steps.at(-1)?.sequence ?? 0;
    if (step.sequence > known) steps.push(step);
    else if (step.sequence === known && step.job?.images) steps.splice(-1, 1, step);
  }
  const last = steps.at(-1);
  const images = last?.job?.images ?? [];
  const hasImages = images.length > 0 || last?.status !== "COMPLETED";
  return {
    state,
    error: error ?? (hasImages || errors.length === 0 ? undefined : refusalOf(errors)),
    steps,
    status: last?.status,
    fraction: last?.fraction ?? undefined,
    images,
    isDone: last !== undefined && FINAL.has(last.status),
  };
}

/** The images are null because of these errors. */
function refusalOf(errors: LiveSnapshot<unknown>["errors"]): OperationRefused {
  const { code, message } = failureOfErrors(errors).error as ZerographError;
  return new OperationRefused(code, message, { errors });
}
