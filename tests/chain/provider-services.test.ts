import { inflateSync } from "node:zlib";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAppSecret } from "../../src/chain/direct/app-secret.ts";
import { DEMO_USER, PROVIDER, ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { sizeOfPng } from "../../src/devnet/provider/endpoints/image.ts";
import { type StandInProvider, startProvider } from "../../src/devnet/provider/provider.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import type { ServiceType } from "../../src/inference/providers/provider.ts";
import { toWav } from "../support/inference/wav.ts";

const MESSAGES = [{ role: "user", content: "Say something." }];
const providers = new Map<ServiceType, StandInProvider>();
let bearer: string;

beforeAll(async () => {
  const { address } = PROVIDER;
  for (const serviceType of ["chatbot", "text-to-image", "image-editing", "speech-to-text"] as const)
    providers.set(
      serviceType,
      await startProvider({ address, model: "m", serviceType, countTokens: countPromptTokens }),
    );
  bearer = await secretOf(ROUTER_WALLET.privateKey);
});
afterAll(async () => {
  for (const provider of providers.values()) await provider.stop();
});

test("a message in Anthropic's format, plain, streamed and counted, has one text", async () => {
  const fields = { model: "m", max_tokens: 5, system: "Be brief.", messages: MESSAGES };
  const message = await json(await post("chatbot", "/v1/proxy/messages", fields));
  const { input_tokens } = await json(await post("chatbot", "/v1/proxy/messages/count_tokens", fields));
  expect(message).toMatchObject({
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: expect.any(String) }],
    stop_reason: "max_tokens",
    usage: { input_tokens, output_tokens: 5 },
  });
  const streamed = await (await post("chatbot", "/v1/proxy/messages", { ...fields, stream: true })).text();
  const names = [...streamed.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  expect(names.filter((name) => name !== "content_block_delta")).toEqual([
    "message_start",
    "content_block_start",
    "ping",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
  const texts = [...streamed.matchAll(/"text_delta","text":"(.*?)"/g)].map(([, text]) => text);
  expect(texts.join("")).toBe(message.content[0].text);
});

test("an offered tool is called with arguments of its schema, in both formats, until its result is there", async () => {
  const parameters = { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } };
  const tools = [{ type: "function", function: { name: "weather", parameters } }];
  const chat = { model: "m", messages: MESSAGES, tools };
  const { choices } = await json(await post("chatbot", "/v1/proxy/chat/completions", chat));
  const [call] = choices[0].message.tool_calls;
  expect([choices[0].finish_reason, call.function.name]).toEqual(["tool_calls", "weather"]);
  expect(JSON.parse(call.function.arguments)).toEqual({ city: expect.any(String), days: 7 });

  const answered = {
    ...chat,
    messages: [...MESSAGES, { role: "tool", tool_call_id: call.id, content: "sun" }],
  };
  const text = await json(await post("chatbot", "/v1/proxy/chat/completions", answered));
  expect(text.choices[0].message.content).toEqual(expect.any(String));

  const messages = { model: "m", max_tokens: 50, messages: MESSAGES };
  const used = await json(
    await post("chatbot", "/v1/proxy/messages", {
      ...messages,
      tools: [{ name: "weather", input_schema: parameters }],
    }),
  );
  expect(used).toMatchObject({ stop_reason: "tool_use", content: [{ type: "tool_use", name: "weather" }] });
  const toolset = { ...messages, tools: [{ type: "browser_toolset_20260801" }] };
  expect(await json(await post("chatbot", "/v1/proxy/messages", toolset))).toMatchObject({
    stop_reason: "max_tokens",
    content: [{ type: "text" }],
  });
});

test("images are real PNGs of the requested size, the same for the same prompt", async () => {
  const ask = { model: "m", prompt: "a sea", n: 2, size: "64x32" };
  const { data } = await json(await post("text-to-image", "/v1/proxy/images/generations", ask));
  const [first, second] = data.map((image: { b64_json: string }) => Buffer.from(image.b64_json, "base64"));
  expect(sizeOfPng(first)).toEqual({ width: 64, height: 32 });
  const at = first.indexOf("IDAT");
  expect(inflateSync(first.subarray(at + 4, at + 4 + first.readUInt32BE(at - 4)))).toHaveLength(65 * 32);
  expect(second.equals(first)).toBe(false);

  const form = new FormData();
  form.set("model", "m");
  form.set("prompt", "with a tree");
  form.set("image", new Blob([first]), "sea.png");
  const edited = await json(await post("image-editing", "/v1/proxy/images/edits", form));
  expect(sizeOfPng(Buffer.from(edited.data[0].b64_json, "base64"))).toEqual({ width: 64, height: 32 });
});

test.each([
  ["json", /^{"text":"[a-z ]+","usage":{"type":"duration","seconds":9}}$/],
  ["text", /^[a-z ]+\n$/],
  ["srt", /^1\n00:00:00,000 --> 00:00:03,000\n[a-z ]+\n/],
  ["verbose_json", /"duration":9,.*"segments":\[/],
  ["vtt", /^WEBVTT\n\n00:00:00.000 --> /],
])("a transcription as %s", async (format, shape) => {
  const form = new FormData();
  form.set("model", "m");
  form.set("response_format", format);
  form.set("file", new Blob([toWav(8.5)]), "speech.wav");
  const answer = await post("speech-to-text", "/v1/proxy/audio/transcriptions", form);
  expect(await answer.text()).toMatch(shape);
});

test("a job is pending, then processing, then has its image, and only its owner can read it", async () => {
  const provider = providers.get("text-to-image") as StandInProvider;
  const jobs = { pendingMs: 600_000, processingMs: 600_000, retryAfterSeconds: 3 };
  provider.behaviour = { jobs };
  const submitted = await post("text-to-image", "/v1/async/images/generations", { model: "m", prompt: "x" });
  expect([submitted.status, submitted.headers.get("retry-after")]).toEqual([202, "3"]);
  const { jobId } = await json(submitted);
  const poll = (token = bearer) =>
    fetch(`${provider.url}/v1/async/jobs/${jobId}`, { headers: { authorization: `Bearer ${token}` } });
  expect((await json(await poll())).status).toBe("pending");
  jobs.pendingMs = 0;
  expect((await json(await poll())).status).toBe("processing");
  jobs.processingMs = 0;
  expect(await json(await poll())).toMatchObject({
    status: "completed",
    data: { data: [{ b64_json: expect.any(String) }] },
  });
  expect((await poll(await secretOf(DEMO_USER.privateKey))).status).toBe(403);

  provider.behaviour = { jobs: { processingMs: 0, failure: "no paint" } };
  const failed = await json(
    await post("text-to-image", "/v1/async/images/generations", { model: "m", prompt: "x" }),
  );
  const headers = { authorization: `Bearer ${bearer}` };
  const jobStatus = await json(await fetch(`${provider.url}/v1/async/jobs/${failed.jobId}`, { headers }));
  expect(jobStatus).toMatchObject({ status: "failed", errorMessage: "no paint" });
  provider.behaviour = { jobs: { lost: true } };
  expect((await poll()).status).toBe(404);
});

test("a provider answers for its service type, and refuses a malformed request with a message", async () => {
  expect((await post("text-to-image", "/v1/proxy/chat/completions", {})).status).toBe(404);
  expect(await json(await post("text-to-image", "/v1/proxy/images/generations", { model: "m" }))).toEqual({
    error: "Provider: not an image request",
  });
  expect(await json(await post("speech-to-text", "/v1/proxy/audio/transcriptions", {}))).toEqual({
    error: "Provider: not a transcription request",
  });
});

async function secretOf(privateKey: `0x${string}`): Promise<string> {
  return createAppSecret({
    account: privateKeyToAccount(privateKey),
    provider: PROVIDER.address,
    generation: 0,
    timestamp: Date.now(),
    expiresAt: Date.now() + 3_600_000,
    nonce: crypto.randomUUID(),
  });
}

function post(serviceType: ServiceType, path: string, body: FormData | object): Promise<Response> {
  const isForm = body instanceof FormData;
  return fetch(`${providers.get(serviceType)?.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, ...(!isForm && { "content-type": "application/json" }) },
    body: isForm ? body : JSON.stringify(body),
  });
}

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes, each compared in its test
async function json(answer: Response): Promise<any> {
  return answer.json();
}
