// @module-tag large
import OpenAI from "openai";
import { beforeEach, describe, expect, test } from "vitest";
import type { RestFailure } from "../../support/clients/rest-client.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";

const RICH = 1_000_000_000n;
const PRICES = [2n, 5n];
const MODEL = "voice";
const AUDIO = Buffer.from([0xff, 0xfb, 0x90, 0x00, 0x80, 0x0a, 0x22]);
const router = await useRouter({
  models: [],
  settings: { PROVIDER_COOL_DOWN_MS: "1" },
  more: (n) => [
    {
      id: MODEL,
      upstream_id: `upstream-${n}`,
      service_type: "text-to-speech",
      pricing: { character: String(PRICES[n]) },
    },
  ],
});
useServices(router, ["voice"]);

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed(RICH);
  for (const { scripts } of router().scripted) scripts.clear();
});

type Options = { readonly secret?: string; readonly signal?: AbortSignal; readonly key?: string };

function send(body: object, { secret = owner.secret, signal, key }: Options = {}) {
  return fetch(`${router().origin}/v1/audio/speech`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${secret}`,
      ...(key !== undefined && { "idempotency-key": key }),
    },
    body: JSON.stringify({ model: MODEL, voice: "alloy", ...body }),
    ...(signal && { signal }),
  });
}

/** Makes the `n`th provider answer with this. */
function answer(n: number, body: Buffer | string, contentType = "audio/mpeg", status = 200) {
  router().scripted[n]?.scripts.set(`upstream-${n}`, (_call, response) => {
    response.writeHead(status, contentType === "" ? {} : { "content-type": contentType }).end(body);
  });
}

const billOf = (reply: Response) => JSON.parse(reply.headers.get("x-0g-trace") ?? "{}").billing?.total_cost;

describe("with the official client", () => {
  const client = () => new OpenAI({ apiKey: owner.secret, baseURL: `${router().origin}/v1`, maxRetries: 0 });
  const { model, outputPrice } = SERVICES.voice;

  test("a text is spoken, and charged by its characters, of which an emoji is one", async () => {
    const input = "The sea 🌊";
    const speech = await client().audio.speech.create({
      model,
      input,
      voice: "alloy",
      response_format: "wav",
    });
    const bytes = Buffer.from(await speech.arrayBuffer());
    expect([speech.headers.get("content-type"), bytes.subarray(0, 4).toString()]).toEqual([
      "audio/wav",
      "RIFF",
    ]);
    await requireAvailable(router().app, owner, { available: RICH - 9n * outputPrice });
  });
});

test("the provider's bytes arrive unchanged, with their own media type, and only the model is renamed", async () => {
  answer(0, AUDIO, "audio/ogg; codecs=opus");
  const reply = await send({ input: "a sea", voice: { id: "own" }, instructions: "softly", lang: "en" });
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "audio/ogg; codecs=opus"]);
  expect(Buffer.from(await reply.arrayBuffer())).toEqual(AUDIO);
  expect(billOf(reply)).toBe("10");
  expect(router().scripted[0]?.calls.at(-1)).toMatchObject({
    path: "/v1/audio/speech",
    body: { model: "upstream-0", input: "a sea", voice: { id: "own" }, instructions: "softly", lang: "en" },
  });
  await requireAvailable(router().app, owner, { available: RICH - 10n });
});

test("raw samples keep their rate, and parameters that are malformed are left out", async () => {
  for (const [stated, shown] of [
    ["Audio/L16;rate=24000;channels=1", "audio/l16;rate=24000;channels=1"],
    ["audio/pcm; rate=24000", "audio/pcm; rate=24000"],
    ["audio/pcm; rate", "audio/pcm"],
  ] as const) {
    answer(0, AUDIO, stated);
    const reply = await send({ input: "a", response_format: "pcm" });
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, shown]);
    await reply.arrayBuffer();
  }
});

test("audio without a media type has that of the requested format", async () => {
  for (const stated of ["", "application/octet-stream"]) {
    answer(0, AUDIO, stated);
    const reply = await send({ input: "a", response_format: "flac" });
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "audio/flac"]);
    await reply.arrayBuffer();
  }
});

test("a repeated request with its key gets the same audio, and is charged once", async () => {
  answer(0, AUDIO);
  const replies = [await send({ input: "once" }, { key: "a" }), await send({ input: "once" }, { key: "a" })];
  for (const reply of replies) {
    expect([reply.status, reply.headers.get("content-type"), billOf(reply)]).toEqual([
      200,
      "audio/mpeg",
      "8",
    ]);
    expect(Buffer.from(await reply.arrayBuffer())).toEqual(AUDIO);
  }
  await requireAvailable(router().app, owner, { available: RICH - 8n });
});

test.each<[string, Buffer | string, string, number]>([
  ["no bytes", "", "audio/mpeg", 200],
  ["a page", "<html>", "text/html", 200],
  ["JSON", "{}", "application/json", 200],
  ["an error in JSON", '{"error":{"message":"overloaded"}}', "application/json", 200],
  ["status 500", "", "text/plain", 500],
])("an answer with %s fails: the next provider is tried, and it alone is paid", async (_what, ...given) => {
  answer(0, ...given);
  answer(1, AUDIO);
  const reply = await send({ input: "a sea" });
  expect([reply.status, billOf(reply)]).toEqual([200, "25"]);
  await reply.arrayBuffer();
  await requireAvailable(router().app, owner, { available: RICH - 25n });
});

test.each<[string, object, string]>([
  ["no text", {}, "input"],
  ["an empty text", { input: "" }, "input"],
  ["16,385 characters", { input: "é".repeat(16_385) }, "input"],
  ["no voice", { input: "a", voice: undefined }, "voice"],
  ["a voice without an id", { input: "a", voice: {} }, "voice"],
  ["an unknown format", { input: "a", response_format: "ogg" }, "response_format"],
  ["a speed of 5", { input: "a", speed: 5 }, "speed"],
  ["events", { input: "a", stream_format: "sse" }, "stream_format"],
])("%s is refused by name", async (_what, body, param) => {
  const reply = await send(body);
  const { error } = (await reply.json()) as RestFailure;
  expect([reply.status, error.code]).toEqual([400, "invalid_body"]);
  expect(error.param?.split(".")[0]).toBe(param);
  await requireAvailable(router().app, owner, { available: RICH });
});

test("16,384 characters outside the basic plane are one text, charged one by one", async () => {
  answer(0, AUDIO);
  const reply = await send({ input: "🌊".repeat(16_384) });
  expect([reply.status, billOf(reply)]).toEqual([200, "32768"]);
  await reply.arrayBuffer();
});

test("a text that the balance does not cover is refused, and a provider's own reason is passed on", async () => {
  const poor = await router().seed(3n);
  expect((await send({ input: "ab" }, { secret: poor.secret })).status).toBe(402);
  await requireAvailable(router().app, poor, { available: 3n });
  answer(0, '{"error":{"message":"no such voice"}}', "application/json", 400);
  const reply = await send({ input: "a", voice: "nobody" });
  expect([reply.status, ((await reply.json()) as RestFailure).error.message]).toEqual([
    400,
    "The provider rejected the request: no such voice",
  ]);
  await requireAvailable(router().app, owner, { available: RICH });
});

test("a client that leaves before the answer pays nothing", async () => {
  const leave = new AbortController();
  router().scripted[0]?.scripts.set("upstream-0", () => leave.abort());
  await expect(send({ input: "a" }, { signal: leave.signal })).rejects.toThrow();
  await requireAvailable(router().app, owner, { available: RICH });
});

test("an answer that breaks in its middle is not delivered, nor charged", async () => {
  for (const n of [0, 1])
    router().scripted[n]?.scripts.set(`upstream-${n}`, (_call, response) => {
      response.writeHead(200, { "content-type": "audio/mpeg", "content-length": 100 });
      response.write(AUDIO, () => response.destroy());
    });
  expect((await send({ input: "a" })).status).toBe(502);
  await requireAvailable(router().app, owner, { available: RICH });
});
