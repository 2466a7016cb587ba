// @module-tag large
import { describe, expect, test } from "vitest";
import { drawImage } from "../../src/devnet/provider/endpoints/image.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { balanceAtRest } from "../support/balance.ts";
import { MODEL } from "../support/chain/network.ts";
import {
  ask,
  failureCode,
  followEvents,
  followSocket,
  type GraphResult,
  isRouted,
} from "../support/clients/graph-client.ts";
import { toWav } from "../support/inference/wav.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { startRemoteGateway } from "../support/servers/remote-gateway.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack, useStarted } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
/** The same services behind a gateway whose subgraphs are in other processes. */
const remote = useStarted((onEnd) => startRemoteGateway(stack(), onEnd));
const services = useServices(stack, [
  "messages",
  "images",
  "edits",
  "speech",
  "embeddings",
  "voice",
  "rerank",
]);
const PNG = drawImage("a sea", { width: 8, height: 8 }).toString("base64");
const wav = toWav(2).toString("base64");
const BILL = "bill { requestId cost { total } }";

/** The mutations that cost money: the call, a differing call, and the number of provider calls. */
const MUTATIONS = [
  {
    field: "completeChat",
    input: `{ model: "${MODEL}", messages: [{ role: "user", content: "hi" }], maxTokens: 3 }`,
    other: `{ model: "${MODEL}", messages: [{ role: "user", content: "hello" }], maxTokens: 3 }`,
    wants: `completion { choices { text } inputTokens ${BILL} }`,
    requests: () => stack().provider.requests,
  },
  {
    field: "generateImages",
    input: `{ model: "${SERVICES.images.model}", prompt: "a sea", size: "8x8" }`,
    other: `{ model: "${SERVICES.images.model}", prompt: "a tree", size: "8x8" }`,
    wants: `images { b64Json } ${BILL}`,
    requests: () => services().images.requests,
  },
  {
    field: "createMessage",
    input: `{ model: "${SERVICES.messages.model}", messages: [{ role: USER, content: "hi" }], maxTokens: 3 }`,
    other: `{ model: "${SERVICES.messages.model}", messages: [{ role: USER, content: "hello" }], maxTokens: 3 }`,
    wants: `message { text ${BILL} }`,
    requests: () => services().messages.requests,
  },
  {
    field: "editImages",
    input: `{ model: "${SERVICES.edits.model}", prompt: "a sea", images: [{ fileBase64: "${PNG}" }] }`,
    other: `{ model: "${SERVICES.edits.model}", prompt: "a tree", images: [{ fileBase64: "${PNG}" }] }`,
    wants: `images { b64Json } ${BILL}`,
    requests: () => services().edits.requests,
  },
  {
    field: "submitImageEditJob",
    input: `{ model: "${SERVICES.edits.model}", prompt: "a sea", images: [{ fileBase64: "${PNG}" }] }`,
    other: `{ model: "${SERVICES.edits.model}", prompt: "a tree", images: [{ fileBase64: "${PNG}" }] }`,
    wants: "imageJob { id modelId }",
    requests: () => services().edits.requests,
  },
  {
    field: "createEmbeddings",
    input: `{ model: "${SERVICES.embeddings.model}", texts: ["a sea"] }`,
    other: `{ model: "${SERVICES.embeddings.model}", texts: ["a tree"] }`,
    wants: `embeddings { vectors ${BILL} }`,
    requests: () => services().embeddings.requests,
  },
  {
    field: "createSpeech",
    input: `{ model: "${SERVICES.voice.model}", text: "a sea", voice: "a" }`,
    other: `{ model: "${SERVICES.voice.model}", text: "a tree", voice: "a" }`,
    wants: `speech { audioBase64 contentType ${BILL} }`,
    requests: () => services().voice.requests,
  },
  {
    field: "rerankDocuments",
    input: `{ model: "${SERVICES.rerank.model}", query: "sea", documents: ["a sea", "a tree"] }`,
    other: `{ model: "${SERVICES.rerank.model}", query: "tree", documents: ["a sea", "a tree"] }`,
    wants: `ranking { results { index relevanceScore } ${BILL} }`,
    requests: () => services().rerank.requests,
  },
  {
    field: "transcribeAudio",
    input: `{ model: "${SERVICES.speech.model}", fileBase64: "${wav}" }`,
    other: `{ model: "${SERVICES.speech.model}", fileBase64: "${toWav(1).toString("base64")}" }`,
    wants: `transcription { text ${BILL} }`,
    requests: () => services().speech.requests,
  },
  {
    field: "submitImageJob",
    input: `{ model: "${SERVICES.images.model}", prompt: "a sea", size: "8x8" }`,
    other: `{ model: "${SERVICES.images.model}", prompt: "a tree", size: "8x8" }`,
    wants: "imageJob { id modelId }",
    requests: () => services().images.requests,
  },
] as const;

const newCustomer = () => seedAccount(stack().app.database, 10n ** 9n);

function call(
  { secret }: Seeded,
  { field, wants }: Pick<(typeof MUTATIONS)[number], "field" | "wants">,
  input: string,
  key: string | null,
): Promise<GraphResult> {
  const keyed = input.replace(/ }$/, ", idempotencyKey: $key }");
  const query = `mutation($key: String) { ${field}(input: ${keyed}) { ${wants} userErrors { code } } }`;
  return ask(stack().origin, secret, query, { key });
}

/** The charges of an account, once it has no open holds. */
async function charged({ account }: Seeded): Promise<bigint> {
  const total = await until(async () => {
    const balance = await balanceAtRest(stack().app, account);
    return balance?.held === 0n && balance.total;
  });
  return 10n ** 9n - total;
}

describe.each(MUTATIONS)("$field", (mutation) => {
  const { field, input, other, requests } = mutation;

  test("is executed once per key, however often and concurrently it is called, and answered alike", async () => {
    const customer = await newCustomer();
    const key = newId();
    const before = requests();
    const both = await Promise.all([1, 2, 3, 4].map(() => call(customer, mutation, input, key)));
    const answered = both.filter(({ data }) => data[field] !== null);
    for (const result of both)
      if (!answered.includes(result)) expect(failureCode(result)).toBe("idempotency_in_progress");
    const [first] = answered;
    expect(first?.errors).toBeUndefined();
    const cost = await charged(customer);
    expect(cost).toBeGreaterThan(0n);
    // Forms send null for what is empty.
    for (const same of [input, input.replace(/ }$/, ", routing: null }")])
      expect(await call(customer, mutation, same, key)).toMatchObject({ data: first?.data });
    expect(requests() - before).toBe(1);
    expect(await charged(customer)).toBe(cost);
    expect(failureCode(await call(customer, mutation, other, key))).toBe("idempotency_key_reused");
    const again = await call(customer, mutation, input, null);
    expect(again.errors).toBeUndefined();
    expect(again.data).not.toEqual(first?.data);
    expect(await charged(customer)).toBe(cost * 2n);
  });

  test("can be retried after a failure that cost nothing, and refuses a malformed key", async () => {
    const customer = await newCustomer();
    const key = newId();
    const wrong = input.replace(/model: "[^"]*"/, 'model: "none"');
    expect(failureCode(await call(customer, mutation, wrong, key))).toBe("model_not_found");
    expect((await call(customer, mutation, input, key)).errors).toBeUndefined();
    for (const none of ["", "a\tb", "x".repeat(256)])
      expect(failureCode(await call(customer, mutation, input, none))).toBe("invalid_parameter");
  });
});

test.each(MUTATIONS)(
  "$field with another API key of the account is authorized and executed separately",
  async (mutation) => {
    const customer = await newCustomer();
    const { apiKeys } = stack().app;
    const key = newId();
    const first = await call(customer, mutation, mutation.input, key);
    const broke = await apiKeys.create(customer.account, "no credit", { creditLimit: 0n });
    const elsewhere = await apiKeys.create(customer.account, "other models", { allowedModels: ["another"] });
    const free = await apiKeys.create(customer.account, "no limits");
    const as = ({ secret }: { readonly secret: string }) =>
      call({ ...customer, secret }, mutation, mutation.input, key);
    expect([failureCode(await as(broke)), failureCode(await as(elsewhere))]).toEqual([
      "credit_limit_exceeded",
      "access_denied",
    ]);
    const own = await as(free);
    expect(own.errors).toBeUndefined();
    expect(own.data).not.toEqual(first.data);
    await apiKeys.revoke(customer.account, free.key.id);
    expect(failureCode(await as(free))).toBe("api_key_revoked");
  },
);

test.skipIf(isRouted)(
  "an answer is replayed over every transport, and by subgraphs in other processes",
  async () => {
    const customer = await newCustomer();
    const [chat] = MUTATIONS;
    const key = newId();
    const keyed = chat.input.replace(/ }$/, `, idempotencyKey: "${key}" }`);
    const query = `mutation { completeChat(input: ${keyed}) { ${chat.wants} } }`;
    const before = stack().provider.requests;
    const first = await ask(remote().origin, customer.secret, query);
    expect(first.errors).toBeUndefined();
    const messages = [{ role: "user", content: "hi" }];
    const asVariable = `mutation ($input: CompleteChatInput!) { completeChat(input: $input) { ${chat.wants} } }`;
    const variables = { input: { model: MODEL, messages, maxTokens: 3, idempotencyKey: key } };
    for (const { origin } of [stack(), remote()]) {
      expect((await ask(origin, customer.secret, asVariable, variables)).data).toEqual(first.data);
      expect((await ask(origin, customer.secret, query)).data).toEqual(first.data);
      for (const follow of [followEvents, followSocket]) {
        const following = await follow(origin, customer.secret, query);
        const [result] = await until(() => following.results.length > 0 && following.results);
        await following.stop();
        expect(result).toEqual({ data: first.data });
      }
    }
    expect(stack().provider.requests - before).toBe(1);
  },
);

test("a key of one mutation or account is independent of that of another, and of REST", async () => {
  const [customer, stranger] = [await newCustomer(), await newCustomer()];
  const key = newId();
  const [chat, images] = MUTATIONS;
  const first = await call(customer, chat, chat.input, key);
  expect((await call(customer, images, images.input, key)).errors).toBeUndefined();
  const theirs = await call(stranger, chat, chat.input, key);
  expect(theirs.data.completeChat.completion.bill.requestId).not.toBe(
    first.data.completeChat.completion.bill.requestId,
  );
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${customer.secret}`,
      "idempotency-key": key,
    },
    body: JSON.stringify({ model: MODEL, max_tokens: 3, messages: [{ role: "user", content: "hi" }] }),
  });
  expect([reply.status, reply.headers.get("idempotent-replayed")]).toEqual([200, null]);
});
