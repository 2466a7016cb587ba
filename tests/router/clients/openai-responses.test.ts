// @module-tag large
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import type { FunctionTool, ResponseInput } from "openai/resources/responses/responses";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { countPromptTokens } from "../../../src/inference/billing/tokens.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../../support/chain/network.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const services = useServices(stack, ["responses"]);
const input = "Say something.";
const PROMPT = countPromptTokens([{ role: "user", content: input }]);
const START = 1_000_000n;
const WEATHER: FunctionTool = {
  type: "function",
  name: "weather",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

let owner: Seeded;
let client: OpenAI;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  client = new OpenAI({ apiKey: owner.secret, baseURL: `${stack().origin}/v1`, maxRetries: 0 });
  stack().provider.behaviour = {};
  services().responses.behaviour = {};
});

const FORMS = [
  {
    ...{ form: "translated to a chat", model: MODEL, inputPrice: INPUT_PRICE, outputPrice: OUTPUT_PRICE },
    provider: () => stack().provider,
  },
  { form: "as the provider has it", ...SERVICES.responses, provider: () => services().responses },
] as const;

describe.each(FORMS)("$form", ({ model, inputPrice, outputPrice, provider }) => {
  const COST = BigInt(PROMPT) * inputPrice + 6n * outputPrice;

  test("a response is whole, with its usage and settings, and charged exactly", async () => {
    const response = await client.responses.create({
      model,
      input,
      max_output_tokens: 6,
      metadata: { order: "7" },
      temperature: 0.5,
    });
    expect(response.id).toMatch(/^resp_[0-9a-f]{32}$/);
    expect(response.output_text.split(" ")).toHaveLength(6);
    expect(response).toMatchObject({
      object: "response",
      model,
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      error: null,
      metadata: { order: "7" },
      max_output_tokens: 6,
      temperature: 0.5,
      store: false,
      tools: [],
      usage: {
        input_tokens: PROMPT,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 6,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: PROMPT + 6,
      },
      x_0g_trace: { billing: { total_cost: String(COST) } },
    });
    if (model === MODEL) expect(response._request_id).toBe(`req-${response.id.slice(5)}`);
    await requireAvailable(stack().app, owner, { available: START - COST });
  });

  test("a stream has the events of the whole, numbered without a gap, and is charged exactly", async () => {
    const whole = await client.responses.create({ model, input, max_output_tokens: 6 });
    const stream = await client.responses.create({ model, input, max_output_tokens: 6, stream: true });
    const events = await Array.fromAsync(stream);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
    const types = events.map(({ type }) => type);
    expect([...new Set(types)]).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.incomplete",
    ]);
    const text = events
      .map((event) => (event.type === "response.output_text.delta" ? event.delta : ""))
      .join("");
    expect(text).toBe(whole.output_text);
    const last = events.at(-1);
    if (last?.type !== "response.incomplete") throw new Error("the stream has no end");
    expect(last.response).toMatchObject({
      usage: whole.usage,
      x_0g_trace: { billing: { total_cost: String(COST) } },
    });
    await requireAvailable(stack().app, owner, { available: START - 2n * COST });
  });

  test("the stream helper collects the same response", async () => {
    const stream = client.responses.stream({ model, input });
    const deltas: string[] = [];
    stream.on("response.output_text.delta", ({ delta }) => void deltas.push(delta));
    const response = await stream.finalResponse();
    expect(response.status).toBe("completed");
    expect(response.output_text).toBe(deltas.join(""));
  });

  describe("functions", () => {
    test("are called, and their results lead to an answer", async () => {
      const messages: ResponseInput = [{ role: "user", content: input }];
      const asked = await client.responses.create({ model, input: messages, tools: [WEATHER] });
      const [call] = asked.output;
      if (call?.type !== "function_call") throw new Error("no function was called");
      expect(call).toMatchObject({ name: "weather", status: "completed", id: expect.stringMatching(/^fc_/) });
      expect(JSON.parse(call.arguments)).toEqual({ city: expect.any(String) });
      const result = { type: "function_call_output" as const, call_id: call.call_id, output: "sun" };
      const answered = await client.responses.create({
        model,
        input: [...messages, ...(asked.output as ResponseInput), result],
        tools: [WEATHER],
      });
      expect(answered.output_text).not.toBe("");
    });

    test("are called in a stream, with the arguments of the whole", async () => {
      const whole = await client.responses.create({ model, input, tools: [WEATHER] });
      const stream = client.responses.stream({ model, input, tools: [WEATHER] });
      const types: string[] = [];
      stream.on("event", ({ type }) => void types.push(type));
      const { output } = await stream.finalResponse();
      expect(types.slice(2, -1)).toEqual([
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
      ]);
      const [called, expected] = [output[0], whole.output[0]];
      if (called?.type !== "function_call" || expected?.type !== "function_call") throw new Error("no call");
      expect(called.arguments).toBe(expected.arguments);
    });

    test("are limited to those that the choice allows", async () => {
      const other = { ...WEATHER, name: "other" };
      const { output } = await client.responses.create({
        model,
        input,
        tools: [WEATHER, other],
        tool_choice: {
          type: "allowed_tools",
          mode: "required",
          tools: [{ type: "function", name: "other" }],
        },
      });
      expect(output[0]).toMatchObject({ type: "function_call", name: "other" });
    });
  });

  test("a kept response is continued where the provider keeps it, and refused by name elsewhere", async () => {
    const asked = client.responses.create({ model, input, store: true, max_output_tokens: 6 });
    if (model === MODEL) return expect(asked).rejects.toMatchObject({ status: 400, param: "store" });
    const first = await asked;
    expect(first).toMatchObject({ store: true, id: expect.stringMatching(/^resp_[0-9a-f]{32}$/) });
    expect(first._request_id).toBe(`req-${first.id.slice(5)}`);
    const more = { model, input: "And then?", previous_response_id: first.id, max_output_tokens: 6 };
    const stream = client.responses.stream({ ...more, store: true });
    const second = await stream.finalResponse();
    expect(second.previous_response_id).toBe(first.id);
    const conversation = [
      { role: "user", content: input },
      { role: "assistant", content: first.output_text },
      { role: "user", content: "And then?" },
    ];
    expect(second.usage?.input_tokens).toBe(countPromptTokens(conversation));
    const third = await client.responses.create({ ...more, previous_response_id: second.id });
    expect(third.usage?.input_tokens).toBeGreaterThan(second.usage?.input_tokens ?? 0);
    expect(third).toMatchObject({ store: false });
    const fourth = client.responses.create({ ...more, previous_response_id: third.id });
    await expect(fourth).rejects.toMatchObject({ status: 400, param: "previous_response_id" });
  });

  test("custom tools are called where the provider has them, and refused by name elsewhere", async () => {
    const tools = [{ type: "custom" as const, name: "patch" }];
    const asked = client.responses.create({ model, input, tools });
    if (model === MODEL) return expect(asked).rejects.toMatchObject({ status: 400, param: "tools.0.type" });
    const { output } = await asked;
    expect(output[0]).toMatchObject({ type: "custom_tool_call", name: "patch" });
    const [call] = output;
    if (call?.type !== "custom_tool_call") throw new Error("no tool was called");
    const result = { type: "custom_tool_call_output" as const, call_id: call.call_id, output: "done" };
    const items: ResponseInput = [{ role: "user", content: input }, call, result];
    const answered = await client.responses.create({ model, input: items, tools });
    expect(answered.output_text).not.toBe("");
  });

  test("structured output is parsed", async () => {
    const format = zodTextFormat(z.object({ name: z.string() }), "it");
    const response = await client.responses.parse({ model, input, text: { format } });
    expect(response.output_parsed).toEqual({ name: expect.any(String) });
  });

  test("a broken stream throws, after the content that preceded it", async () => {
    provider().behaviour = { breakAfterEvents: 5, chunkDelayMs: 5 };
    const stream = await client.responses.create({ model, input, stream: true });
    const seen: string[] = [];
    await expect(async () => {
      for await (const event of stream)
        if (event.type === "response.output_text.delta") seen.push(event.delta);
    }).rejects.toThrow(OpenAI.APIError);
    expect(seen.length).toBeGreaterThan(0);
  });

  test("what needs stored state is refused with the name of the field", async () => {
    const refused = client.responses.create({ model, input, previous_response_id: "resp_1" });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: "previous_response_not_found",
      param: "previous_response_id",
    });
    await requireAvailable(stack().app, owner, { available: START });
  });

  test("LangChain's client answers by the Responses API, whole and streamed", async () => {
    const chat = new ChatOpenAI({
      model,
      apiKey: owner.secret,
      configuration: { baseURL: `${stack().origin}/v1` },
      useResponsesApi: true,
      maxRetries: 0,
    });
    const whole = await chat.invoke(input);
    const parts = await Array.fromAsync(await chat.stream(input));
    expect(parts.map(({ text }) => text).join("")).toBe(whole.text);
    expect(whole.usage_metadata).toMatchObject({ input_tokens: PROMPT });
  });
});
