// @module-tag large
import { beforeEach, expect, test } from "vitest";
import { formatToken } from "../../../src/kernel/text/amount.ts";
import type { RestFailure } from "../../support/clients/rest-client.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { toWav } from "../../support/inference/wav.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

type DeliveredText = {
  readonly text: string;
  readonly x_0g_trace: { readonly billing: { readonly total_cost: string } };
};

const stack = useStack();
const services = useServices(stack, ["speech"]);
const { model } = SERVICES.speech;
/** A file whose header does not give a duration. */
const MP3 = Buffer.concat([Buffer.from("ID3\u0004"), Buffer.alloc(47_996, 1)]);

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10_000n);
  services().speech.behaviour = {};
});

test.each([
  ["json", "application/json", /^{"text":"[a-z ]+"/],
  ["verbose_json", "application/json", /"segments":\[/],
  ["text", "text/plain", /^[a-z ]+\n$/],
  ["srt", "application/x-subrip", /^1\n00:00:00,000 --> /],
  ["vtt", "text/vtt", /^WEBVTT\n\n00:00:00.000 --> /],
])("8.5 s of audio as %s are charged as 9 s", async (response_format, type, shape) => {
  const reply = await send({ response_format });
  expect(reply.status).toBe(200);
  expect(reply.headers.get("content-type")).toContain(type);
  const trace = JSON.parse(reply.headers.get("x-0g-trace") ?? "");
  expect(trace.billing).toEqual({ input_cost: "0", output_cost: "270", total_cost: "270" });
  expect(await reply.text()).toMatch(shape);
  await requireAvailable(stack().app, owner, { available: 9_730n });
});

test("the form is forwarded byte for byte, without any header of the client", async () => {
  const seen: { body: Buffer; headers: Readonly<Record<string, unknown>> }[] = [];
  services().speech.onBody = (body, headers) => void seen.push({ body, headers });
  const request = new Request("http://127.0.0.1/", { method: "POST", body: formOf({ temperature: "0.25" }) });
  const contentType = request.headers.get("content-type") ?? "";
  const bytes = Buffer.from(await request.arrayBuffer());
  const reply = await post(bytes, contentType, { cookie: "a=b", "x-secret": "s" });
  expect(reply.status).toBe(200);
  expect(seen[0]?.body.equals(bytes)).toBe(true);
  expect(seen[0]?.headers["content-type"]).toBe(contentType);
  expect(seen[0]?.headers).not.toHaveProperty("cookie");
  expect(seen[0]?.headers).not.toHaveProperty("x-secret");
});

test("JSON with base64 gives the same transcription", async () => {
  const wav = toWav(3);
  const form = (await (await send({ language: "de" }, wav)).json()) as DeliveredText;
  const body = { model, file_base64: wav.toString("base64"), filename: "a.wav", language: "de" };
  const reply = await post(Buffer.from(JSON.stringify(body)), "application/json");
  expect(reply.status).toBe(200);
  const { text, x_0g_trace } = (await reply.json()) as DeliveredText;
  expect([text, x_0g_trace.billing.total_cost]).toEqual([form.text, "90"]);
  await requireAvailable(stack().app, owner, { available: 10_000n - 180n });
});

test("JSON forwards its other members as the fields of a form", async () => {
  const sent: string[] = [];
  services().speech.onBody = (body) => void sent.push(body.toString("latin1"));
  const body = {
    ...{ model, file_base64: toWav(3).toString("base64"), stream: false, verify_tee: false, user: null },
    ...{ temperature: 0, timestamp_granularities: ["word", "word"], include: ["logprobs"], hotwords: "sea" },
    chunking_strategy: { type: "server_vad", threshold: 0.5 },
  };
  expect((await post(Buffer.from(JSON.stringify(body)), "application/json")).status).toBe(200);
  const fields = [...(sent[0] ?? "").matchAll(/name="([^"]+)"\r\n\r\n([^\r]*)\r\n/g)].map(
    ([, name, value]) => `${name}=${value}`,
  );
  expect(fields.filter((field) => !field.startsWith("model=")).toSorted()).toEqual([
    "chunking_strategy[threshold]=0.5",
    "chunking_strategy[type]=server_vad",
    "hotwords=sea",
    "include[]=logprobs",
    "temperature=0",
    "timestamp_granularities[]=word",
  ]);
});

test("a data: URL is decoded and names its media type; base64 may contain line breaks", async () => {
  const wav = toWav(3);
  const base64 = wav.toString("base64");
  const lines = base64.replace(/.{76}/g, "$&\r\n");
  const sent: string[] = [];
  services().speech.onBody = (body) => void sent.push(body.toString("latin1"));
  for (const [file_base64, name] of [
    [`data:audio/wav;base64,${base64}`, "audio.wav"],
    [`DATA:audio/mpeg;codecs=mp3;base64,${base64}`, "audio.mp3"],
    [`data:;base64,${lines}`, "audio.wav"],
    [lines, "audio.wav"],
  ] as const) {
    const reply = await post(Buffer.from(JSON.stringify({ model, file_base64 })), "application/json");
    const { x_0g_trace } = (await reply.json()) as DeliveredText;
    expect([reply.status, x_0g_trace.billing.total_cost]).toEqual([200, "90"]);
    const form = sent.pop() ?? "";
    expect(form).toContain(`filename="${name}"`);
    expect(form).toContain(wav.toString("latin1"));
  }
});

test.each([
  ["words", "not base64 at all!"],
  ["the alphabet of URLs", "UklGR-_-"],
  ["no padding", "UklGRg"],
  ["bits after the end", "UklGRh=="],
  ["a data: URL that is not base64", "data:audio/wav,UklGRg=="],
  ["a data: URL with other data", "data:audio/wav;base64,%52"],
  ["a data: URL within a data: URL", "data:audio/wav;base64,data:audio/wav;base64,UklGRg=="],
  ["a URL", "https://example.com/sea.wav"],
  ["much that is not base64", `${"A".repeat(400_000)}!`],
])(
  "audio in JSON that is %s is refused, without calling a provider and without a charge",
  async (_what, file_base64) => {
    const { requests } = services().speech;
    const reply = await post(Buffer.from(JSON.stringify({ model, file_base64 })), "application/json");
    const { error } = (await reply.json()) as RestFailure;
    expect([reply.status, error.code, error.param]).toEqual([400, "invalid_body", "file_base64"]);
    expect(services().speech.requests).toBe(requests);
    await requireAvailable(stack().app, owner, { available: 10_000n });
  },
);

test("where the file does not prove its duration, the duration in the answer is charged, within the possible range", async () => {
  const answer = (fields: object) => ({
    instead: {
      status: 200,
      contentType: "application/json",
      body: JSON.stringify({ text: "hm", ...fields }),
    },
  });
  const cost = async () =>
    ((await (await send({}, MP3)).json()) as DeliveredText).x_0g_trace.billing.total_cost;
  services().speech.behaviour = answer({ duration: 2.1 });
  expect(await cost()).toBe("90");
  services().speech.behaviour = answer({ usage: { type: "duration", seconds: 4 } });
  expect(await cost()).toBe("120");
  // 48,000 bytes are 3 s at the usual bit rate, and at most 48 s.
  for (const duration of [undefined, -1, 0, 49, "x", 1e300]) {
    services().speech.behaviour = answer({ duration });
    expect(await cost(), String(duration)).toBe("90");
  }
  const srt = "1\n00:00:00,000 --> 00:00:02,400\nhm\n\n2\n00:00:02,400 --> 00:00:06,001\nhm\n";
  services().speech.behaviour = { instead: { status: 200, contentType: "text/plain", body: srt } };
  const reply = await send({ response_format: "srt" }, MP3);
  expect(JSON.parse(reply.headers.get("x-0g-trace") ?? "").billing.total_cost).toBe("210");
});

test("the usage in an answer is what was charged, whatever the provider reports", async () => {
  const wav = toWav(8.5);
  for (const [file, stated, seconds] of [
    [wav, { type: "duration", seconds: 8.5 }, 9],
    [wav, { type: "duration", seconds: 9 }, 9],
    [wav, { type: "duration", seconds: 4_000 }, 9],
    [wav, { type: "tokens", input_tokens: 7, output_tokens: 7, total_tokens: 14 }, 9],
    [wav, null, 9],
    [wav, undefined, 9],
    [MP3, { type: "duration", seconds: 3.2 }, 4],
    [MP3, { type: "duration", seconds: 4_000 }, 3],
  ] as const) {
    services().speech.behaviour = {
      instead: {
        status: 200,
        contentType: "application/json",
        body: JSON.stringify({ text: '"usage":1', usage: stated, words: [{ usage: 1 }] }),
      },
    };
    const { x_0g_trace, ...answer } = (await (await send({}, file)).json()) as DeliveredText;
    expect(answer).toEqual({
      text: '"usage":1',
      usage: { type: "duration", seconds, cost: Number(formatToken(BigInt(30 * seconds))) },
      words: [{ usage: 1 }],
    });
    expect(x_0g_trace.billing.total_cost).toBe(String(30 * seconds));
  }
});

test("an answer that is not a transcription is a failure, and nothing is charged", async () => {
  for (const [response_format, contentType, body] of [
    ["json", "text/html", "<p>oops"],
    ["json", "application/json", '{"words":1}'],
    ["json", "application/json", '{"error":"out of tape"}'],
    ["text", "text/html", "<p>oops"],
    ["text", "application/json", '{"error":"out of tape"}'],
    ["vtt", "text/plain", "words"],
  ] as const) {
    services().speech.behaviour = { instead: { status: 200, contentType, body } };
    const reply = await send({ response_format });
    const failure = (await reply.json()) as RestFailure;
    expect([reply.status, failure.error.code], body).toEqual([502, "provider_error"]);
  }
  await requireAvailable(stack().app, owner, { available: 10_000n });
});

test("a balance that does not cover the audio is 402, and no provider is called", async () => {
  const { requests } = services().speech;
  const reply = await send({}, toWav(334));
  expect([reply.status, ((await reply.json()) as RestFailure).error.code]).toEqual([
    402,
    "insufficient_balance",
  ]);
  expect(services().speech.requests).toBe(requests);
});

test.each([
  ["no file", { file: undefined }, "file"],
  ["an empty file", { file: new Blob([]) }, "file"],
  ["two files", { other: new Blob(["x"]) }, "file"],
  ["an unknown format", { response_format: "docx" }, "response_format"],
  ["no model", { model: undefined }, "model"],
  ["a stream", { stream: "true" }, "stream"],
])("%s is refused, and no provider is called", async (_what, fields, param) => {
  const { requests } = services().speech;
  const reply = await send(fields);
  const { error } = (await reply.json()) as RestFailure;
  expect([reply.status, error.code, error.param]).toEqual([400, "invalid_body", param]);
  expect(services().speech.requests).toBe(requests);
});

test("audio above 25 MiB is 413, in a form and in JSON, and 25 MiB are accepted", async () => {
  const large = Buffer.alloc(25 * 1_048_576 + 1);
  expect((await send({}, large)).status).toBe(413);
  const inJson = { model, file_base64: large.toString("base64") };
  expect((await post(Buffer.from(JSON.stringify(inJson)), "application/json")).status).toBe(413);
  const rich = await seedAccount(stack().app.database, 10n ** 12n);
  expect((await send({}, large.subarray(1), rich)).status).toBe(200);
});

test("other content types are 415", async () => {
  expect((await post(Buffer.from("a=1"), "application/x-www-form-urlencoded")).status).toBe(415);
});

function send(
  fields: Readonly<Record<string, string | Blob | undefined>>,
  sound: Buffer = toWav(8.5),
  by: Seeded = owner,
): Promise<Response> {
  return fetch(`${stack().origin}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${by.secret}` },
    body: formOf(fields, sound),
  });
}

function formOf(
  fields: Readonly<Record<string, string | Blob | undefined>>,
  sound: Buffer = toWav(1),
): FormData {
  const file = new Blob([new Uint8Array(sound)], { type: "audio/wav" });
  const form = new FormData();
  for (const [name, value] of Object.entries({ model, file, ...fields }))
    if (value !== undefined) form.set(name, value);
  return form;
}

function post(body: Buffer, contentType: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${stack().origin}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { "content-type": contentType, authorization: `Bearer ${owner.secret}`, ...headers },
    body: new Uint8Array(body),
  });
}
