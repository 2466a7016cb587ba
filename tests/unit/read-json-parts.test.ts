import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { TurnQueue } from "../../src/kernel/async/turn-queue.ts";
import type { MemoryLease } from "../../src/load/memory-budget.ts";
import { readJsonParts } from "../../src/rest/json-parts/read-json-parts.ts";

const WHOLE_TURN_BYTES = 2 ** 20;

/** A request whose body and end arrived before anything reads it, as when it waited for its turn. */
function requestOf(...chunks: readonly string[]): IncomingMessage {
  const request = new Readable({ read() {} });
  for (const chunk of chunks) request.push(Buffer.from(chunk));
  request.push(null);
  return Object.assign(request, { headers: {} }) as unknown as IncomingMessage;
}

test.each([[['{"id":1,', '"method":"x"}']], [['{"id":1,"method":"x"}']]])(
  "a body that arrived completely is read completely, also while other bodies hold the turn: %j",
  async (chunks) => {
    const turns = new TurnQueue();
    turns.take(WHOLE_TURN_BYTES, () => {});
    const parts = await readJsonParts(requestOf(...chunks), {
      ...{ maxBytes: 1_000, maxTextLength: 1_000, turns },
      lease: () => ({ reserveBody() {} }) as unknown as MemoryLease,
    });
    expect(parts.fault).toBeUndefined();
    expect(JSON.parse(parts.json.toString())).toEqual({ id: 1, method: "x" });
  },
);
