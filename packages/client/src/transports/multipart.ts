import type { GraphError } from "../core/errors.ts";
import { failureOfErrors } from "../core/failures.ts";
import { multipartReader } from "../core/multipart-reader.ts";
import type { GraphResult, OpenTransport, TransportSink } from "../core/transport.ts";
import { type ReadStream, type StreamFormat, subscribeByFetch } from "./fetch-stream.ts";

const FORMAT: StreamFormat = {
  accept: 'multipart/mixed;subscriptionSpec="1.0", application/json',
  contentType: "multipart/mixed",
  reader: readParts,
};

/** A part of Apollo's multipart protocol: a result, the error of a lost stream, or `{}` as a heartbeat. */
type Part = { readonly payload?: GraphResult | null; readonly errors?: readonly GraphError[] };

/** Subscriptions as multipart responses: a connection for each, by version 1.0 of Apollo's protocol. */
export function multipart(): OpenTransport {
  return (options) => ({
    subscribe: (operation, sink) => subscribeByFetch(options, FORMAT, operation, sink),
    reset() {},
    dispose() {},
  });
}

function readParts(sink: TransportSink, contentType: string): ReadStream {
  return multipartReader(contentType, (part) => {
    const { payload, errors } = part as Part;
    if (payload) sink.next(payload);
    else if (errors) sink.failed(failureOfErrors(errors));
  });
}
