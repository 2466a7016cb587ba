import { useMemo } from "react";
import type { Client } from "../core/client.ts";
import {
  ImageJobProgressDocument,
  type ImageJobProgressSubscription,
  type JobStatus,
} from "../operations/graphql.ts";
import { type Live, useLive } from "./use-live.ts";

/** A step of an image job. */
export type ImageJobStep = ImageJobProgressSubscription["imageJobProgress"];

/** An image job as it proceeds. */
export type UseImageJob = Pick<Live<unknown>, "state" | "error"> & {
  readonly status: JobStatus | undefined;
  /** Done so far, 0 to 1, if the provider reports it. */
  readonly fraction: number | undefined;
  /** Every step that was received, in order. */
  readonly steps: readonly ImageJobStep[];
  /** The images, once the job is completed. */
  readonly images: NonNullable<NonNullable<ImageJobStep["job"]>["images"]>;
  /** Whether the job has ended: completed, failed or cancelled. */
  readonly isDone: boolean;
};

const FINAL: ReadonlySet<JobStatus> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/** Follows an image job of the caller; with `null` it waits for an id. */
export function useImageJob(id: string | null, options: { readonly client?: Client } = {}): UseImageJob {
  const document = id === null ? null : ImageJobProgressDocument;
  const { events, state, error } = useLive(document, { id: id ?? "" }, options);
  return useMemo(() => {
    const steps: ImageJobStep[] = [];
    // A job that is opened again begins with its present step, which may be known.
    for (const { imageJobProgress: step } of events)
      if (step.sequence > (steps.at(-1)?.sequence ?? 0)) steps.push(step);
    const last = steps.at(-1);
    return {
      state,
      error,
      steps,
      status: last?.status,
      fraction: last?.fraction ?? undefined,
      images: last?.job?.images ?? [],
      isDone: last !== undefined && FINAL.has(last.status),
    };
  }, [events, state, error]);
}
