import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { ask } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import {
  completion,
  DONE,
  event,
  openStream,
  type Script,
  sendJson,
} from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";

const CLAUDE = {
  ...{ id: "claude", supported_formats: ["anthropic"] },
  pricing: { prompt: "2", completion: "3" },
};
const pricing = { prompt: "2", completion: "3" };
const OLDER = { id: "older", supported_parameters: ["temperature", "max_tokens"], pricing };
const NEWER = { id: "newer", supported_parameters: ["max_tokens", "max_completion_tokens"], pricing };
const router = await useRouter({ models: ["chat"], count: 1, more: () => [CLAUDE, OLDER, NEWER] });
const set = (script: Script) => router().scripted[0]?.scripts.set("chat", script);

type Billed = { readonly usage: object; readonly x_0g_trace: { readonly billing: object } };

test.each([
  { max_tokens: 50, max_completion_tokens: 1 },
  { max_tokens: 1, max_completion_tokens: 50 },
])("an answer within the greater of two limits is charged as its provider counts it: %j", async (limits) => {
  const usage = { prompt_tokens: 9, completion_tokens: 40, total_tokens: 49 };
  set((_, response) => sendJson(response, 200, completion({ usage })));
  const reply = await router().chat(await router().seed(), { model: "chat", ...limits });
  const body = (await reply.json()) as Billed;
  expect(body.usage).toMatchObject(usage);
  expect(body.x_0g_trace.billing).toMatchObject({ input_cost: "18", output_cost: "120" });
});

test.each([
  ["older", { max_completion_tokens: 5 }, { max_tokens: 5 }],
  ["older", { max_tokens: 4, max_completion_tokens: 5 }, { max_tokens: 4, max_completion_tokens: 5 }],
  ["newer", { max_completion_tokens: 5 }, { max_completion_tokens: 5 }],
  ["chat", { max_completion_tokens: 5 }, { max_completion_tokens: 5 }],
])("a limit is sent under a name that the provider lists: %s, %j", async (model, limits, sent) => {
  const reply = await router().chat(await router().seed(), { model, max_tokens: undefined, ...limits });
  expect(reply.status).toBe(200);
  const body = router().scripted[0]?.callsOf(model).at(-1)?.body;
  const isLimit = ([name]: readonly [string, unknown]) => /^max_/.test(name);
  expect(Object.fromEntries(Object.entries(body ?? {}).filter(isLimit))).toEqual(sent);
});

describe("a call in OpenAI's legacy form", () => {
  const parts = [{ name: "look", arguments: '{"at":' }, { arguments: '"sea"}' }];
  const called = { name: "look", arguments: '{"at":"sea"}' };

  test("is a tool call in the graph", async () => {
    const message = { role: "assistant", content: null, function_call: called };
    const choices = [{ index: 0, message, finish_reason: "function_call" }];
    set((_, response) => sendJson(response, 200, completion({ choices })));
    const text = `mutation ($options: JSON!) { completeChat(input: {
      model: "chat", messages: [{ role: "user", content: "Look." }], options: $options
    }) { userErrors { message } completion { choices { text toolCalls finishReason } } } }`;
    const options = { functions: [{ name: "look", parameters: { type: "object" } }] };
    const { data } = await ask(router().origin, (await router().seed()).secret, text, { options });
    expect(data.completeChat).toEqual({
      userErrors: [],
      completion: {
        choices: [
          {
            ...{ text: null, finishReason: "function_call" },
            toolCalls: [{ index: 0, type: "function", function: called }],
          },
        ],
      },
    });
  });

  test("stays as it is over REST", async () => {
    set((_, response) => {
      const deltas = parts.map((function_call) => event({ delta: { function_call } }));
      openStream(response).end(
        [...deltas, event({ delta: {}, finish_reason: "function_call" }), DONE].join(""),
      );
    });
    const reply = await router().chat(await router().seed(), { model: "chat", stream: true });
    const text = await reply.text();
    for (const part of parts) expect(text).toContain(JSON.stringify({ function_call: part }));
  });
});

test.each([
  ["length", "max_output_tokens"],
  ["max_tokens", "max_output_tokens"],
  ["model_length", "max_output_tokens"],
  ["content_filter", "content_filter"],
])("a response whose chat ended with %s is incomplete", async (reason, expected) => {
  const { origin, seed } = router();
  const { secret } = await seed();
  const body = { model: "chat", input: "What is the sea?" };
  const content = "The sea";
  const message = { role: "assistant", content };
  set((_, response) =>
    sendJson(response, 200, completion({ choices: [{ index: 0, message, finish_reason: reason }] })),
  );
  const whole = await rest<object>(origin, "/v1/responses", secret, { body });
  const details = { incomplete_details: { reason: expected } };
  expect(whole.body).toMatchObject({ status: "incomplete", ...details });
  set((_, response) => {
    const end = event({ delta: {}, finish_reason: reason });
    openStream(response).end([event({ delta: { content } }), end, DONE].join(""));
  });
  const reply = await fetch(`${origin}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ ...body, stream: true }),
  });
  const [, last = "{}"] = /^event: response\.incomplete\ndata: (.*)$/m.exec(await reply.text()) ?? [];
  expect(JSON.parse(last)).toMatchObject({ response: details });
});

test.each([
  ["options.modalities", { modalities: ["text", "audio"], audio: { voice: "alloy", format: "mp3" } }],
  ["options.audio", { audio: { voice: "alloy", format: "mp3" } }],
  ["options.modalities", { modalities: ["image", "text"] }],
  ["options.logprobs", { logprobs: true }],
  ["options.top_logprobs", { top_logprobs: 2 }],
])("what the graph has no field for is refused there: %s", async (field, options) => {
  set((_, response) => sendJson(response, 200, completion()));
  const text = `mutation ($options: JSON!) { completeChat(input: {
    model: "chat", messages: [{ role: "user", content: "Sing." }], options: $options
  }) { userErrors { message } completion { bill { requestId } } } }`;
  const { data } = await ask(router().origin, (await router().seed()).secret, text, { options });
  expect(data.completeChat).toMatchObject({
    userErrors: [{ message: expect.stringContaining(field) }],
    completion: null,
  });
});

test("more answers than are returned are refused: some servers make them, and would bill them", async () => {
  set((_, response) => sendJson(response, 200, completion()));
  const { origin, seed } = router();
  const { secret } = await seed();
  const chat = (fields: object) =>
    rest<{ readonly error: object }>(origin, "/v1/chat/completions", secret, {
      body: { model: "chat", messages: [{ role: "user", content: "Sing." }], ...fields },
    });
  for (const best_of of [2, "2"])
    expect(await chat({ best_of })).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_body", param: "best_of" } },
    });
  for (const best_of of [1, null]) expect((await chat({ best_of })).status).toBe(200);
});

/** Streams these events as the message of a provider. */
async function streamedMessage(events: readonly object[]): Promise<string> {
  router().scripted[0]?.scripts.set("claude", (_, response) => {
    const texts = events.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`);
    openStream(response).end(texts.join(""));
  });
  const { secret } = await router().seed();
  const reply = await fetch(`${router().origin}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({
      ...{ model: "claude", stream: true, max_tokens: 50 },
      messages: [{ role: "user", content: "What is the sea?" }],
    }),
  });
  return reply.text();
}

const START = { type: "message_start", message: { type: "message", usage: { input_tokens: 9 } } };
const WORD = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "wide" } };
const STOP = { type: "message_stop" };
const end = (usage: object) => ({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage });

test("usage that a provider of messages reports after the stop reason is shown with it, as it is charged", async () => {
  const late = { type: "message_delta", delta: {}, usage: { output_tokens: 5 } };
  const text = await streamedMessage([START, WORD, end({ output_tokens: 1 }), late, STOP]);
  const deltas = [...text.matchAll(/^data: (\{.*"message_delta".*\})$/gm)].map(([, data]) =>
    JSON.parse(data ?? ""),
  );
  expect(deltas).toMatchObject([{ delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }]);
  expect(text).toContain('"output_cost":"15"');
});

test("every header with beta features of Anthropic's format reaches the provider", async () => {
  const { secret } = await router().seed();
  const outgoing = httpRequest(`${router().origin}/v1/messages`, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", authorization: `Bearer ${secret}` },
      "anthropic-beta": ["tools-2024", "thoughts-2025,files-2025"],
    },
  });
  outgoing.end(
    JSON.stringify({
      ...{ model: "claude", max_tokens: 5 },
      messages: [{ role: "user", content: "What is the sea?" }],
    }),
  );
  const [incoming] = await once(outgoing, "response");
  incoming.resume();
  await once(incoming, "end");
  const sent = router().scripted[0]?.callsOf("claude").at(-1)?.headers["anthropic-beta"];
  expect(sent).toBe("tools-2024,thoughts-2025,files-2025");
});
