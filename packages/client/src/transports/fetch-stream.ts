import type { Operation } from "../core/document.ts";
import { failureOfAnswer, failureOfNetwork, failureOfStatus } from "../core/failures.ts";
import { post } from "../core/request.ts";
import type { OpenedSubscription, TransportOptions, TransportSink } from "../core/transport.ts";

/** Reads the text of a stream. Returns true once the server has ended the subscription. */
export type ReadStream = (text: string) => boolean;

/** A format of streamed responses. */
export type StreamFormat = {
  readonly accept: string;
  /** The media type of its responses. */
  readonly contentType: string;
  /** A reader for one response with this content type, which passes results to the sink. */
  readonly reader: (sink: TransportSink, contentType: string) => ReadStream;
};

/** Subscribes with a POST whose response is streamed in a format: a connection for each subscription. */
export function subscribeByFetch(
  options: TransportOptions,
  { accept, contentType, reader }: StreamFormat,
  operation: Operation,
  sink: TransportSink,
): OpenedSubscription {
  const left = new AbortController();
  const run = async () => {
    const response = await post(options, operation, accept, left.signal);
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok || !type.startsWith(contentType) || !response.body) {
      const text = await response.text();
      return sink.failed(
        response.ok
          ? failureOfAnswer(text, contentType)
          : failureOfStatus(response.status, text, response.headers.get("retry-after")),
      );
    }
    sink.opened();
    const read = reader(sink, type);
    const decoder = new TextDecoder();
    const chunks = response.body.getReader();
    for (;;) {
      const { done, value } = await chunks.read();
      if (done) throw new Error("the response ended");
      sink.heard();
      if (read(decoder.decode(value, { stream: true }))) {
        left.abort();
        return sink.ended();
      }
    }
  };
  run().catch((reason: unknown) => {
    left.abort();
    sink.failed(failureOfNetwork(reason));
  });
  const stop = () => left.abort();
  return { stop, abandon: stop };
}
