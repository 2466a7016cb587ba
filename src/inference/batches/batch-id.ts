import { fromDigits, toDigits } from "../../client-files/file-id.ts";

/** A batch's id as clients see it: OpenAI's prefix and the digits of its row id. */
export const BATCH_ID = /^batch_([0-9a-f]{32})$/;

/** The id of a batch as clients see it. */
export function shownBatchId(id: string): string {
  return `batch_${toDigits(id)}`;
}

/** The id of the row of a batch; empty for a text that is no id of a batch. */
export function readBatchId(text: string): string {
  return fromDigits(BATCH_ID.exec(text)?.[1]);
}
