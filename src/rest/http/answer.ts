import type { StreamSink } from "../../inference/dispatch/stream-options.ts";

/** What a handler may answer with: JSON out of a value, ready bytes of JSON, a stream of events, or a file. */
export type Answer =
  | { readonly kind: "json"; readonly value: unknown; readonly status?: number }
  | {
      readonly kind: "bytes";
      readonly bytes: Buffer;
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "stream"; run(sink: StreamSink): Promise<void> }
  | {
      readonly kind: "file";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** Its bytes, ended by `return()` when the client leaves; undefined for an answer without a body. */
      readonly body: AsyncIterator<Uint8Array> | undefined;
      /** Memory to reserve for what `body` reads ahead of the client; four segments unless stated. */
      readonly bufferBytes?: number;
    };
