// @module-tag large
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ask } from "../../support/clients/graph-client.ts";
import { rest } from "../../support/clients/rest-client.ts";
import { nativeEvents, nativeResponse } from "../../support/inference/native-responses.ts";
import {
  completion,
  DONE,
  event,
  openStream,
  ROLE,
  sendJson,
  USAGE,
  USAGE_CHUNK,
} from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

const MODEL = "reasoned";
const pricing = { prompt: "2", completion: "3" };
const router = await useRouter({
  models: [MODEL],
  count: 1,
  more: () => [
    { id: "claude", supported_formats: ["anthropic"], pricing },
    { id: "text", supported_formats: ["completions"], pricing },
    { id: "own", supported_formats: ["responses"], pricing },
  ],
});

const CHAT = { model: MODEL, messages: [{ role: "user", content: "What is the sea?" }] };

/** Answers all models with this reason of each choice, in the order of their ends, whole or streamed. */
function answerWith(...reasons: readonly unknown[]): void {
  const scripts = router().scripted[0]?.scripts;
  scripts?.set(MODEL, ({ body }, response) => {
    const message = { role: "assistant", content: "wide" };
    const choices = reasons.map((finish_reason, n) => ({
      ...{ index: reasons.length - 1 - n, message, finish_reason },
    }));
    if (!body.stream) return sendJson(response, 200, completion({ choices }));
    const ends = choices.map(({ index, finish_reason }) => event({ index, delta: {}, finish_reason }));
    const words = choices.map(({ index }) => event({ index, delta: { content: "wide" } }));
    openStream(response).end([ROLE, ...words, ...ends, USAGE_CHUNK, DONE].join(""));
  });
  scripts?.set("text", (_, response) => {
    const choices = [{ index: 0, text: "wide", finish_reason: reasons[0] }];
    sendJson(response, 200, completion({ object: "text_completion", choices }));
  });
  scripts?.set("claude", ({ body }, response) => {
    const usage = { input_tokens: 9, output_tokens: 8 };
    const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", usage };
    const content = [{ type: "text", text: "wide" }];
    if (!body.stream) return sendJson(response, 200, { ...message, content, stop_reason: reasons[0] });
    const send = (type: string, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
    openStream(response).end(
      send("message_start", { message: { ...message, content: [], stop_reason: null } }) +
        send("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
        send("content_block_delta", { index: 0, delta: { type: "text_delta", text: "wide" } }) +
        send("content_block_stop", { index: 0 }) +
        send("message_delta", { delta: { stop_reason: reasons[0] }, usage }) +
        send("message_stop", {}),
    );
  });
}

async function post({ secret }: Seeded, path: string, body: object): Promise<void> {
  const reply = await fetch(`${router().origin}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify(body),
  });
  expect(reply.status, await reply.text()).toBe(200);
}

/** What REST and the graph show of the newest request: its streaming, its reason, and the provider's word for it. */
async function shownOf(seeded: Seeded) {
  const { app, origin } = router();
  const { rows } = await app.requests.list(seeded.account, { first: 1 });
  const id = rows[0]?.id ?? "";
  const { body } = await rest<{ data: Record<string, unknown> }>(
    ...([origin, `/v1/generation?id=${id}`, seeded.secret] as const),
  );
  const { secret } = await app.managementKeys.create(seeded.account, `reader-${crypto.randomUUID()}`, [
    "account:read",
  ]);
  const { data } = await ask(
    ...([origin, secret, `{ request(id: "${id}") { streamed finishReason nativeFinishReason } }`] as const),
  );
  const { streamed, finish_reason: reason, native_finish_reason: native } = body.data;
  const named = typeof reason === "string" ? reason.toUpperCase() : reason;
  expect(data.request).toEqual({ streamed, finishReason: named, nativeFinishReason: native });
  return [streamed, reason, native];
}

test.each<[string, string, object, string]>([
  ["a chat", "chat/completions", CHAT, "tool_calls"],
  ["a text completion", "completions", { model: "text", prompt: "The sea is" }, "length"],
  ["a response", "responses", { model: MODEL, input: "hi" }, "length"],
])("%s shows the reason of its provider, whole and streamed", async (_what, path, body, reason) => {
  const seeded = await router().seed();
  answerWith(reason);
  await post(seeded, path, body);
  expect(await shownOf(seeded)).toEqual([false, reason, reason]);
  if (path === "completions") return;
  await post(seeded, path, { ...body, stream: true });
  expect(await shownOf(seeded)).toEqual([true, reason, reason]);
});

test.each([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
  ["something_new", null],
])("a message that ended by %s is named %s", async (native, reason) => {
  const seeded = await router().seed();
  answerWith(native);
  const message = { ...CHAT, model: "claude", max_tokens: 10 };
  await post(seeded, "messages", message);
  expect(await shownOf(seeded)).toEqual([false, reason, native]);
  await post(seeded, "messages", { ...message, stream: true });
  expect(await shownOf(seeded)).toEqual([true, reason, native]);
});

const CALL = {
  id: "fc_1",
  type: "function_call",
  call_id: "c",
  name: "f",
  arguments: "{}",
  status: "completed",
};

test.each([
  ["completed", "stop", {}],
  ["tool_calls", "tool_calls", { output: [CALL] }],
  [
    "max_output_tokens",
    "length",
    { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  ],
  [
    "content_filter",
    "content_filter",
    { status: "incomplete", incomplete_details: { reason: "content_filter" } },
  ],
  ["incomplete", null, { status: "incomplete" }],
])("a provider's own response that ended by %s is named %s", async (native, reason, fields) => {
  const seeded = await router().seed();
  router().scripted[0]?.scripts.set("own", ({ body }, response) => {
    if (!body.stream) return sendJson(response, 200, nativeResponse(fields));
    openStream(response).end(nativeEvents(fields).join(""));
  });
  await post(seeded, "responses", { model: "own", input: "hi" });
  expect(await shownOf(seeded)).toEqual([false, reason, native]);
  await post(seeded, "responses", { model: "own", input: "hi", stream: true });
  expect(await shownOf(seeded)).toEqual([true, reason, native]);
});

test.each([false, true])("of several choices it is that of the first (streamed: %s)", async (stream) => {
  const seeded = await router().seed();
  answerWith("length", "stop");
  await post(seeded, "chat/completions", { ...CHAT, n: 2, stream });
  expect(await shownOf(seeded)).toEqual([stream, "stop", "stop"]);
});

test.each([
  ["too long", "x".repeat(65)],
  ["not storable", "stop\u0000"],
  ["half of a pair", "stop\ud800"],
])("a reason that is %s is left out, and the answer is billed", async (_what, reason) => {
  const seeded = await router().seed();
  answerWith(reason);
  for (const stream of [false, true]) {
    await post(seeded, "chat/completions", { ...CHAT, stream });
    expect(await shownOf(seeded)).toEqual([stream, null, null]);
  }
  const [row] = await router().app.database.rows<{ cost: string }>(
    "select sum(total_cost)::text as cost from inference_request where account = $1",
    [seeded.account],
  );
  expect(row?.cost).toBe(String(2 * (USAGE.prompt_tokens * 2 + USAGE.completion_tokens * 3)));
});

test("a request that failed, or whose client left, has none, and one that runs is neither", async () => {
  const seeded = await router().seed();
  const { app, chat, scripted } = router();
  scripted[0]?.scripts.set(MODEL, (_, response) => sendJson(response, 400, { error: { message: "no" } }));
  expect((await chat(seeded, { ...CHAT, stream: true })).status).toBe(400);
  expect(await shownOf(seeded)).toEqual([true, null, null]);
  // It never falls silent, until its client leaves.
  scripted[0]?.scripts.set(MODEL, async (_, response) => {
    openStream(response).write(ROLE);
    for (; !response.destroyed; await sleep(100)) response.write(event({ delta: { content: "wide" } }));
  });
  const reply = await chat(seeded, { ...CHAT, stream: true });
  await until(
    async () => (await app.requests.list(seeded.account, { first: 1 })).rows[0]?.status === "running",
  );
  expect(await shownOf(seeded)).toEqual([null, null, null]);
  await reply.body?.cancel();
  await until(
    async () => (await app.requests.list(seeded.account, { first: 1 })).rows[0]?.status === "aborted",
  );
  expect(await shownOf(seeded)).toEqual([true, null, null]);
});
