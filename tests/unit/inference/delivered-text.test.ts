import fc from "fast-check";
import { expect, test } from "vitest";
import { countTexts } from "../../../src/inference/billing/tokens.ts";
import { ChatEvents } from "../../../src/inference/chat/chat-events.ts";
import { DeliveredText, ResumeMatcher } from "../../../src/inference/chat/delivered-text.ts";
import { TextMeter } from "../../../src/inference/chat/text-meter.ts";
import type { StreamReader } from "../../../src/inference/dispatch/stream-options.ts";
import { MessageEvents } from "../../../src/inference/messages/message-events.ts";

const newMeter = () => new TextMeter({ countTexts: async (texts) => countTexts(texts) });
const limits = { maxInputTokens: 100, maxOutputTokens: 100 };
const chatEvents = () => new ChatEvents({ wantsUsage: false, limits, choices: 1, text: newMeter() });
const chunk = (delta: object, more: object = {}, top: object = {}) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, ...more }], ...top })}\n\n`);
const words = (content: string) => chunk({ content });
const block = (event: object) => Buffer.from(`event: x\ndata: ${JSON.stringify(event)}\n\n`);
const textDelta = (text: string) =>
  block({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });

/**
 * Which of these events a client receives who already has `before`; undefined when they are not the same
 * answer.
 */
function resumed(newReader: () => StreamReader, before: readonly Buffer[], after: readonly Buffer[]) {
  const transcript = new DeliveredText();
  const first = newReader();
  for (const event of before) {
    first.read(event);
    transcript.add(first.parts);
  }
  if (!transcript.isRepeatable) return undefined;
  const repetition = new ResumeMatcher(transcript);
  const second = newReader();
  const written: string[] = [];
  try {
    for (const event of after) {
      second.read(event);
      if (repetition.isOver) written.push(event.toString());
      else {
        const texts = repetition.take(second.parts);
        if (texts.some((text) => text !== "")) written.push(second.render(texts).toString());
      }
    }
  } catch {
    return undefined;
  }
  return repetition.isOver ? written : undefined;
}

const contentOf = (events: readonly string[]) =>
  events.map((text) => JSON.parse(text.slice(6)).choices[0].delta.content ?? "").join("");

/** A text in pieces. */
const pieces = fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 12,
});

/** The same text in other pieces. */
function cutAt(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((from, at) => text.slice(from, places[at])).filter((part) => part !== "");
}

test("wherever a stream breaks, and however the next one splits its words, the client receives each of them once", () => {
  fc.assert(
    fc.property(pieces, fc.nat(), fc.array(fc.nat(200)), (said, cut, cuts) => {
      const text = said.join("");
      const given = said.slice(0, 1 + (cut % said.length));
      const after = cutAt(text, cuts);
      const written = resumed(chatEvents, given.map(words), after.map(words));
      expect(given.join("") + contentOf(written ?? [])).toBe(text);
    }),
  );
});

test("a different answer is never taken for the same one, wherever it differs", () => {
  const changed = fc.record({ said: pieces, cut: fc.nat(), at: fc.nat(), cuts: fc.array(fc.nat(200)) });
  fc.assert(
    fc.property(changed, ({ said, cut, at, cuts }) => {
      const given = said.slice(0, 1 + (cut % said.length)).join("");
      const wrong = at % given.length;
      const other = `${given.slice(0, wrong)}\u0000${given.slice(wrong + 1)}${said.join("").slice(given.length)}`;
      expect(resumed(chatEvents, [words(given)], cutAt(other, cuts).map(words))).toBeUndefined();
    }),
  );
});

test("an answer that ends before the delivered text is repeated does not match", () => {
  const end = chunk({}, { finish_reason: "stop" });
  expect(resumed(chatEvents, [words("the sea")], [words("the"), end])).toBeUndefined();
  expect(resumed(chatEvents, [words("the sea")], [words("the")])).toBeUndefined();
});

test("reasoning is matched apart from content, and new reasoning never follows delivered content", () => {
  const thought = (text: string) => chunk({ reasoning_content: text });
  const before = [thought("hm"), words("the")];
  const same = resumed(chatEvents, before, [thought("hm"), words("the sea")]);
  expect(contentOf(same ?? [])).toBe(" sea");
  expect(resumed(chatEvents, before, [thought("hm, well"), words("the sea")])).toBeUndefined();
});

test.each([
  ["a tool call", chunk({ tool_calls: [{ index: 0, id: "call_1", function: { name: "f" } }] })],
  ["an audio part", chunk({ audio: { data: "AAAA" } })],
  ["probabilities", chunk({ content: "x" }, { logprobs: { content: [] } })],
])("%s is sent only once", (_what, event) => {
  expect(resumed(chatEvents, [words("the"), event], [words("the"), event])).toBeUndefined();
  expect(resumed(chatEvents, [words("the sea")], [words("the"), event])).toBeUndefined();
});

test("other fields of an event are forwarded with the rest of its words", () => {
  const last = chunk({ content: "the sea" }, { finish_reason: "stop" }, { id: "b", model: "m" });
  const written = resumed(chatEvents, [words("the")], [last]) ?? [];
  expect(written.map((text) => JSON.parse(text.slice(6)))).toEqual([
    { choices: [{ index: 0, delta: { content: " sea" }, finish_reason: "stop" }], id: "b", model: "m" },
  ]);
});

test("a message in Anthropic's format resumes within a block; signatures and tool calls are sent only once", () => {
  const messageEvents = () => new MessageEvents({ limits, text: newMeter() });
  const start = block({ type: "message_start", message: { id: "msg_1" } });
  const open = (content_block: object) => block({ type: "content_block_start", index: 0, content_block });
  const close = block({ type: "content_block_stop", index: 0 });
  const end = block({ type: "message_delta", delta: { stop_reason: "end_turn" } });
  const begin = [start, open({ type: "text", text: "" })];
  const written = resumed(
    messageEvents,
    [...begin, textDelta("the s")],
    [...begin, textDelta("th"), block({ type: "ping" }), textDelta("e sea"), close, end],
  );
  expect(written?.map((text) => text.split("\n")[0])).toEqual([
    "event: content_block_delta",
    "event: x",
    "event: x",
  ]);
  expect(written?.[0]).toContain('"text":"ea"');
  const signed = block({
    type: "content_block_delta",
    index: 0,
    delta: { type: "signature_delta", signature: "s" },
  });
  for (const once of [signed, open({ type: "tool_use", id: "toolu_1", name: "f", input: {} })])
    expect(resumed(messageEvents, [start, once], [start, once])).toBeUndefined();
});

test("a very long answer is not remembered for resuming", () => {
  const transcript = new DeliveredText();
  for (let n = 0; n < 11; n++) transcript.add([{ channel: "0 content", text: "x".repeat(100_000) }]);
  expect(transcript.isRepeatable).toBe(false);
  expect(transcript.texts().size).toBe(0);
});
