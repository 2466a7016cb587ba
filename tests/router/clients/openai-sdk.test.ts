import OpenAI, { toFile } from "openai";
import { beforeEach, describe, expect, test } from "vitest";
import { PROVIDER } from "../../../src/devnet/chain/accounts.ts";
import { drawImage, sizeOfPng } from "../../../src/devnet/provider/endpoints/image.ts";
import { countPromptTokens } from "../../../src/inference/billing/tokens.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { whileUnacknowledged } from "../../support/chain/acknowledgement.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../../support/chain/network.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { toWav } from "../../support/inference/wav.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();
const services = useServices(stack, ["images", "edits", "speech"]);
const messages = [{ role: "user" as const, content: "Say something." }];
const PROMPT = countPromptTokens(messages);
const START = 1_000_000n;

let owner: Seeded;
let client: OpenAI;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  client = clientOf(owner.secret);
  stack().provider.behaviour = {};
  for (const provider of Object.values(services())) provider.behaviour = {};
});

describe("chat", () => {
  test("plain, with its usage, is charged exactly", async () => {
    const chat = await client.chat.completions.create({ model: MODEL, messages, max_tokens: 6 });
    expect(chat.choices[0]?.message.content?.split(" ")).toHaveLength(6);
    expect(chat.choices[0]?.finish_reason).toBe("length");
    expect(chat.usage).toMatchObject({
      prompt_tokens: PROMPT,
      completion_tokens: 6,
      total_tokens: PROMPT + 6,
    });
    expect(chat._request_id).toMatch(/^req-/);
    await requireAvailable(stack().app, owner, {
      available: START - BigInt(PROMPT) * INPUT_PRICE - 6n * OUTPUT_PRICE,
    });
  });

  test.each([
    ["on", { stream_options: { include_usage: true } }, 1],
    ["off", {}, 0],
  ])("streamed with include_usage %s", async (_what, options, usages) => {
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages,
      max_tokens: 6,
      stream: true,
      ...options,
    });
    const chunks = await Array.fromAsync(stream);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    expect(text.split(" ")).toHaveLength(6);
    expect(chunks.filter(({ usage }) => usage)).toHaveLength(usages);
    expect(chunks.filter(({ choices }) => choices.length === 0)).toHaveLength(usages);
    await requireAvailable(stack().app, owner, {
      available: START - BigInt(PROMPT) * INPUT_PRICE - 6n * OUTPUT_PRICE,
    });
  });

  test("the stream helper collects the same text and the usage", async () => {
    const plain = await client.chat.completions.create({ model: MODEL, messages, max_tokens: 6 });
    const stream = client.chat.completions.stream({
      model: MODEL,
      messages,
      max_tokens: 6,
      stream_options: { include_usage: true },
    });
    expect(await stream.finalContent()).toBe(plain.choices[0]?.message.content);
    expect(await stream.totalUsage()).toMatchObject({ prompt_tokens: PROMPT, completion_tokens: 6 });
  });

  test("tools are called, plain and streamed, and their results are accepted", async () => {
    const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const tools = [{ type: "function" as const, function: { name: "weather", parameters } }];
    const chat = await client.chat.completions.create({ model: MODEL, messages, tools });
    const [call] = chat.choices[0]?.message.tool_calls ?? [];
    if (call?.type !== "function") throw new Error("no tool was called");
    expect(JSON.parse(call.function.arguments)).toEqual({ city: expect.any(String) });

    const streamed = await client.chat.completions
      .stream({ model: MODEL, messages, tools })
      .finalChatCompletion();
    expect(streamed.choices[0]?.finish_reason).toBe("tool_calls");
    expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: "weather", arguments: call.function.arguments },
    });

    const result = { role: "tool" as const, tool_call_id: call.id, content: "sun" };
    const asked = chat.choices[0]?.message;
    const answered = await client.chat.completions.create({
      model: MODEL,
      messages: [...messages, ...(asked ? [asked] : []), result],
      tools,
    });
    expect(answered.choices[0]?.message.content).toEqual(expect.any(String));
  });

  test("a structured answer is parsed", async () => {
    const step = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const steps = { type: "array", items: { $ref: "#/$defs/Step" }, minItems: 1 };
    const schema = { $defs: { Step: step }, type: "object", properties: { steps }, required: ["steps"] };
    const chat = await client.chat.completions.create({
      model: MODEL,
      messages,
      response_format: { type: "json_schema", json_schema: { name: "it", schema } },
    });
    const answer = { steps: [{ name: expect.any(String) }] };
    expect(JSON.parse(chat.choices[0]?.message.content ?? "")).toEqual(answer);
    const response = await client.responses.create({
      ...{ model: MODEL, input: "Say something." },
      text: { format: { type: "json_schema", name: "it", schema } },
    });
    expect(JSON.parse(response.output_text)).toEqual(answer);
  });

  test("a broken stream throws, after the content that preceded it", async () => {
    stack().provider.behaviour = { breakAfterEvents: 5, chunkDelayMs: 5 };
    const stream = await client.chat.completions.create({ model: MODEL, messages, stream: true });
    const seen: string[] = [];
    await expect(async () => {
      for await (const { choices } of stream) seen.push(choices[0]?.delta.content ?? "");
    }).rejects.toThrow(OpenAI.APIError);
    expect(seen.join("")).not.toBe("");
  });

  test("aborting disconnects the provider at once and charges only delivered content", async () => {
    stack().provider.behaviour = { chunkDelayMs: 50 };
    const { aborted } = stack().provider;
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages,
      max_tokens: 60,
      stream: true,
    });
    for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    stream.controller.abort();
    await until(async () => expect(stack().provider.aborted).toBe(aborted + 1), 2_000);
    await until(async () => {
      const balance = await balanceAtRest(stack().app, owner.account);
      expect(balance?.held).toBe(0n);
      expect(balance?.available).toBeGreaterThan(START - BigInt(PROMPT) * INPUT_PRICE - 60n * OUTPUT_PRICE);
    });
    const waiting = new AbortController();
    stack().provider.behaviour = { delayMs: 60_000 };
    const plain = client.chat.completions.create({ model: MODEL, messages }, { signal: waiting.signal });
    setTimeout(() => waiting.abort(), 50);
    await expect(plain).rejects.toThrow(OpenAI.APIUserAbortError);
  });
});

describe("images and audio", () => {
  test("images are generated", async () => {
    const images = await client.images.generate({
      model: SERVICES.images.model,
      prompt: "a sea",
      n: 2,
      size: "256x256",
    });
    const bytes = images.data?.map(({ b64_json }) => Buffer.from(b64_json ?? "", "base64")) ?? [];
    expect(bytes.map(sizeOfPng)).toEqual([
      { width: 256, height: 256 },
      { width: 256, height: 256 },
    ]);
    await requireAvailable(stack().app, owner, { available: START - 2n * SERVICES.images.outputPrice });
  });

  test("images are edited, one or several at once", async () => {
    const png = drawImage("x", { width: 8, height: 4 });
    const image = () => toFile(png, "image.png", { type: "image/png" });
    const { model } = SERVICES.edits;
    const one = await client.images.edit({ model, prompt: "a tree", image: await image() });
    expect(sizeOfPng(Buffer.from(one.data?.[0]?.b64_json ?? "", "base64"))).toEqual({ width: 8, height: 4 });
    const two = await client.images.edit({ model, prompt: "a tree", image: [await image(), await image()] });
    expect(two.data).toHaveLength(1);
  });

  test("response_format url is refused with the name of the field", async () => {
    const asked = client.images.generate({
      model: SERVICES.images.model,
      prompt: "x",
      response_format: "url",
    });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      code: "invalid_body",
      param: "response_format",
    });
  });

  test("audio is transcribed in every format", async () => {
    const { model } = SERVICES.speech;
    const file = await toFile(toWav(5), "speech.wav");
    const plain = await client.audio.transcriptions.create({ model, file });
    expect(plain.text).toMatch(/^[a-z ]+$/);
    const verbose = await client.audio.transcriptions.create({
      model,
      file,
      response_format: "verbose_json",
    });
    expect([verbose.duration, verbose.language, verbose.text]).toEqual([5, "en", plain.text]);
    const { id, seek, start, end, tokens, ...figures } = verbose.segments?.[1] ?? {};
    expect([id, seek, start, end, tokens?.length]).toEqual([1, 0, 2.5, 5, 6]);
    expect(figures).toEqual({
      text: expect.any(String),
      temperature: expect.any(Number),
      avg_logprob: expect.any(Number),
      compression_ratio: expect.any(Number),
      no_speech_prob: expect.any(Number),
    });
    const text = await client.audio.transcriptions.create({ model, file, response_format: "text" });
    expect(String(text).trim()).toBe(plain.text);
    for (const response_format of ["srt", "vtt"] as const)
      expect(await client.audio.transcriptions.create({ model, file, response_format })).toContain("-->");
    await requireAvailable(stack().app, owner, { available: START - 25n * SERVICES.speech.outputPrice });
  });
});

test("models are listed and retrieved, also with an invalid key", async () => {
  const stranger = clientOf("sk-none");
  const ids = (await Array.fromAsync(stranger.models.list())).map(({ id }) => id);
  expect(ids).toContain(MODEL);
  expect(ids).toContain(SERVICES.speech.model);
  expect(await stranger.models.retrieve(MODEL)).toMatchObject({ id: MODEL, object: "model" });
  await expect(stranger.models.retrieve("none")).rejects.toThrow(OpenAI.NotFoundError);
});

describe("failures are the client's own error classes", () => {
  const ask = (by: OpenAI = client, fields: object = {}) =>
    by.chat.completions.create({ model: MODEL, messages, ...fields });

  test.each([
    ["a wrong key", () => ask(clientOf("sk-wrong")), OpenAI.AuthenticationError, "invalid_api_key"],
    ["an unknown model", () => ask(client, { model: "none" }), OpenAI.NotFoundError, "model_not_found"],
    [
      "a body that is not a chat",
      () => ask(client, { messages: [] }),
      OpenAI.BadRequestError,
      "invalid_body",
    ],
    [
      "insufficient balance",
      () => ask(client, { max_tokens: 2_000_000 }),
      OpenAI.APIError,
      "insufficient_balance",
    ],
  ])("%s", async (_what, call, type, code) => {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ code, requestID: expect.stringMatching(/^req-/) });
  });

  test("a management key", async () => {
    const { secret } = await stack().app.managementKeys.create(owner.account, "m", ["account:read"]);
    await expect(ask(clientOf(secret))).rejects.toThrow(OpenAI.PermissionDeniedError);
  });

  test("a revoked key", async () => {
    await stack().app.apiKeys.revoke(owner.account, owner.keyId);
    await expect(ask()).rejects.toMatchObject({ status: 401, code: "api_key_revoked" });
  });

  test("the provider's own reason", async () => {
    const error = { message: "too long", code: "context_length_exceeded" };
    stack().provider.behaviour = {
      instead: { status: 400, contentType: "application/json", body: JSON.stringify({ error }) },
    };
    await expect(ask()).rejects.toMatchObject({ status: 400, code: "context_length_exceeded" });
  });

  test("an idempotency key that was used for another request", async () => {
    const options = { headers: { "Idempotency-Key": "one" } };
    const first = await client.chat.completions.create({ model: MODEL, messages }, options);
    const second = await client.chat.completions.create({ model: MODEL, messages }, options);
    expect(second).toEqual(first);
    await expect(client.chat.completions.create({ model: MODEL, messages, n: 2 }, options)).rejects.toThrow(
      OpenAI.UnprocessableEntityError,
    );
  });
});

describe("retries follow the router's answer", () => {
  test("the client retries a failed provider, as nothing was charged", async () => {
    stack().provider.behaviour = { instead: { status: 500, contentType: "text/plain", body: "x" } };
    let calls = 0;
    const counting = clientOf(owner.secret, { maxRetries: 1, onCall: () => calls++ });
    await expect(counting.chat.completions.create({ model: MODEL, messages })).rejects.toThrow(
      OpenAI.InternalServerError,
    );
    expect(calls).toBe(2);
    await requireAvailable(stack().app, owner, { available: START });
  });

  test("the client retries while no provider is available", async () => {
    let calls = 0;
    const counting = clientOf(owner.secret, { maxRetries: 1, onCall: () => calls++ });
    await whileUnacknowledged(stack(), PROVIDER.address, () =>
      expect(counting.chat.completions.create({ model: MODEL, messages })).rejects.toMatchObject({
        status: 503,
        code: "no_available_provider",
      }),
    );
    expect(calls).toBe(2);
  });
});

function clientOf(
  apiKey: string,
  { maxRetries = 0, onCall }: { maxRetries?: number; onCall?: () => void } = {},
): OpenAI {
  return new OpenAI({
    apiKey,
    baseURL: `${stack().origin}/v1`,
    maxRetries,
    fetch: (...request) => {
      onCall?.();
      return fetch(...request);
    },
  });
}
