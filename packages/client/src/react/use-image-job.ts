import { useMemo } from "react";
import type { Client } from "../core/client.ts";
import { ImageJobProgressDocument } from "../operations/graphql.ts";
import { readImageJob, type UseImageJob } from "./image-job.ts";
import { useLive } from "./use-live.ts";

/** Follows an image job of the caller; with `null` it waits for an id. */
export function useImageJob(id: string | null, options: { readonly client?: Client } = {}): UseImageJob {
  const document = id === null ? null : ImageJobProgressDocument;
  const live = useLive(document, { id: id ?? "" }, options);
  return useMemo(() => readImageJob(live), [live]);
}
