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

const router = await useRouter({ models: ["chat"], count: 1 });
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
