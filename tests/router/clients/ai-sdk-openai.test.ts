// @module-tag large
import { createOpenAI, type OpenAILanguageModelResponsesOptions } from "@ai-sdk/openai";
import {
  APICallError,
  embedMany,
  generateImage,
  generateSpeech,
  generateText,
  jsonSchema,
  Output,
  stepCountIs,
  streamText,
  transcribe,
} from "ai";
import { beforeEach, expect, test } from "vitest";
import { countPromptTokens } from "../../../src/inference/billing/tokens.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../../support/chain/network.ts";
import { weatherTool } from "../../support/clients/weather-tool.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
useServices(stack, ["images", "embeddings", "speech", "voice", "messages", "responses"]);
const prompt = "Say something.";
const PROMPT = countPromptTokens([{ role: "user", content: prompt }]);
const START = 1_000_000n;
/** Otherwise the client refers to earlier items, which the router does not keep. */
const providerOptions = { openai: { store: false } satisfies OpenAILanguageModelResponsesOptions };

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  stack().provider.behaviour = {};
});

const { responses: NATIVE } = SERVICES;
/** Responses that are translated to chats, and those of a provider that has the format. */
const FORMS = [
  [MODEL, INPUT_PRICE, OUTPUT_PRICE],
  [NATIVE.model, NATIVE.inputPrice, NATIVE.outputPrice],
] as const;

test.each(FORMS)("a response of %s, whole and streamed, is charged exactly", async (...form) => {
  const [model, inputPrice, outputPrice] = form;
  const settings = { model: provider().responses(model), prompt, maxOutputTokens: 6, maxRetries: 0 };
  const whole = await generateText({ ...settings, providerOptions });
  expect(whole.text.split(" ")).toHaveLength(6);
  expect(whole.usage).toMatchObject({ inputTokens: PROMPT, outputTokens: 6 });
  const streamed = streamText(settings);
  expect((await Array.fromAsync(streamed.textStream)).join("")).toBe(whole.text);
  expect(await streamed.usage).toMatchObject({ inputTokens: PROMPT, outputTokens: 6 });
  const cost = BigInt(PROMPT) * inputPrice + 6n * outputPrice;
  await requireAvailable(stack().app, owner, { available: START - 2n * cost });
});

test("tools are called and their results lead to an answer, in responses and chats", async () => {
  const { responses, chat } = provider();
  for (const model of [responses(MODEL), responses(NATIVE.model), chat(MODEL)]) {
    const { cities, weather } = weatherTool();
    const { text, steps } = await generateText({
      ...{ model, prompt, providerOptions, tools: { weather }, stopWhen: stepCountIs(3), maxRetries: 0 },
    });
    expect([cities.length, steps.length]).toEqual([1, 2]);
    expect(text).not.toBe("");
  }
});

test("a conversation continues from the client's own record of it; with references to items it is refused", async () => {
  const { weather } = weatherTool();
  const settings = {
    ...{ model: provider().responses(MODEL), tools: { weather }, stopWhen: stepCountIs(3), maxRetries: 0 },
  };
  const user = (content: string) => ({ role: "user" as const, content });
  const first = await generateText({ ...settings, prompt });
  const messages = [user(prompt), ...first.response.messages, user("And now?")];
  const next = await generateText({ ...settings, messages, providerOptions });
  expect(next.text).not.toBe("");
  const refused = await generateText({ ...settings, messages }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ statusCode: 400, isRetryable: false });
  expect(JSON.parse((refused as APICallError).responseBody ?? "").error).toMatchObject({
    param: "input.1",
    message: expect.stringContaining("store: false"),
  });
});

test.each(FORMS)("an object of %s matches its schema", async (model) => {
  const schema = jsonSchema<{ name: string; age: number }>({
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name", "age"],
    additionalProperties: false,
  });
  const { output } = await generateText({
    ...{ model: provider().responses(model), prompt, providerOptions, maxRetries: 0 },
    output: Output.object({ schema }),
  });
  expect(output).toEqual({ name: expect.any(String), age: expect.any(Number) });
});

test("text is completed, texts are embedded, images made, speech made and transcribed", async () => {
  const openai = provider();
  const completed = await generateText({
    ...{ model: openai.completion(SERVICES.messages.model), prompt, maxOutputTokens: 6, maxRetries: 0 },
  });
  expect(completed.text).not.toBe("");
  const { embeddings } = await embedMany({
    ...{ model: openai.embedding(SERVICES.embeddings.model), values: ["a", "b"], maxRetries: 0 },
  });
  expect(embeddings).toHaveLength(2);
  const { images } = await generateImage({
    ...{ model: openai.image(SERVICES.images.model), prompt: "a sea", size: "64x32", maxRetries: 0 },
  });
  expect(images).toHaveLength(1);
  const { audio } = await generateSpeech({
    ...{ model: openai.speech(SERVICES.voice.model), text: "The sea.", outputFormat: "wav", maxRetries: 0 },
  });
  expect(audio.uint8Array.length).toBeGreaterThan(44);
  const transcript = await transcribe({
    ...{ model: openai.transcription(SERVICES.speech.model), audio: audio.uint8Array, maxRetries: 0 },
  });
  expect(transcript.text).not.toBe("");
});

test("a failure is the SDK's own error with our code, and says whether to retry", async () => {
  const failed = await generateText({ model: provider().responses("none"), prompt, maxRetries: 0 }).catch(
    (error: unknown) => error,
  );
  expect(APICallError.isInstance(failed)).toBe(true);
  expect(failed).toMatchObject({ statusCode: 404, isRetryable: false });
  expect((failed as APICallError).responseBody).toContain("model_not_found");
});

function provider() {
  return createOpenAI({ apiKey: owner.secret, baseURL: `${stack().origin}/v1` });
}
