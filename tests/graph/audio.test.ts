// @module-tag large
import { beforeEach, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { ask } from "../support/clients/graph-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { toWav } from "../support/inference/wav.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const services = useServices(stack, ["speech"]);
const { model } = SERVICES.speech;
const fileBase64 = toWav(3).toString("base64");
const WANTS = `transcription { text language durationSeconds billedSeconds segments words { word start end } bill { requestId cost { total } } }
  userErrors { field message code }`;

let owner: Seeded;
let sent: string[];
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10_000n);
  sent = [];
  services().speech.behaviour = {};
  services().speech.onBody = (body) => void sent.push(body.toString("latin1"));
});

async function transcribe(options: object) {
  const { data, errors } = await ask(
    stack().origin,
    owner.secret,
    `mutation ($input: TranscribeAudioInput!) { transcribeAudio(input: $input) { ${WANTS} } }`,
    { input: { model, fileBase64, ...options } },
  );
  expect(errors).toBeUndefined();
  return data.transcribeAudio;
}

test("words and segments have their times, and the options reach the provider", async () => {
  const { transcription } = await transcribe({
    timestampGranularities: ["WORD", "SEGMENT"],
    temperature: 0.25,
    language: "de",
    prompt: "names",
  });
  const words = transcription.text.split(/ +/).filter(Boolean);
  expect(transcription).toMatchObject({
    language: "de",
    durationSeconds: 3,
    billedSeconds: 3,
    segments: [{ id: 0, start: 0, end: 3 }],
    bill: { cost: { total: "90" } },
  });
  expect(transcription.words.map(({ word }: { word: string }) => word)).toEqual(words);
  expect(transcription.words[0]).toEqual({ word: words[0], start: 0, end: 3 / words.length });
  const [form = ""] = sent;
  expect(form.match(/name="timestamp_granularities\[\]"\r\n\r\n(word|segment)\r\n/g)).toHaveLength(2);
  for (const [name, value] of [
    ["temperature", "0.25"],
    ["language", "de"],
    ["prompt", "names"],
    ["response_format", "verbose_json"],
  ])
    expect(form).toContain(`name="${name}"\r\n\r\n${value}\r\n`);
  await requireAvailable(stack().app, owner, { available: 9_910n });
});

test("words are null when the provider gives none", async () => {
  expect((await transcribe({})).transcription).toMatchObject({ words: null, segments: [{ id: 0 }] });
});

test.each([
  ["JSON", /^[a-z ]+$/, 3],
  ["TEXT", /^[a-z ]+\n$/, null],
  ["SRT", /^1\n00:00:00,000 --> 00:00:03,000\n/, null],
  ["VTT", /^WEBVTT\n\n00:00:00.000 --> /, null],
])(
  "as %s the text is the document, billed alike, and repeated with its bill",
  async (format, shape, billedSeconds) => {
    const idempotencyKey = newId();
    const first = await transcribe({ format, idempotencyKey });
    expect(first.transcription).toMatchObject({
      text: expect.stringMatching(shape),
      billedSeconds,
      bill: { cost: { total: "90" } },
    });
    expect(await transcribe({ format, idempotencyKey })).toEqual(first);
    await requireAvailable(stack().app, owner, { available: 9_910n });
  },
);

test("a file that is not base64 is named as the client sent it", async () => {
  expect(await transcribe({ fileBase64: "no base64!" })).toMatchObject({
    transcription: null,
    userErrors: [{ field: "fileBase64", code: "invalid_body" }],
  });
  expect(sent).toEqual([]);
});
