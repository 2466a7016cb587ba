import type { BatchEndpoint } from "../../../src/inference/batches/batch.ts";
import { countTokens } from "../../../src/inference/billing/tokens.ts";
import { type FaultRow, promptPrice, tokens, UNIT_PRICES, units } from "./fault-row.ts";
import { jsonAnswer, type WholeAnswer } from "./provider-faults.ts";
import { chats, completions, INPUT, messages, nativeResponses, responses } from "./streamed-fault-rows.ts";
import { toWav } from "./wav.ts";

const vectors = (data: unknown, fields: object = {}) =>
  jsonAnswer({
    object: "list",
    model: "theirs",
    data,
    usage: { prompt_tokens: 9, total_tokens: 9 },
    ...fields,
  });
const VECTORS = [
  { object: "embedding", index: 0, embedding: [0.5, 1] },
  { object: "embedding", index: 1, embedding: [1, 0.5] },
];

const embeddings: FaultRow = {
  offer: (n) => ({ service_type: "embedding", context_length: 100, pricing: promptPrice(n) }),
  body: { input: [INPUT, "a river"] },
  answer: vectors(VECTORS),
  cost: tokens(9, 0),
  invalid: {
    "fewer vectors than inputs": vectors(VECTORS.slice(1)),
    "more vectors than inputs": vectors([...VECTORS, ...VECTORS]),
    "a vector without numbers": vectors([VECTORS[0], { index: 1, embedding: [] }]),
    "a null in a vector": vectors([VECTORS[0], { index: 1, embedding: [null] }]),
    "no list": vectors({}),
  },
  maxMib: 64,
  usage: {
    report: (usage) => vectors(VECTORS, { usage }),
    of: (input) => ({ prompt_tokens: input, total_tokens: input }),
    counted: tokens(countTokens(INPUT) + countTokens("a river"), 0),
  },
};

const ranked = (indexes: readonly unknown[], fields: object = {}) =>
  jsonAnswer({
    results: indexes.map((index) => ({ index, relevance_score: 0.5 })),
    usage: { prompt_tokens: 9, total_tokens: 9 },
    ...fields,
  });

const rerank: FaultRow = {
  offer: (n) => ({ service_type: "rerank", context_length: 100, pricing: promptPrice(n) }),
  body: { query: "sea", documents: ["a river", "an ocean"] },
  answer: ranked([1, 0]),
  cost: tokens(9, 0),
  invalid: {
    "fewer results than documents": ranked([1]),
    "a document twice": ranked([1, 1]),
    "a document that was not sent": ranked([0, 2]),
    "a negative index": ranked([0, -1]),
    "no scores": ranked([], { results: [{ index: 0 }, { index: 1 }] }),
    "no list": ranked([], { results: {} }),
  },
  maxMib: 16,
  usage: {
    report: (usage) => ranked([1, 0], { usage }),
    of: (input) => ({ prompt_tokens: input, total_tokens: input }),
    counted: tokens(2 * countTokens("sea") + countTokens("a river") + countTokens("an ocean"), 0),
  },
};

const drawn = (data: unknown) => jsonAnswer({ created: 1, data });
const images: FaultRow = {
  offer: (n) => ({ service_type: "text-to-image", pricing: { image: String(UNIT_PRICES[n]) } }),
  body: { prompt: "a sea", n: 2 },
  answer: drawn([{ b64_json: "aGVsbG8=" }, { b64_json: "aGVsbG8=" }]),
  cost: units(2),
  invalid: {
    "no images": drawn([]),
    "a link": drawn([{ url: "https://example.com/x.png" }]),
    "an empty image": drawn([{ b64_json: "aGVsbG8=" }, { b64_json: "" }]),
    "no list": drawn("x"),
  },
  maxMib: 64,
};

const edits: FaultRow = {
  ...images,
  offer: (n) => ({ service_type: "image-editing", pricing: { image: String(UNIT_PRICES[n]) } }),
  body: { prompt: "a sea", n: "2" },
  file: { name: "image", bytes: Buffer.from("89504e470d0a1a0a", "hex") },
};

const transcribed = (fields: object) => jsonAnswer(fields);
const transcriptions: FaultRow = {
  offer: (n) => ({ service_type: "speech-to-text", pricing: { second: String(UNIT_PRICES[n]) } }),
  body: {},
  file: { name: "file", bytes: toWav(3) },
  answer: transcribed({ text: "the sea" }),
  cost: units(3),
  invalid: {
    "no text": transcribed({ duration: 3 }),
    "a number as its text": transcribed({ text: 1 }),
    "plain text": { contentType: "text/plain", body: "the sea" },
  },
  maxMib: 16,
};

const spoken = (contentType: string, body: Buffer | string): WholeAnswer => ({ contentType, body });
const AUDIO = Buffer.from("fffb9000800a22", "hex");

const speech: FaultRow = {
  offer: (n) => ({ service_type: "text-to-speech", pricing: { character: String(UNIT_PRICES[n]) } }),
  body: { input: INPUT, voice: "alloy" },
  answer: spoken("audio/mpeg", AUDIO),
  cost: units(INPUT.length),
  invalid: {
    "no bytes": spoken("audio/mpeg", ""),
    "an object": spoken("application/json", "{}"),
    events: spoken("text/event-stream", "data: {}\n\n"),
    "a video": spoken("video/mp4", AUDIO),
  },
  maxMib: 64,
};

/** The same as lines of a batch, which cannot be streamed. */
function linesOf({ stream: _, ...row }: FaultRow, lineOf: BatchEndpoint): FaultRow {
  return { ...row, lineOf };
}

/** By method and URL of the route, and what is special about its request. */
export const LIVE_FAULT_ROWS: Readonly<Record<string, FaultRow>> = {
  "POST /v1/responses": responses,
  "POST /v1/responses, at providers with this format": nativeResponses,
  "POST /v1/completions": completions,
  "POST /v1/messages": messages,
  "POST /v1/embeddings": embeddings,
  "POST /v1/rerank": rerank,
  "POST /v1/images/generations": images,
  "POST /v1/images/edits": edits,
  "POST /v1/audio/transcriptions": transcriptions,
  "POST /v1/audio/transcriptions, as text": {
    ...transcriptions,
    body: { response_format: "text" },
    answer: { contentType: "text/plain", body: "the sea\n" },
    invalid: { "an object": transcribed({ text: "the sea" }) },
  },
  "POST /v1/audio/speech": speech,
};

/** The same for lines of batches. */
export const LINE_FAULT_ROWS: Readonly<Record<string, FaultRow>> = {
  "POST /v1/batches, of chats": linesOf(chats, "/v1/chat/completions"),
  "POST /v1/batches, of responses": linesOf(responses, "/v1/responses"),
  "POST /v1/batches, of text completions": linesOf(completions, "/v1/completions"),
  "POST /v1/batches, of embeddings": linesOf(embeddings, "/v1/embeddings"),
};
