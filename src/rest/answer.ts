import type { StreamSink } from "../inference/stream-terms.ts";

/** What a handler may answer with: JSON out of a value, ready bytes of JSON, or a stream of events. */
export type Answer =
  | { readonly kind: "json"; readonly value: unknown; readonly status?: number }
  | {
      readonly kind: "bytes";
      readonly bytes: Buffer;
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "stream"; run(sink: StreamSink): Promise<void> };
