import { MAX_PART_CHARACTERS } from "../core/multipart-reader.ts";
import type { GraphResult, OpenTransport, TransportSink } from "../core/transport.ts";
import { type ReadStream, type StreamFormat, subscribeByFetch } from "./fetch-stream.ts";

const FORMAT: StreamFormat = {
  accept: "text/event-stream",
  contentType: "text/event-stream",
  reader: readEvents,
};

/** Subscriptions as server-sent events: a connection for each, by the protocol of graphql-sse. */
export function serverSentEvents(): OpenTransport {
  return (options) => ({
    subscribe: (operation, sink) => subscribeByFetch(options, FORMAT, operation, sink),
    reset() {},
    dispose() {},
  });
}

/** Reads the events `next` and `complete`; comments are heartbeats. */
function readEvents(sink: TransportSink): ReadStream {
  let rest = "";
  let event = "";
  let data = "";
  const readLine = (ended: string): boolean => {
    const line = ended.endsWith("\r") ? ended.slice(0, -1) : ended;
    if (line === "") {
      const [name, text] = [event, data];
      event = data = "";
      if (name === "complete") return true;
      if (name === "next" && text !== "") sink.next(JSON.parse(text) as GraphResult);
      return false;
    }
    const [, field, value = ""] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "data") data += data === "" ? value : `\n${value}`;
    return false;
  };
  return (text) => {
    // Without a search of the whole rest for each chunk of a long line.
    const lines = text.split("\n");
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? "";
    if (rest.length > MAX_PART_CHARACTERS) throw new Error("an event is too long");
    return lines.some(readLine);
  };
}
