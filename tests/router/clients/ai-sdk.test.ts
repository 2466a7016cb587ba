// @module-tag large
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateImage, generateText, jsonSchema, Output, stepCountIs, streamText } from "ai";
import { beforeEach, expect, test } from "vitest";
import { sizeOfPng } from "../../../src/devnet/provider/endpoints/image.ts";
import { countPromptTokens } from "../../../src/inference/billing/tokens.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../../support/chain/network.ts";
import { weatherTool } from "../../support/clients/weather-tool.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const services = useServices(stack, ["images"]);
const prompt = "Say something.";
const PROMPT = countPromptTokens([{ role: "user", content: prompt }]);
const START = 1_000_000n;

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  stack().provider.behaviour = {};
  services().images.behaviour = {};
});

test("text, whole and streamed, has its usage and is charged exactly", async () => {
  const whole = await generateText({ model: chat(), prompt, maxOutputTokens: 6, maxRetries: 0 });
  expect(whole.text.split(" ")).toHaveLength(6);
  expect(whole.usage).toMatchObject({ inputTokens: PROMPT, outputTokens: 6 });
  const streamed = streamText({ model: chat(), prompt, maxOutputTokens: 6, maxRetries: 0 });
  expect((await Array.fromAsync(streamed.textStream)).join("")).toBe(whole.text);
  expect(await streamed.usage).toMatchObject({ inputTokens: PROMPT, outputTokens: 6 });
  const cost = BigInt(PROMPT) * INPUT_PRICE + 6n * OUTPUT_PRICE;
  await requireAvailable(stack().app, owner, { available: START - 2n * cost });
});

test("tools are called and their results lead to an answer", async () => {
  const { cities, weather } = weatherTool();
  const { text, steps } = await generateText({
    model: chat(),
    prompt,
    tools: { weather },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  });
  expect([cities.length, steps.length]).toEqual([1, 2]);
  expect(text).not.toBe("");
});

test("an object matches its schema", async () => {
  const schema = jsonSchema<{ name: string; age: number }>({
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name", "age"],
  });
  const { output } = await generateText({
    model: chat(),
    prompt,
    output: Output.object({ schema }),
    maxRetries: 0,
  });
  expect(output).toEqual({ name: expect.any(String), age: expect.any(Number) });
});

test("images are generated", async () => {
  const { images } = await generateImage({
    model: provider().imageModel(SERVICES.images.model),
    prompt: "a sea",
    n: 2,
    size: "64x32",
    maxRetries: 0,
  });
  expect(images.map(({ uint8Array }) => sizeOfPng(Buffer.from(uint8Array)))).toEqual([
    { width: 64, height: 32 },
    { width: 64, height: 32 },
  ]);
});

test("a failure is the SDK's own error with our code, and says whether to retry", async () => {
  const failed = await generateText({ model: provider().chatModel("none"), prompt, maxRetries: 0 }).catch(
    (error: unknown) => error,
  );
  expect(APICallError.isInstance(failed)).toBe(true);
  expect(failed).toMatchObject({ statusCode: 404, isRetryable: false });
  expect((failed as APICallError).responseBody).toContain("model_not_found");
});

function provider() {
  return createOpenAICompatible({
    name: "zerograph",
    apiKey: owner.secret,
    baseURL: `${stack().origin}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
}

function chat() {
  return provider().chatModel(MODEL);
}
