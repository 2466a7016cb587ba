// @module-tag large
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import {
  DONE,
  event,
  events,
  FINISH,
  good,
  openStream,
  ROLE,
  type Script,
  sendJson,
  TEXT,
} from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

const FIRST_BYTE_MS = 1_000;
const LATE_MS = 1_700;
const KEEP_ALIVE = ": keep-alive\n";
const CLAUDE = {
  id: "claude",
  supported_formats: ["openai", "anthropic"],
  pricing: { prompt: "2", completion: "3" },
};
const MODELS = [
  "whole",
  "long",
  "stalled",
  "token",
  "waiting",
  "silent",
  "moved",
  "failed",
  "quick",
] as const;

const router = await useRouter({
  models: MODELS,
  more: () => [CLAUDE],
  settings: {
    PROVIDER_FIRST_BYTE_MS: String(FIRST_BYTE_MS),
    PROVIDER_FIRST_TOKEN_MS: "1000",
    PROVIDER_SILENCE_MS: "1000",
    STREAM_KEEP_ALIVE_MS: "200",
  },
});

const ALONE = { "x-0g-provider-allow-fallbacks": "false" };
const after = (ms: number) => new Promise((done) => setTimeout(done, ms));
const calls = (model: string) => router().scripted.map((provider) => provider.callsOf(model).length);
const late =
  (script: Script): Script =>
  async (call, response, n) => {
    await after(LATE_MS);
    await script(call, response, n);
  };

function set(model: string, ...scripts: readonly Script[]): void {
  for (const [n, script] of scripts.entries()) router().scripted[n]?.scripts.set(model, script);
}

async function ask(
  body: { readonly model: string; readonly stream?: true; readonly max_tokens?: number },
  headers: Record<string, string> = {},
) {
  const reply = await router().chat(await router().seed(), { max_tokens: 5, ...body }, headers);
  return { status: reply.status, text: await reply.text() };
}

test("a whole answer of the only provider may take longer than the first byte of one among several", async () => {
  set("whole", late(good));
  const { status, text } = await ask({ model: "whole" }, ALONE);
  expect([status, text.includes(TEXT)]).toEqual([200, true]);
  expect(calls("whole")).toEqual([1, 0]);
});

test("a whole answer of many tokens has time for them before another provider is tried", async () => {
  set("long", late(good));
  const { status } = await ask({ model: "long", max_tokens: 400 });
  expect(status).toBe(200);
  expect(calls("long")).toEqual([1, 0]);
});

test("a whole answer that stalls midway fails, also where no other provider is left", async () => {
  set(
    "stalled",
    (_, response) => void response.writeHead(200, { "content-type": "application/json" }).write("{"),
  );
  const { status } = await ask({ model: "stalled" }, ALONE);
  expect(status).toBe(502);
});

test("the first token of the only provider's stream may take longer than the silence allowed after it", async () => {
  set("token", async (_, response) => {
    openStream(response).write(ROLE);
    await after(LATE_MS);
    response.end(events().slice(1).join(""));
  });
  const { text } = await ask({ model: "token", stream: true }, ALONE);
  expect(text.endsWith(DONE)).toBe(true);
  expect(calls("token")).toEqual([1, 0]);
});

test("a client waiting for the first content receives the head of the answer and comments, then all of it", async () => {
  const open = Promise.withResolvers<void>();
  set("waiting", async (call, response, n) => {
    await open.promise;
    await good(call, response, n);
  });
  const seeded = await router().seed();
  const reply = await router().chat(seeded, { model: "waiting", max_tokens: 5, stream: true }, ALONE);
  expect(reply.status).toBe(200);
  expect(reply.headers.get("content-type")).toContain("text/event-stream");
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toContain(KEEP_ALIVE);
  open.resolve();
  let text = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value;
  expect(text.endsWith(DONE)).toBe(true);
  expect(text.replaceAll(KEEP_ALIVE, "")).toMatch(/^data: /);
});

test("comments are sent while a provider is silent after its first content", async () => {
  set("silent", async (_, response) => {
    openStream(response).write(ROLE + event({ delta: { content: "a" } }));
    await after(700);
    response.end(event({ delta: { content: "b" } }) + FINISH + DONE);
  });
  const { text } = await ask({ model: "silent", stream: true });
  expect(text).toMatch(/"a".*\n\n(: keep-alive\n)+data: .*"b"/);
});

test("another provider is tried after a comment, and OpenAI's client reads one answer", async () => {
  set("moved", async (_, response) => {
    await after(500);
    sendJson(response, 500, {});
  });
  const { secret } = await router().seed();
  const client = new OpenAI({ apiKey: secret, baseURL: `${router().origin}/v1`, maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model: "moved",
    stream: true,
    messages: [{ role: "user", content: "hi" }],
  });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  expect(text).toBe(TEXT);
  expect(calls("moved")).toEqual([1, 1]);
});

const fails: Script = async (_, response) => {
  await after(500);
  sendJson(response, 400, { error: { message: "because of that", code: "content_policy_violation" } });
};

test("a failure after a comment is an event that the official clients parse as that failure", async () => {
  set("failed", fails);
  set(CLAUDE.id, fails);
  const { secret } = await router().seed();
  const { origin } = router();
  const openai = new OpenAI({ apiKey: secret, baseURL: `${origin}/v1`, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "hi" }];
  const read = async (stream: AsyncIterable<unknown>) => {
    for await (const _ of stream);
  };
  const chat = await openai.chat.completions.create({ model: "failed", stream: true, messages });
  await expect(read(chat)).rejects.toMatchObject({ code: "content_policy_violation" });
  const anthropic = new Anthropic({ apiKey: secret, baseURL: origin, maxRetries: 0 });
  const message = await anthropic.messages.create({
    model: CLAUDE.id,
    max_tokens: 5,
    stream: true,
    messages,
  });
  await expect(read(message)).rejects.toThrow(/because of that/);
});

test("an immediate refusal keeps its status", async () => {
  set("quick", (_, response) => sendJson(response, 400, { error: { message: "no" } }));
  expect(await ask({ model: "quick", stream: true })).toMatchObject({ status: 400 });
});

test("in the end the ledger is consistent and no hold is open", async () => {
  const ledger = new LedgerService(router().app.database);
  await until(async () => (await ledger.verify()).openHolds === 0);
  expect(await ledger.verify()).toMatchObject({ faults: [], openHolds: 0 });
});
