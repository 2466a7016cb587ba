import type { StreamSink } from "../../inference/dispatch/stream-options.ts";

/** The bytes of a response, ended by `return()`. */
export type FileBody = AsyncIterator<Uint8Array> & {
  /**
   * Set if the bytes can be read again: drops everything that was read, and returns the last `unsentBytes` of the latest
   * buffer again. From then on one segment is read at a time, until `readAhead`.
   */
  park?(unsentBytes: number): void;
  readAhead?(): void;
};

/** What a handler returns: a value to send as JSON, serialized JSON, an event stream, or a file. */
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
      /** The file's bytes, ended by `return()` when the client disconnects; undefined for a response without a body. */
      readonly body: FileBody | undefined;
      /** Memory to reserve for what `body` reads ahead of the client; four segments by default. */
      readonly bufferBytes?: number;
    };
