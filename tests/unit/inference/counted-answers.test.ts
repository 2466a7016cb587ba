import fc from "fast-check";
import { expect, test } from "vitest";
import { countTexts } from "../../../src/inference/billing/tokens.ts";
import { type AnswerFormat, answerTexts } from "../../../src/inference/chat/answer-text.ts";
import { ChatEvents } from "../../../src/inference/chat/chat-events.ts";
import { TextMeter } from "../../../src/inference/chat/text-meter.ts";
import type { StreamReader } from "../../../src/inference/dispatch/stream-options.ts";
import { MessageEvents } from "../../../src/inference/messages/message-events.ts";
import { NativeResponseEvents } from "../../../src/inference/responses/native/native-events.ts";

const limits = { maxInputTokens: 1_000_000, maxOutputTokens: 10_000_000 };
const newMeter = () => new TextMeter({ countTexts: async (texts) => countTexts(texts) });
const chatReader = () => new ChatEvents({ wantsUsage: false, limits, choices: 1, text: newMeter() });
const messageReader = () => new MessageEvents({ limits, text: newMeter() });
const responseReader = () =>
  new NativeResponseEvents(
    {
      ...{ limits, model: undefined, providerUrl: undefined, names: {} },
      ...{ countInput: async () => 1, keep() {} },
    },
    newMeter(),
  );

/** The billed output of a stream that ends after these events. */
async function streamed(reader: StreamReader, events: readonly object[]): Promise<number> {
  for (const event of events) {
    reader.read(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    reader.accept();
  }
  return (await reader.meter(async () => 1)).usage.outputTokens;
}

const whole = (answer: object, format: AnswerFormat) => countTexts(answerTexts(answer, format));
const chunk = (delta: object, index = 0) => ({ choices: [{ index, delta }] });

/** A text in pieces. */
const texts = fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 12,
});
/** The order in which the deltas of two texts arrive. */
const order = fc.infiniteStream(fc.boolean());

/** Both lists in one, each in its own order. */
function merged<T>(a: readonly T[], b: readonly T[], turns: Iterator<boolean>): readonly T[] {
  const [left, right] = [[...a], [...b]];
  const both: T[] = [];
  while (left.length > 0 || right.length > 0) {
    const from = right.length === 0 || (left.length > 0 && turns.next().value) ? left : right;
    both.push(...from.splice(0, 1));
  }
  return both;
}

test("a streamed call of a chat counts what the whole call counts, however its arguments are cut", async () => {
  await fc.assert(
    fc.asyncProperty(texts, texts, fc.boolean(), order, async (first, second, repeats, turns) => {
      const call = (index: number, id: string, pieces: readonly string[]) =>
        pieces.map((piece, n) => {
          const named = n === 0 || repeats;
          const head = named ? { id, type: "function" } : {};
          return chunk({
            tool_calls: [{ index, ...head, function: { ...(named && { name: "look" }), arguments: piece } }],
          });
        });
      const message = {
        tool_calls: [first, second].map((pieces, index) => ({
          id: `call_${index}`,
          type: "function",
          function: { name: "look", arguments: pieces.join("") },
        })),
      };
      const events = merged(call(0, "call_0", first), call(1, "call_1", second), turns);
      expect(await streamed(chatReader(), events)).toBe(whole({ choices: [{ message }] }, "chat"));
    }),
  );
});

const KINDS: Readonly<Record<string, (text: string) => object>> = {
  content: (content) => ({ content }),
  "content in parts": (text) => ({ content: [{ type: "text", text }] }),
  reasoning: (reasoning) => ({ reasoning }),
  "reasoning with two names": (text) => ({ reasoning: text, reasoning_content: text }),
  "details of reasoning": (text) => ({ reasoning_details: [{ type: "reasoning.text", text }] }),
  "reasoning with details": (text) => ({ reasoning: text, reasoning_details: [{ text }] }),
  refusal: (refusal) => ({ refusal }),
  "a transcript": (transcript) => ({ audio: { id: "audio_1", transcript } }),
  "an earlier function call": (text) => ({ function_call: { name: "look", arguments: text } }),
  "a custom tool": (input) => ({
    tool_calls: [{ index: 0, id: "call_0", type: "custom", custom: { name: "look", input } }],
  }),
};

test.each(Object.entries(KINDS))("streamed %s of two choices counts as the whole", async (_kind, part) => {
  await fc.assert(
    fc.asyncProperty(texts, texts, order, async (first, second, turns) => {
      const deltas = (index: number, pieces: readonly string[]) =>
        pieces.map((piece) => chunk(part(piece), index));
      const choices = [first, second].map((pieces) => ({ message: part(pieces.join("")) }));
      const events = merged(deltas(0, first), deltas(1, second), turns);
      expect(await streamed(chatReader(), events)).toBe(whole({ choices }, "chat"));
    }),
    { numRuns: 30 },
  );
});

test("what repeats a text, or is no text, does not count", async () => {
  const content = "The sea";
  const choice = {
    ...{ index: 0, logprobs: { content: [{ token: "The", logprob: -1, bytes: [1], top_logprobs: [] }] } },
    delta: { content, annotations: [{ type: "url_citation" }], audio: { data: "AAAA".repeat(100) } },
  };
  expect(await streamed(chatReader(), [{ choices: [choice] }])).toBe(countTexts([content]));
});

test("a streamed message in Anthropic's format counts as the whole message", async () => {
  await fc.assert(
    fc.asyncProperty(texts, texts, fc.dictionary(fc.string(), fc.string()), async (said, thought, input) => {
      const start = (index: number, content_block: object) => ({
        ...{ type: "content_block_start", index, content_block },
      });
      const delta = (index: number, fields: object) => ({
        ...{ type: "content_block_delta", index, delta: fields },
      });
      const tool = { type: "tool_use", id: "toolu_1", name: "look" };
      const json = Object.keys(input).length === 0 ? "" : JSON.stringify(input);
      const events = [
        start(0, { type: "thinking", thinking: "" }),
        ...thought.map((thinking) => delta(0, { type: "thinking_delta", thinking })),
        start(1, { type: "text", text: "" }),
        ...said.map((text) => delta(1, { type: "text_delta", text })),
        start(2, { ...tool, input: {} }),
        ...[...json].map((partial_json) => delta(2, { type: "input_json_delta", partial_json })),
      ];
      const content = [{ thinking: thought.join("") }, { text: said.join("") }, { ...tool, input }];
      expect(await streamed(messageReader(), events)).toBe(whole({ content }, "message"));
    }),
  );
});

test("a streamed response counts as the whole response", async () => {
  await fc.assert(
    fc.asyncProperty(texts, texts, texts, fc.boolean(), async (said, thought, given, isSummary) => {
      const [text, reasoning, json] = [said.join(""), thought.join(""), given.join("")];
      const call = { type: "function_call", call_id: "call_1", name: "look" };
      const part = (kind: string, item: number, pieces: readonly string[], whole: object) => [
        ...pieces.map((delta) => ({ type: `response.${kind}.delta`, output_index: item, delta })),
        { type: `response.${kind}.done`, output_index: item, ...whole },
      ];
      const events = [
        ...(isSummary ? [] : part("reasoning_text", 0, thought, { text: reasoning })),
        ...part("reasoning_summary_text", 0, thought, { text: reasoning }),
        ...part("output_text", 1, said, { text }),
        { type: "response.output_item.added", output_index: 2, item: { ...call, arguments: "" } },
        ...part("function_call_arguments", 2, given, { arguments: json }),
        { type: "response.output_item.done", output_index: 2, item: { ...call, arguments: json } },
        { type: "response.audio.delta", output_index: 3, delta: "AAAA" },
      ];
      const output = [
        { summary: [{ text: reasoning }], content: isSummary ? [] : [{ text: reasoning }] },
        { content: [{ type: "output_text", text }] },
        { ...call, arguments: json },
      ];
      expect(await streamed(responseReader(), events)).toBe(whole({ output }, "response"));
    }),
  );
});

test("an answer too long to be buffered counts at most a few tokens more for each place where it is cut", async () => {
  const piece = "The sea is a wide and open place. ".repeat(100);
  const events = Array.from({ length: 200 }, () => chunk({ content: piece }));
  const counted = await streamed(chatReader(), events);
  const exact = countTexts([piece.repeat(200)]);
  expect(counted).toBeGreaterThanOrEqual(exact);
  expect(counted).toBeLessThanOrEqual(exact + 2 * 3);
});
