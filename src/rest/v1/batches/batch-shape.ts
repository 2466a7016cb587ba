import { z } from "zod";
import { shownFileId } from "../../../client-files/file-id.ts";
import {
  BATCH_ENDPOINTS,
  BATCH_STATUSES,
  type Batch,
  type BatchTimes,
  COMPLETION_WINDOW,
} from "../../../inference/batches/batch.ts";
import { BATCH_ID, shownBatchId } from "../../../inference/batches/batch-id.ts";
import { exactToken } from "../../../kernel/text/amount.ts";
import { shortString, withAtMost } from "../../../kernel/text/characters.ts";
import { isStorable } from "../../../kernel/text/storable.ts";
import { count, tokenNumber } from "../../wire.ts";
import { toUnixSeconds } from "./file-shape.ts";

const time = z.int().nullable();

/** Metadata of a batch: at most 16 pairs. */
export const METADATA = z
  .record(shortString(64), withAtMost(z.string(), 512))
  .refine((pairs) => Object.entries(pairs).flat().every(isStorable), "has a character that is not allowed")
  .refine((pairs) => Object.keys(pairs).length <= 16, "at most 16 pairs are allowed");

/** A batch in answers, in OpenAI's shape. */
export const BATCH = z
  .strictObject({
    id: z.string().regex(BATCH_ID),
    object: z.literal("batch"),
    endpoint: z.enum(BATCH_ENDPOINTS),
    errors: z
      .strictObject({
        object: z.literal("list"),
        data: z.array(
          z.strictObject({
            code: z.string(),
            message: z.string(),
            param: z.string().nullable(),
            line: z.int().nullable(),
          }),
        ),
      })
      .nullable(),
    input_file_id: z.string(),
    completion_window: z.literal(COMPLETION_WINDOW),
    status: z.enum(BATCH_STATUSES),
    output_file_id: z.string().nullable(),
    error_file_id: z.string().nullable(),
    created_at: z.int(),
    in_progress_at: time,
    expires_at: z.int(),
    finalizing_at: time,
    completed_at: time,
    failed_at: time,
    expired_at: time,
    cancelling_at: time,
    cancelled_at: time,
    request_counts: z.strictObject({ total: count, completed: count, failed: count }),
    usage: z.strictObject({
      input_tokens: count,
      input_tokens_details: z.strictObject({ cached_tokens: count }),
      output_tokens: count,
      output_tokens_details: z.strictObject({ reasoning_tokens: count }),
      total_tokens: count,
      cost: tokenNumber.meta({ description: "The amount charged for the requests, in the network's token." }),
    }),
    metadata: z.record(z.string(), z.string()).nullable(),
  })
  .meta({ id: "Batch" });

/** A batch as it is answered. */
export function viewBatch(batch: Batch) {
  const { errors, times, outputFileId, errorFileId } = batch;
  const at = (status: keyof BatchTimes) => {
    const text = times[status];
    return text === undefined ? null : toUnixSeconds(new Date(text));
  };
  return {
    id: shownBatchId(batch.id),
    object: "batch",
    endpoint: batch.endpoint,
    errors: errors.length === 0 ? null : { object: "list", data: errors },
    input_file_id: shownFileId(batch.inputFileId),
    completion_window: COMPLETION_WINDOW,
    status: batch.status,
    output_file_id: outputFileId && shownFileId(outputFileId),
    error_file_id: errorFileId && shownFileId(errorFileId),
    created_at: toUnixSeconds(batch.createdAt),
    in_progress_at: at("in_progress"),
    expires_at: toUnixSeconds(batch.expiresAt),
    finalizing_at: at("finalizing"),
    completed_at: at("completed"),
    failed_at: at("failed"),
    expired_at: at("expired"),
    cancelling_at: at("cancelling"),
    cancelled_at: at("cancelled"),
    request_counts: { total: batch.lines, completed: batch.completed, failed: batch.failed },
    usage: {
      input_tokens: Number(batch.inputTokens),
      input_tokens_details: { cached_tokens: Number(batch.cachedTokens) },
      output_tokens: Number(batch.outputTokens),
      output_tokens_details: { reasoning_tokens: Number(batch.reasoningTokens) },
      total_tokens: Number(batch.inputTokens + batch.outputTokens),
      cost: exactToken(batch.cost),
    },
    metadata: batch.metadata,
  };
}
