import { expect, test } from "vitest";
import { chatEvents } from "../../../src/inference/chat/chat-event-iterator.ts";
import { readChatRequest } from "../../../src/inference/chat/chat-request.ts";
import type { StreamSink } from "../../../src/inference/dispatch/stream-options.ts";
import { AppError } from "../../../src/kernel/errors.ts";

const request = await readChatRequest(
  Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], stream: true })),
);
const caller = { account: "0x1", keyId: "k", requestId: "r" };
const event = (data: object) => Buffer.from(`data: ${JSON.stringify(data)}\n\n`);
const token = (content: string) => event({ choices: [{ index: 0, delta: { content } }] });

/** An iterator, the sink that fills it, and a function that fails its source. */
function newFeed() {
  const { promise, reject } = Promise.withResolvers<void>();
  let sink: StreamSink | undefined;
  const feed = chatEvents(
    {
      stream: (_request, _caller, given) => {
        sink = given;
        return promise;
      },
    },
    request,
    caller,
    {},
  );
  if (!sink) throw new Error("the stream was not opened");
  return { feed, sink, reject };
}

test("a slow reader applies back-pressure to the source until everything is read", async () => {
  const { feed, sink } = newFeed();
  let drained = 0;
  sink.onDrain(() => drained++);
  const taken = Array.from({ length: 64 }, (_, n) => sink.write(token(`${n}`)));
  expect([taken.indexOf(false), drained]).toEqual([63, 0]);
  for (let n = 0; n < 64; n++) expect((await feed.next()).value).toMatchObject({ text: `${n}` });
  expect(drained).toBe(1);
  expect(sink.write(token("more"))).toBe(true);
});

test("events split at any byte are reassembled, and events without content are dropped", async () => {
  const { feed, sink } = newFeed();
  sink.write(event({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] }));
  const bytes = token("naïve 🌊");
  for (const byte of bytes) sink.write(Buffer.from([byte]));
  sink.write(Buffer.from(": comment\n\ndata: [DONE]\n\n"));
  sink.end();
  expect((await feed.next()).value).toMatchObject({ kind: "delta", text: "naïve 🌊" });
  expect((await feed.next()).done).toBe(true);
});

test("a call in OpenAI's legacy form is a tool call, part by part", async () => {
  const { feed, sink } = newFeed();
  const parts = [{ name: "look", arguments: '{"at":' }, { arguments: '"sea"}' }];
  for (const function_call of parts) sink.write(event({ choices: [{ index: 0, delta: { function_call } }] }));
  for (const part of parts)
    expect((await feed.next()).value).toMatchObject({
      toolCalls: [{ index: 0, type: "function", function: part }],
    });
});

test("a refusal is the text of its choice", async () => {
  const { feed, sink } = newFeed();
  sink.write(
    event({ choices: [{ index: 0, delta: { role: "assistant", content: null, refusal: "I can" } }] }),
  );
  sink.write(event({ choices: [{ index: 0, delta: { refusal: "not." } }] }));
  sink.end();
  expect((await feed.next()).value).toMatchObject({ kind: "delta", text: "I can" });
  expect((await feed.next()).value).toMatchObject({ kind: "delta", text: "not." });
  expect((await feed.next()).done).toBe(true);
});

test("a failure is delivered once, after the content that preceded it", async () => {
  const { feed, sink } = newFeed();
  sink.write(token("a"));
  sink.write(event({ error: { message: "broke", code: "upstream_error" } }));
  sink.end();
  expect((await feed.next()).value).toMatchObject({ text: "a" });
  await expect(feed.next()).rejects.toMatchObject({ code: "provider_error", message: "broke" });
  expect((await feed.next()).done).toBe(true);
});

test("content in parts is their text", async () => {
  const { feed, sink } = newFeed();
  const content = [
    { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
    { type: "text", text: "wide" },
  ];
  sink.write(event({ choices: [{ index: 0, delta: { content } }] }));
  expect((await feed.next()).value).toMatchObject({ text: "wide", reasoning: "Hm." });
});

test("a stream that is not read in time ends with a failure after what was delivered", async () => {
  const { feed, sink } = newFeed();
  sink.write(token("a"));
  sink.abort();
  expect((await feed.next()).value).toMatchObject({ text: "a" });
  await expect(feed.next()).rejects.toMatchObject({ code: "unavailable" });
});

test("the bill of an interrupted answer is delivered before its failure", async () => {
  const { feed, sink } = newFeed();
  const usage = { prompt_tokens: 3, completion_tokens: 2 };
  sink.write(
    event({ error: { message: "broke", code: "upstream_error" }, usage, x_0g_trace: { billing: 1 } }),
  );
  sink.end();
  expect((await feed.next()).value).toEqual({
    kind: "end",
    ...{ inputTokens: 3, outputTokens: 2, trace: { billing: 1 } },
  });
  await expect(feed.next()).rejects.toMatchObject({ code: "provider_error" });
});

test("a refusal before the first token rejects the waiting reader", async () => {
  const { feed, reject } = newFeed();
  const waiting = feed.next();
  reject(new AppError("insufficient_balance", "No."));
  await expect(waiting).rejects.toMatchObject({ code: "insufficient_balance" });
});

test("a reader that stops closes the sink at once, even while it waits, and sees no failure", async () => {
  const { feed, sink, reject } = newFeed();
  let closed = 0;
  sink.onClose(() => closed++);
  const waiting = feed.next();
  await feed.return?.();
  await feed.return?.();
  reject(new Error("the client left"));
  expect([closed, sink.isClosed(), (await waiting).done, (await feed.next()).done]).toEqual([
    1,
    true,
    true,
    true,
  ]);
});
