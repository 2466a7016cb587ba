import { z } from "zod";
import type { ClientFile } from "../../../client-files/client-files.service.ts";
import { FILE_ID, shownFileId } from "../../../client-files/file-id.ts";
import { count } from "../../wire.ts";

const unixSeconds = z.int().meta({ description: "Seconds since 1970." });

/** A file in answers, in OpenAI's shape. */
export const FILE = z
  .strictObject({
    id: z.string().regex(FILE_ID),
    object: z.literal("file"),
    bytes: count,
    created_at: unixSeconds,
    expires_at: unixSeconds,
    filename: z.string(),
    purpose: z.enum(["batch", "batch_output"]),
    status: z.literal("processed"),
    status_details: z.null(),
  })
  .meta({ id: "ClientFile" });

/** A page of a list in OpenAI's shape: the next one begins after `last_id`. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal("list"),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });
}

/** A page as it is answered. */
export function viewPage<Item extends { readonly id: string }>(data: readonly Item[], hasMore: boolean) {
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/** A file as it is answered. */
export function viewFile(file: ClientFile) {
  return {
    id: shownFileId(file.id),
    object: "file",
    bytes: file.sizeBytes,
    created_at: toUnixSeconds(file.createdAt),
    expires_at: toUnixSeconds(file.expiresAt),
    filename: file.filename,
    purpose: file.purpose,
    status: "processed",
    status_details: null,
  };
}

/** Seconds since 1970, as OpenAI states times. */
export function toUnixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}
