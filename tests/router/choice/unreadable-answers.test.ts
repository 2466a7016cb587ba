// @module-tag medium
import { beforeEach, describe, expect, test } from "vitest";
import { rest } from "../../support/clients/rest-client.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import {
  completion,
  good,
  openStream,
  type Script,
  sendJson,
} from "../../support/inference/scripted-provider.ts";
import { toWav } from "../../support/inference/wav.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";

const START = 10_000_000n;
const price = (n: number) => {
  const { prompt, completion: output } = PRICES[n] ?? PRICES[0];
  return { prompt: String(prompt), completion: String(output) };
};
const unit = (n: number) => String(PRICES[n]?.prompt);
const router = await useRouter({
  models: ["chat"],
  // Each test begins with providers that may be tried, whatever they answered before.
  settings: { PROVIDER_COOL_DOWN_MS: "1" },
  more: (n) => [
    { id: "message", pricing: price(n), supported_formats: ["openai", "anthropic"] },
    { id: "response", pricing: price(n), supported_formats: ["responses"] },
    { id: "text", pricing: price(n), supported_formats: ["completions"] },
    { id: "embed", pricing: { prompt: unit(n) }, service_type: "embedding" },
    { id: "rank", pricing: { prompt: unit(n) }, service_type: "rerank" },
    { id: "paint", pricing: { image: unit(n) }, service_type: "text-to-image" },
    { id: "retouch", pricing: { image: unit(n) }, service_type: "image-editing" },
    { id: "hear", pricing: { second: unit(n) }, service_type: "speech-to-text" },
  ],
});

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed(START);
});

/** Makes the first provider misbehave and the second answer. */
function set(model: string, first: Script, second: Script): void {
  for (const [n, script] of [first, second].entries()) router().scripted[n]?.scripts.set(model, script);
}

const json =
  (body: string | Buffer, type = "application/json"): Script =>
  (_, response) =>
    void response.writeHead(200, { "content-type": type }).end(body);

function send(path: string, body: object | FormData): Promise<Response> {
  const isForm = body instanceof FormData;
  return fetch(`${router().origin}/v1/${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${owner.secret}`,
      ...(!isForm && { "content-type": "application/json" }),
    },
    body: isForm ? body : JSON.stringify(body),
  });
}

function formOf(model: string, file: string, more: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  form.set("model", model);
  form.set(file, new Blob([new Uint8Array(toWav(1))]), "a.wav");
  for (const [name, value] of Object.entries(more)) form.set(name, value);
  return form;
}

const messages = [{ role: "user", content: "What is the sea?" }];
const usage = { input_tokens: 9, output_tokens: 8 };
const message = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "theirs", stop_reason: "end_turn", usage },
  content: [{ type: "text", text: "wide" }],
};
const response = {
  ...{ id: "resp_1", object: "response", status: "completed", model: "theirs" },
  output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "wide" }] }],
  usage: { ...usage, total_tokens: 17 },
};
const text = { choices: [{ index: 0, text: "wide", finish_reason: "stop" }] };
const vectors = { data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 1, total_tokens: 1 } };
const ranking = { results: [{ index: 0, relevance_score: 1 }], usage: { prompt_tokens: 1, total_tokens: 1 } };
const images = { data: [{ b64_json: "aGVsbG8=", revised_prompt: "wide" }] };

/** Every format of a whole answer in JSON: its request, and an answer of which `wide` or a member is changed. */
const FORMATS: readonly (readonly [string, string, object | FormData, object])[] = [
  ["chat", "chat/completions", { messages }, completion({ system_fingerprint: "wide" })],
  ["chat", "responses", { input: "a" }, completion({ system_fingerprint: "wide" })],
  ["message", "messages", { messages, max_tokens: 50 }, message],
  ["response", "responses", { input: "a" }, response],
  ["text", "completions", { prompt: "a", max_tokens: 50 }, completion(text)],
  ["embed", "embeddings", { input: "a", encoding_format: "float" }, { ...vectors, object: "wide" }],
  ["rank", "rerank", { query: "a", documents: ["b"] }, { ...ranking, id: "wide" }],
  ["paint", "images/generations", { prompt: "a" }, images],
  ["retouch", "images/edits", formOf("retouch", "image", { prompt: "a" }), images],
  ["hear", "audio/transcriptions", formOf("hear", "file", {}), { text: "wide" }],
];

const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
const padding = "a".repeat(300_000);

/** Sends a request that the first provider answers with this; then one that both of them answer so. */
async function requireFailure([model, path, body, answer]: (typeof FORMATS)[number], bad: string | Buffer) {
  const request = body instanceof FormData ? body : { model, ...body };
  const [, second] = router().scripted;
  const before = second?.callsOf(model).length ?? 0;
  set(model, json(bad), json(JSON.stringify(answer)));
  const reply = await send(path, request);
  expect(reply.status).toBe(200);
  // Throws for bytes that are not UTF-8.
  new TextDecoder("utf-8", { fatal: true }).decode(await reply.arrayBuffer());
  expect(second?.callsOf(model).length).toBe(before + 1);
  owner = await router().seed(START);
  set(model, json(bad), json(bad));
  expect((await send(path, request)).status).toBe(502);
  await requireAvailable(router().app, owner, { available: START });
}

describe.each(FORMATS)("a whole answer to %s (%s)", (...format) => {
  const sound = JSON.stringify(format[3]);
  test.each([
    ["is not UTF-8", Buffer.from(sound.replace("wide", "\xff\xfe"), "latin1")],
    ["is nested in 100,000 lists", `${sound.slice(0, -1)},"more":${deep}}`],
  ])("that %s is a failure of its provider, and costs nothing", (_what, bad) => requireFailure(format, bad));
});

/** Those that different tasks of a thread read. */
const LONG = FORMATS.filter(([model]) => ["message", "embed", "paint"].includes(model));
describe.each(LONG)("a long answer to %s (%s)", (...format) => {
  const sound = JSON.stringify(format[3]);
  test.each([
    ["is not UTF-8", Buffer.from(sound.replace("wide", `\xff${padding}`), "latin1")],
    ["is nested in 100,000 lists", `${sound.slice(0, -1)},"padding":"${padding}","more":${deep}}`],
  ])("that %s is a failure of its provider, and costs nothing", (_what, bad) => requireFailure(format, bad));
});

test.each(["text", "vtt"])("a transcription as %s that is not UTF-8 is a failure", async (format) => {
  const answer = "WEBVTT\n\n00:00.000 --> 00:01.000\nthe \xff sea\n";
  set(
    "hear",
    json(Buffer.from(answer, "latin1"), "text/plain"),
    json(answer.replace("\xff", ""), "text/plain"),
  );
  const reply = await send("audio/transcriptions", formOf("hear", "file", { response_format: format }));
  expect(reply.status).toBe(200);
  expect(await reply.text()).toContain("the  sea");
});

test("WebVTT may begin with a byte order mark", async () => {
  const answer = "\ufeffWEBVTT\n\n00:00.000 --> 00:01.000\nthe sea\n";
  set("hear", json(answer, "text/vtt"), json("", "text/vtt"));
  const reply = await send("audio/transcriptions", formOf("hear", "file", { response_format: "vtt" }));
  expect([reply.status, Buffer.from(await reply.arrayBuffer()).toString()]).toEqual([200, answer]);
});

test("an event that is nested in 20,000 lists is a failure of its provider", async () => {
  const deep = `data: {"choices":[{"index":0,"delta":{"content":"a"}}],"more":${"[".repeat(20_000)}${"]".repeat(20_000)}}\n\n`;
  set("chat", (_, reply) => void openStream(reply).end(deep), good);
  const reply = await send("chat/completions", { model: "chat", stream: true, messages });
  const events = await reply.text();
  expect(events).toContain("[DONE]");
  expect(events).not.toContain("[[[");
});

test("an answer that repeats a member too often is a failure of its provider", async () => {
  const repeated = Array.from({ length: 17 }, () => `"usage":{"prompt_tokens":1}`).join();
  set("chat", json(`${JSON.stringify(completion()).slice(0, -1)},${repeated}}`), good);
  expect((await send("chat/completions", { model: "chat", messages })).status).toBe(200);
});

test.each<[string, object]>([
  ["is not base64", { b64_json: "!!!! not" }],
  ["has a URL in place of its bytes", { b64_json: "data:image/png;base64,aGVsbG8=" }],
  ["is empty", { b64_json: "" }],
  ["is less than a byte", { b64_json: "A" }],
  ["ends within a byte", { b64_json: "aGVsbG8hA" }],
  ["is long, and not base64 at its end", { b64_json: `${"A".repeat(300_000)}!` }],
])("an image that %s is a failure of its provider, and costs nothing", async (_what, image) => {
  const bad: Script = (_, reply) => sendJson(reply, 200, { data: [{ b64_json: "aGVsbG8=" }, image] });
  const sound: Script = (_, reply) => sendJson(reply, 200, images);
  for (const [model, path, body] of [
    ["paint", "images/generations", { model: "paint", prompt: "a", n: 2 }],
    ["retouch", "images/edits", formOf("retouch", "image", { prompt: "a" })],
  ] as const) {
    owner = await router().seed(START);
    set(model, bad, bad);
    expect((await send(path, body)).status).toBe(502);
    await requireAvailable(router().app, owner, { available: START });
    set(model, bad, sound);
    expect(await (await send(path, body)).json()).toMatchObject(images);
    await requireAvailable(router().app, owner, { available: START - (PRICES[1]?.prompt ?? 0n) });
  }
});

const indexed = (...indexes: readonly unknown[]) => ({
  ...vectors,
  data: indexes.map((index, n) => ({ index, embedding: [n, 1] })),
});
describe("embeddings", () => {
  test.each([
    ["the same index twice", indexed(0, 0)],
    ["an index beyond the inputs", indexed(7, -1)],
    ["a fraction as index", indexed(0, 0.5)],
    ["a text as index", indexed("0", "1")],
    ["an index for one of two", indexed(undefined, 1)],
  ])("with %s are a failure of their provider, and cost nothing", async (_what, answer) => {
    const body = { model: "embed", input: ["a", "b"], encoding_format: "float" };
    set("embed", json(JSON.stringify(answer)), json(JSON.stringify(answer)));
    expect((await send("embeddings", body)).status).toBe(502);
    await requireAvailable(router().app, owner, { available: START });
    set("embed", json(JSON.stringify(answer)), json(JSON.stringify(indexed(1, 0))));
    expect(await (await send("embeddings", body)).json()).toMatchObject(indexed(1, 0));
    await requireAvailable(router().app, owner, { available: START - (PRICES[1]?.prompt ?? 0n) });
  });

  test("without indexes are in the order of the inputs", async () => {
    set("embed", json(JSON.stringify(indexed(undefined, undefined))), good);
    expect((await send("embeddings", { model: "embed", input: ["a", "b"] })).status).toBe(200);
  });

  test("in another order are in the order of the inputs in the graph", async () => {
    const answer = indexed(1, 0);
    set("embed", json(JSON.stringify(answer)), good);
    const { body } = await rest<{
      data: { createEmbeddings: { embeddings: { vectors: readonly string[] } } };
    }>(router().origin, "/graphql", owner.secret, { body: { query: CREATE } });
    const numbers = body.data.createEmbeddings.embeddings.vectors.map((vector) => [
      ...new Float32Array(new Uint8Array(Buffer.from(vector, "base64")).buffer),
    ]);
    expect(numbers).toEqual([
      [1, 1],
      [0, 1],
    ]);
  });
});

const CREATE = `mutation { createEmbeddings(input: { model: "embed", texts: ["a", "b"] }) { embeddings { vectors } } }`;

describe("a provider that is overloaded", () => {
  const overloaded: Script = (_, reply) =>
    sendJson(reply, 529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
  const stated: Script = (_, reply) =>
    sendJson(reply, 200, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
  const asEvent: Script = (_, reply) =>
    void openStream(reply).end(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
    );

  const numbered: Script = (_, reply) =>
    sendJson(reply, 200, { error: { message: "Rate limited", code: 429 } });
  const asNumberedEvent: Script = (_, reply) =>
    void openStream(reply).end('event: error\ndata: {"error":{"message":"Overloaded","code":529}}\n\n');

  test.each([
    ["529", overloaded, false],
    ["an error with status 200", stated, false],
    ["429 as the code of an error with status 200", numbered, false],
    ["529 to a stream", overloaded, true],
    ["an event", asEvent, true],
    ["529 as the code of an event", asNumberedEvent, true],
  ])("by %s is busy: 503 when it is the last, and 529 of messages", async (_what, script, stream) => {
    set("message", script, script);
    const body = { model: "message", messages, max_tokens: 50, stream };
    const refused = await send("messages", body);
    expect(refused.status).toBe(529);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.headers.get("x-should-retry")).toBe("true");
    expect(await refused.json()).toMatchObject({ error: { type: "overloaded_error" } });
    set("chat", script, script);
    const chat = await send("chat/completions", { model: "chat", messages, stream });
    expect(chat.status).toBe(503);
    expect(await chat.json()).toMatchObject({ error: { code: "no_available_provider" } });
    await requireAvailable(router().app, owner, { available: START });
    set("message", script, stream ? asMessage : json(JSON.stringify(message)));
    expect((await send("messages", body)).status).toBe(200);
  });
});

describe("an error that states the status 400, 413 or 422 as its code", () => {
  const blamed = (code: number) => ({
    error: { message: "top_p must be at most 1", type: "BadRequestError", code },
  });
  const inAnswer: Script = (_, reply) => sendJson(reply, 200, blamed(400));
  const asEvent: Script = (_, reply) =>
    void openStream(reply).end(`data: ${JSON.stringify(blamed(422))}\n\n`);
  const asNamedEvent: Script = (_, reply) =>
    void openStream(reply).end(`event: error\ndata: ${JSON.stringify(blamed(413))}\n\n`);
  const ofAnthropic: Script = (_, reply) =>
    void openStream(reply).end(
      'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"top_p must be at most 1"}}\n\n',
    );

  test.each([
    ["an answer", inAnswer, false],
    ["an answer in place of a stream", inAnswer, true],
    ["the first event", asEvent, true],
    ["the first event, named error", asNamedEvent, true],
    ["the first event, in Anthropic's format", ofAnthropic, true],
  ])("in %s is final, as with that status: no other provider is tried", async (_what, script, stream) => {
    set("chat", script, good);
    const [, second] = router().scripted;
    const before = second?.callsOf("chat").length;
    const chat = await send("chat/completions", { model: "chat", messages, stream });
    expect(chat.status).toBe(400);
    expect(chat.headers.get("x-should-retry")).toBe("false");
    expect(await chat.json()).toMatchObject({
      error: { code: "invalid_body", message: "The provider rejected the request: top_p must be at most 1" },
    });
    expect(second?.callsOf("chat").length).toBe(before);
    await requireAvailable(router().app, owner, { available: START });
  });

  test("after content is a failure of the provider, which ends the stream", async () => {
    const late: Script = (_, reply) => {
      const chunk = {
        id: "a",
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: { content: "Hi" } }],
      };
      openStream(reply).end(`data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(blamed(400))}\n\n`);
    };
    set("chat", late, late);
    const chat = await send("chat/completions", { model: "chat", messages, stream: true });
    expect(await chat.text()).toMatch(/"code":"upstream_error"/);
  });
});

const asMessage: Script = (_, reply) => {
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  openStream(reply).end(
    event("message_start", { message: { ...message, content: [] } }) +
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "wide" } }) +
      event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 8 } }) +
      event("message_stop", {}),
  );
};
