import { connect, createServer, type Socket } from "node:net";
import type { OnEnd } from "../support/servers/database.ts";

/** A proxy to a product that can hold what follows the first part of its responses in parts. */
export type PartsGate = {
  readonly origin: string;
  /** How many responses are held. */
  readonly held: () => number;
  /** Holds them from now on, until the returned function is called. */
  hold(): () => void;
};

/** The content types of responses in parts, with what each part begins with, and the last one ends with. */
const FORMATS = [
  { type: /content-type: multipart\/mixed/i, delimiter: "\r\n--graphql" },
  { type: /content-type: text\/event-stream/i, delimiter: "event: " },
];

/** Starts one in front of a product. */
export async function startPartsGate(target: string, onEnd: OnEnd): Promise<PartsGate> {
  const ends = new Set<Socket>();
  /** What waits for the release, per connection. */
  const held = new Map<Socket, { readonly far: Socket; readonly chunks: Buffer[] }>();
  let isHolding = false;
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: Number(new URL(target).port), host: "127.0.0.1", noDelay: true });
    for (const end of [near, far]) {
      ends.add(end);
      end.on("error", () => {});
      end.once("close", () => ends.delete(end));
    }
    near.once("close", () => {
      held.delete(near);
      far.destroy();
    });
    far.once("close", () => held.has(near) || near.end());
    near.on("data", (chunk) => void far.write(chunk));
    let passed = "";
    far.on("data", (chunk) => {
      const waiting = held.get(near);
      if (waiting) return void waiting.chunks.push(chunk);
      const before = passed.length;
      passed = isHolding ? passed + chunk.toString("latin1") : "";
      const end = endOfFirstPart(passed);
      if (end < 0) return void near.write(chunk);
      near.write(chunk.subarray(0, end - before));
      held.set(near, { far, chunks: [chunk.subarray(end - before)] });
      passed = "";
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onEnd(async () => {
    for (const end of ends) end.destroy();
    server.close();
  });
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    held: () => held.size,
    hold() {
      isHolding = true;
      return () => {
        isHolding = false;
        for (const [near, { chunks, far }] of held) {
          for (const chunk of chunks) near.write(chunk);
          if (far.closed) near.end();
        }
        held.clear();
      };
    },
  };
}

/** Where what follows the first part begins, in the text of a connection; -1 until then. */
function endOfFirstPart(text: string): number {
  for (const { type, delimiter } of FORMATS) {
    const start = text.search(type);
    const first = start < 0 ? -1 : text.indexOf(delimiter, start);
    const second = first < 0 ? -1 : text.indexOf(delimiter, first + 1);
    if (second >= 0) return second + delimiter.length;
  }
  return -1;
}
