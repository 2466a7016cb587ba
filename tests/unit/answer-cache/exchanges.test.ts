import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { AnswerRecorder } from "../../../src/inference/answer-cache/answer-recorder.ts";
import { MAX_CACHED_BYTES } from "../../../src/inference/answer-cache/cache-request.ts";
import { replayExchange } from "../../../src/inference/answer-cache/replayed-exchange.ts";
import type { ProviderListener } from "../../../src/inference/providers/exchange/provider-exchange.ts";
import { AppError } from "../../../src/kernel/errors.ts";

const HEAD = { status: 200, contentType: "text/event-stream", responseKey: undefined };

function listen(onChunk: (chunk: Buffer) => void = () => {}) {
  const heard: string[] = [];
  const chunks: Buffer[] = [];
  const listener: ProviderListener = {
    onHead: ({ contentType }) => void heard.push(`head ${contentType}`),
    onChunk(chunk) {
      chunks.push(chunk);
      onChunk(chunk);
    },
    onEnd: () => void heard.push("end"),
    onError: ({ message }) => void heard.push(`error ${message}`),
  };
  return { listener, heard, bytes: () => Buffer.concat(chunks) };
}

const answered = (body: Buffer) => ({
  ...{ requestId: "req-1", provider: "0x1", model: "m", cost: { input: 0n, output: 0n } },
  answer: { contentType: HEAD.contentType, body },
});

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await nextTurn();
}

test("a stored answer is replayed in parts, after its exchange is returned, and ends", async () => {
  const body = Buffer.alloc(100_000, "sea ");
  const { listener, heard, bytes } = listen();
  replayExchange(answered(body), listener);
  expect(heard).toEqual([]);
  await turns(20);
  expect(heard).toEqual(["head text/event-stream", "end"]);
  expect(bytes().equals(body)).toBe(true);
});

test("a replay waits for its listener, and for no other reason", async () => {
  const body = Buffer.alloc(100_000, "sea ");
  let pauses = 0;
  const { listener, heard, bytes } = listen(() => {
    pauses++;
    exchange.pause();
  });
  const exchange = replayExchange(answered(body), listener);
  await turns(20);
  expect([pauses, heard.length]).toEqual([1, 1]);
  for (let n = 0; n < 20; n++) {
    exchange.resume();
    exchange.resume();
    await turns(2);
  }
  expect(bytes().equals(body)).toBe(true);
  expect(heard).toEqual(["head text/event-stream", "end"]);
});

test("a replay that is aborted tells its listener once, and nothing after it", async () => {
  const { listener, heard, bytes } = listen(() => exchange.abort(new Error("left")));
  const exchange = replayExchange(answered(Buffer.alloc(100_000)), listener);
  await turns(20);
  exchange.abort(new Error("again"));
  exchange.resume();
  await turns(2);
  expect(heard).toEqual(["head text/event-stream", "error left"]);
  expect(bytes().length).toBeLessThan(100_000);
});

test("an answer is recorded up to the longest that is stored", () => {
  for (const [sizeBytes, isKept] of [
    [MAX_CACHED_BYTES, true],
    [MAX_CACHED_BYTES + 1, false],
  ] as const) {
    const { listener, bytes } = listen();
    const recorder = new AnswerRecorder(listener);
    recorder.onHead(HEAD);
    recorder.onChunk(Buffer.alloc(sizeBytes - 1));
    recorder.onChunk(Buffer.alloc(1));
    recorder.onEnd();
    expect(recorder.answer?.body.length).toBe(isKept ? sizeBytes : undefined);
    expect(bytes().length).toBe(sizeBytes);
  }
});

test("an answer that finds no room in memory is delivered, and not recorded", () => {
  const { listener, heard, bytes } = listen();
  let left = 10;
  const recorder = new AnswerRecorder(listener, {
    reserve(count) {
      if (count > left) throw new AppError("overloaded", "full");
      left -= count;
    },
  });
  recorder.onHead(HEAD);
  for (const text of ["12345", "123456", "1"]) recorder.onChunk(Buffer.from(text));
  recorder.onEnd();
  expect(recorder.answer).toBeUndefined();
  expect([bytes().toString(), heard]).toEqual(["123451234561", ["head text/event-stream", "end"]]);
});
