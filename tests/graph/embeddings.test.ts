// @module-tag large
import { beforeEach, expect, test } from "vitest";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { ask } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const services = useServices(stack, ["embeddings"]);
const { model, inputPrice } = SERVICES.embeddings;
const START = 1_000_000n;
const WANTS =
  "embeddings { vectors inputTokens bill { teeVerified cost { total } } } userErrors { field message code }";
/** 50 ms, plus the time that the client and the provider, on the same thread, take on a busy machine. */
const MAX_TURN_MS = 150;

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  services().embeddings.behaviour = {};
});

function embed(input: object) {
  return ask(
    stack().origin,
    owner.secret,
    `mutation ($input: CreateEmbeddingsInput!) { createEmbeddings(input: $input) { ${WANTS} } }`,
    { input: { model, ...input } },
  );
}

test("each text gets the vector of REST, charged exactly", async () => {
  const texts = ["a sea of words", "a tree"];
  const { data, errors } = await embed({ texts, dimensions: 32, verifyTee: true });
  expect(errors).toBeUndefined();
  const { embeddings, userErrors } = data.createEmbeddings;
  expect(userErrors).toEqual([]);
  const cost = BigInt(embeddings.inputTokens) * inputPrice;
  expect(embeddings.bill).toEqual({ teeVerified: true, cost: { total: String(cost) } });
  await requireAvailable(stack().app, owner, { available: START - cost });
  const { body } = await rest<{ data: readonly { embedding: readonly number[] }[] }>(
    stack().origin,
    "/v1/embeddings",
    owner.secret,
    { body: { model, input: texts, dimensions: 32 } },
  );
  const vectors = embeddings.vectors.map((vector: string) => [
    ...new Float32Array(new Uint8Array(Buffer.from(vector, "base64")).buffer),
  ]);
  expect(vectors).toEqual(body.data.map(({ embedding }) => embedding));
});

test("many long vectors are read in short turns, and their memory is released", async () => {
  const texts = Array.from({ length: 256 }, (_, n) => `text ${n}`);
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    const { data, errors } = await embed({ texts, dimensions: 4_096 });
    expect(errors).toBeUndefined();
    expect(data.createEmbeddings.embeddings.vectors).toHaveLength(256);
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  expect(stack().app.load.memory.usedBytes).toBe(0);
});

test.each([
  [{ texts: [] }, "texts"],
  [{ texts: ["a", ""] }, "texts.1"],
  [{ texts: ["a"], dimensions: 0 }, "dimensions"],
])("%j is refused at its field, without a charge", async (input, field) => {
  const { data } = await embed(input);
  expect(data.createEmbeddings).toMatchObject({
    embeddings: null,
    userErrors: [{ field, code: "invalid_body" }],
  });
  await requireAvailable(stack().app, owner, { available: START });
});

test("more texts than 256 are refused before anything runs", async () => {
  const { errors } = await embed({ texts: Array.from({ length: 257 }, () => "a") });
  expect(errors?.[0]?.extensions?.code).toBe("graphql_refused");
});
