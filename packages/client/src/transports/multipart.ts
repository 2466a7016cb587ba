import type { GraphError } from "../core/errors.ts";
import { failureOfErrors } from "../core/failures.ts";
import type { GraphResult, OpenTransport, TransportSink } from "../core/transport.ts";
import { MAX_PART_CHARACTERS, type ReadStream, type StreamFormat, subscribeByFetch } from "./fetch-stream.ts";

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
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const delimiter = `\r\n--${quoted ?? plain ?? "-"}`;
  let rest = "";
  let searched = 0;
  return (text) => {
    rest += text;
    for (;;) {
      const at = rest.indexOf(delimiter, searched);
      if (at < 0) break;
      const part = rest.slice(0, at);
      rest = rest.slice(at + delimiter.length);
      searched = 0;
      readPart(part, sink);
    }
    // The end of the delimiter may still come.
    searched = Math.max(0, rest.length - delimiter.length);
    if (rest.length > MAX_PART_CHARACTERS) throw new Error("a part is too long");
    return rest.startsWith("--");
  };
}

function readPart(part: string, sink: TransportSink): void {
  const at = part.indexOf("\r\n\r\n");
  if (at < 0) return;
  const { payload, errors } = JSON.parse(part.slice(at + 4)) as Part;
  if (payload) sink.next(payload);
  else if (errors) sink.failed(failureOfErrors(errors));
}
