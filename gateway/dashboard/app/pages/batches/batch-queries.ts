import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";

/** A page of the batches of the account. */
export const BATCHES = graphql(`
  query Batches($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    batches(first: $first, last: $last, after: $after, before: $before) {
      nodes {
        id batchId endpoint status requestCount completedCount failedCount cost createdAt expiresAt metadata
        outputFileId errorFileId
      }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

/** The changes of all batches. */
export const BATCHES_CHANGED = graphql(`
  subscription BatchesChanged($after: Cursor) {
    batchChanged(after: $after) { cursor batchId sequence status requestCount completedCount failedCount cost }
  }
`);

/** One batch. */
export const BATCH = graphql(`
  query Batch($id: ID!) {
    batch(id: $id) {
      id batchId endpoint status requestCount completedCount failedCount cost createdAt expiresAt metadata
      inputFileId outputFileId errorFileId errors { code message param line }
    }
  }
`);

/** The changes of one batch, from its current state to its end. */
export const BATCH_PROGRESS = graphql(`
  subscription BatchProgress($id: ID!, $after: Cursor) {
    batchProgress(id: $id, after: $after) { cursor at sequence status requestCount completedCount failedCount cost }
  }
`);

export const CANCEL = graphql(`
  mutation CancelBatch($input: CancelBatchInput!) {
    cancelBatch(input: $input) { batch { id status } userErrors { field message } }
  }
`);

export type BatchRow = NonNullable<ResultOf<typeof BATCHES>["batches"]>["nodes"][number];
export type Batch = NonNullable<ResultOf<typeof BATCH>["batch"]>;
export type BatchCounts = Pick<
  BatchRow,
  "status" | "requestCount" | "completedCount" | "failedCount" | "cost"
>;

/** Whether nothing more happens to a batch of this status. */
export function hasEnded(status: string): boolean {
  return ["COMPLETED", "FAILED", "EXPIRED", "CANCELLED"].includes(status);
}

/** What people call a batch: the name of its file, which pages of the dashboard store in its metadata. */
export function nameOf({ metadata, batchId }: Pick<BatchRow, "metadata" | "batchId">): string {
  const name = (metadata as { readonly name?: unknown } | null)?.name;
  return typeof name === "string" && name !== "" ? name : batchId;
}
