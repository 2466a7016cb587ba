// @module-tag large
import { beforeEach, expect, test } from "vitest";
import { ask } from "../support/clients/graph-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const services = useServices(stack, ["voice", "rerank"]);
const START = 1_000_000n;
const BILL = "bill { teeVerified cost { total } }";
const ERRORS = "userErrors { field code }";

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  services().voice.behaviour = {};
});

const speak = (input: object) =>
  ask(
    stack().origin,
    owner.secret,
    `mutation ($input: CreateSpeechInput!) {
      createSpeech(input: $input) { speech { audioBase64 contentType characters ${BILL} } ${ERRORS} }
    }`,
    { input: { model: SERVICES.voice.model, voice: "alloy", ...input } },
  );

const rank = (input: object) =>
  ask(
    stack().origin,
    owner.secret,
    `mutation ($input: RerankDocumentsInput!) {
      rerankDocuments(input: $input) { ranking { results { index relevanceScore } inputTokens ${BILL} } ${ERRORS} }
    }`,
    { input: { model: SERVICES.rerank.model, ...input } },
  );

test("a text is spoken, verified and charged by its characters", async () => {
  const { data } = await speak({ text: "a sea 🌊", format: "PCM", speed: 2, verifyTee: true });
  const { speech, userErrors } = data.createSpeech;
  const cost = 7n * SERVICES.voice.outputPrice;
  expect(userErrors).toEqual([]);
  expect(speech).toMatchObject({
    contentType: "audio/pcm",
    characters: 7,
    bill: { teeVerified: true, cost: { total: String(cost) } },
  });
  // A character is 60 ms of 8,000 samples a second, at twice the speed; an emoji has two code units.
  expect(Buffer.from(speech.audioBase64, "base64")).toHaveLength(8 * 0.03 * 8_000 * 2);
  await requireAvailable(stack().app, owner, { available: START - cost });
});

test("audio that is too long for a result is refused before it is charged", async () => {
  const body = "a".repeat(13 * 1_048_576);
  services().voice.behaviour = { instead: { status: 200, contentType: "audio/mpeg", body } };
  const { data, errors } = await speak({ text: "a sea" });
  expect(data?.createSpeech ?? null).toBeNull();
  expect(errors).toMatchObject([{ extensions: { code: "provider_error" } }]);
  await requireAvailable(stack().app, owner, { available: START });
});

test("documents are ranked, verified and charged by their tokens", async () => {
  const documents = ["an open field", "a quiet river"];
  const { data } = await rank({ query: "quiet river", documents, topN: 1, verifyTee: true });
  const { ranking, userErrors } = data.rerankDocuments;
  const cost = BigInt(ranking.inputTokens) * SERVICES.rerank.inputPrice;
  expect(userErrors).toEqual([]);
  expect(ranking.results).toEqual([{ index: 1, relevanceScore: 1 }]);
  expect(ranking.bill).toEqual({ teeVerified: true, cost: { total: String(cost) } });
  await requireAvailable(stack().app, owner, { available: START - cost });
});

test.each([
  ["createSpeech", () => speak({ text: "" }), "text"],
  ["createSpeech", () => speak({ text: "é".repeat(4_097) }), "text"],
  ["createSpeech", () => speak({ text: "a", voice: "" }), "voice"],
  ["createSpeech", () => speak({ text: "a", speed: 9 }), "speed"],
  ["rerankDocuments", () => rank({ query: "", documents: ["a"] }), "query"],
  ["rerankDocuments", () => rank({ query: "a", documents: [] }), "documents"],
  ["rerankDocuments", () => rank({ query: "a", documents: ["a", ""] }), "documents.1"],
  ["rerankDocuments", () => rank({ query: "a", documents: ["a"], topN: 0 }), "topN"],
])("%s names the field at fault, without a charge", async (mutation, run, field) => {
  const { data } = await run();
  expect(data[mutation].userErrors).toEqual([{ field, code: "invalid_body" }]);
  await requireAvailable(stack().app, owner, { available: START });
});
