import type { ResultOf } from "gql.tada";
import { graphql } from "../../../data/query/graph.ts";

/** The streams, by pages. */
export const STREAMS = graphql(`
  query KeyValueStreams($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    kvStreams(first: $first, last: $last, after: $after, before: $before) {
      nodes { streamId firstVersion entries(first: 1) { nodes { version } } }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

/** The keys of a stream, by pages. */
export const KEYS = graphql(`
  query KeyValues(
    $streamId: Hash32!, $prefixText: String, $first: Int, $last: Int, $after: Cursor, $before: Cursor
  ) {
    kvEntries(streamId: $streamId, prefixText: $prefixText, first: $first, last: $last, after: $after, before: $before) {
      nodes { key keyText version sizeBytes head: base64(start: 0, length: 128) }
      pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
    }
  }
`);

/** A key with a part of its value, at a version. */
export const VALUE = graphql(`
  query KeyValue($streamId: Hash32!, $key: Hex!, $version: BigInt, $start: BigInt!, $length: Int!) {
    kvValue(streamId: $streamId, key: $key, version: $version) {
      key keyText version sizeBytes
      base64(start: $start, length: $length)
      transaction { decidedAt sender { address } file { root } }
    }
  }
`);

/** What is written to a stream. */
export const CHANGES = graphql(`
  subscription KeyValueChanges($streamId: Hash32!, $after: Cursor) {
    kvChanged(streamId: $streamId, after: $after) { cursor txSeq }
  }
`);

export type Stream = NonNullable<ResultOf<typeof STREAMS>["kvStreams"]>["nodes"][number];
export type Key = NonNullable<ResultOf<typeof KEYS>["kvEntries"]>["nodes"][number];
export type Value = NonNullable<ResultOf<typeof VALUE>["kvValue"]>;
