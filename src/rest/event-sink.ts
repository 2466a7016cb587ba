import type { ServerResponse } from "node:http";
import type { StreamSink } from "../inference/stream-terms.ts";

/** A streamed answer on a plain HTTP response. The head is written with the first event. */
export function eventSink(response: ServerResponse, headers: Readonly<Record<string, string>>): StreamSink {
  let ended = false;
  return {
    start({ responseKey }) {
      response.writeHead(200, {
        ...headers,
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        ...(responseKey !== undefined && { "zg-res-key": responseKey }),
      });
    },
    write: (bytes) => response.write(bytes),
    end() {
      ended = true;
      response.end();
    },
    isClosed: () => response.destroyed && !ended,
    onDrain: (listener) => void response.on("drain", listener),
    onClose: (listener) =>
      void response.once("close", () => {
        if (!ended) listener();
      }),
  };
}
