import { expect, test } from "vitest";
import { ChatEvents } from "../../../src/inference/chat/chat-events.ts";
import { TextMeter } from "../../../src/inference/chat/text-meter.ts";
import { eventData } from "../../../src/inference/dispatch/event-scanner.ts";
import { ExactNumber } from "../../../src/kernel/text/exact-json.ts";

const limits = { maxInputTokens: 1_000, maxOutputTokens: 1_000 };
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const billing = { input_cost: "0", output_cost: "0", total_cost: "0" };
const trace = { request_id: "r", provider: "0x1", billing };

test.each([
  ["an empty list of choices", { id: "a", choices: [], usage }],
  ["choices of null", { id: "a", choices: null, usage }],
  ["no choices", { id: "a", usage }],
])("the usage chunk has a list of choices, as clients read it, where the provider's has %s", (_, chunk) => {
  const text = new TextMeter({ countTexts: async () => 0 });
  const reader = new ChatEvents({ wantsUsage: true, limits, choices: 1, text });
  const content = { id: "a", choices: [{ index: 0, delta: { content: "b" }, finish_reason: "stop" }] };
  for (const event of [content, chunk]) {
    reader.read(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    reader.accept();
  }
  const billed = { inputTokens: 3, outputTokens: 2 };
  const closing = reader.closing(trace, billed, undefined, { cost: new ExactNumber("0") });
  expect(JSON.parse(eventData(closing.subarray(0, closing.indexOf("\n\n") + 2)) ?? "")).toMatchObject({
    ...{ id: "a", choices: [], x_0g_trace: trace },
    usage: { ...usage, cost: 0 },
  });
});
