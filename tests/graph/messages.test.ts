// @module-tag large
import { beforeEach, describe, expect, test } from "vitest";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { MODEL } from "../support/chain/network.ts";
import { ask, followEvents, followSocket } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const services = useServices(stack, ["messages"]);
const { model, inputPrice, outputPrice } = SERVICES.messages;
const PROMPT = countPromptTokens([{ role: "user", content: "Say something." }]);
const messages = [{ role: "USER", content: "Say something." }];
const START = 1_000_000n;
const BILL = "bill { requestId providerAddress teeVerified cost { total } }";
const MESSAGE = `message { text content stopReason stopSequence inputTokens outputTokens ${BILL} }`;
const TOOL = { name: "look_up", input_schema: { type: "object", properties: { word: { type: "string" } } } };

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  services().messages.behaviour = {};
  services().messages.onBody = undefined;
});

const priceOf = (input: number, output: number) => BigInt(input) * inputPrice + BigInt(output) * outputPrice;

async function create(input: object, secret = owner.secret) {
  const { data, errors } = await ask(
    stack().origin,
    secret,
    `mutation ($input: CreateMessageInput!) {
      createMessage(input: $input) { ${MESSAGE} userErrors { field message code } } }`,
    { input: { model, messages, maxTokens: 5, ...input } },
  );
  expect(errors).toBeUndefined();
  return data.createMessage;
}

function count(input: object, secret = owner.secret) {
  return ask(
    stack().origin,
    secret,
    "query ($input: MessageTokenCountInput!) { messageTokenCount(input: $input) { inputTokens } }",
    { input: { model, messages, ...input } },
  );
}

describe("createMessage", () => {
  test("returns the provider's message, charged exactly as over REST", async () => {
    const { message, userErrors } = await create({ verifyTee: true });
    const cost = priceOf(PROMPT, 5);
    expect(userErrors).toEqual([]);
    expect(message).toMatchObject({
      content: [{ type: "text", text: message.text }],
      text: expect.stringMatching(/\w/),
      stopReason: "max_tokens",
      stopSequence: null,
      inputTokens: PROMPT,
      outputTokens: 5,
      bill: { cost: { total: String(cost) }, teeVerified: true },
    });
    await requireAvailable(stack().app, owner, { available: START - cost });
    const body = { model, max_tokens: 5, messages: [{ role: "user", content: "Say something." }] };
    await rest(stack().origin, "/v1/messages", owner.secret, { body });
    await requireAvailable(stack().app, owner, { available: START - 2n * cost });
  });

  test("is charged once per idempotency key", async () => {
    const idempotencyKey = newId();
    const first = await create({ idempotencyKey });
    expect(await create({ idempotencyKey })).toEqual(first);
    await requireAvailable(stack().app, owner, { available: START - priceOf(PROMPT, 5) });
  });

  test("sends system, tools, options and the version of the format to the provider", async () => {
    const seen: { body: object; headers: Readonly<Record<string, unknown>> }[] = [];
    services().messages.onBody = (body, headers) =>
      void seen.push({ body: JSON.parse(body.toString("utf8")), headers });
    const { message } = await create({
      maxTokens: 100,
      messages: [{ role: "USER", content: [{ type: "text", text: "Look up the sea." }] }],
      system: "Be short.",
      tools: [TOOL],
      options: { temperature: 0.5, model, stream: false },
      anthropicVersion: "2023-01-01",
      anthropicBeta: ["one-2024", "two-2025"],
    });
    expect(message).toMatchObject({ text: "", stopReason: "tool_use", content: [{ type: "tool_use" }] });
    expect(seen[0]?.body).toMatchObject({
      model,
      max_tokens: 100,
      stream: false,
      temperature: 0.5,
      system: "Be short.",
      tools: [TOOL],
      messages: [{ role: "user", content: [{ type: "text", text: "Look up the sea." }] }],
    });
    expect(seen[0]?.headers).toMatchObject({
      "anthropic-version": "2023-01-01",
      "anthropic-beta": "one-2024,two-2025",
    });
  });

  test("counts the tokens of a cache as part of the prompt", async () => {
    services().messages.behaviour = {
      usageJson: JSON.stringify({
        ...{ input_tokens: 10, output_tokens: 3 },
        ...{ cache_read_input_tokens: 20, cache_creation_input_tokens: 30 },
      }),
    };
    expect((await create({ maxTokens: 100 })).message).toMatchObject({ inputTokens: 60, outputTokens: 3 });
  });

  test.each([
    [{ maxTokens: 0 }, "maxTokens", "invalid_body"],
    [{ messages: [] }, "messages", "invalid_body"],
    [{ messages: [{ role: "USER", content: 1 }] }, "messages.0.content", "invalid_body"],
    [{ system: 1 }, "system", "invalid_body"],
    [{ anthropicBeta: ["a\nb"] }, "anthropicBeta", "invalid_parameter"],
    [{ model: MODEL }, "model", "invalid_body"],
    [{ model: "none" }, "model", "model_not_found"],
  ])("refuses %j at its field, without a charge", async (input, field, code) => {
    expect(await create(input)).toMatchObject({ message: null, userErrors: [{ field, code }] });
    await requireAvailable(stack().app, owner, { available: START });
  });
});

describe.each([
  ["a socket", followSocket],
  ["server-sent events", followEvents],
])("createMessage over %s", (_transport, follow) => {
  type Piece = {
    readonly delta: { readonly text: string | null; readonly event: { readonly type: string } } | null;
    readonly bill: object | null;
  };
  const PIECE = `delta { index text thinking toolInput stopReason event } inputTokens outputTokens ${BILL}`;

  async function stream(more: string): Promise<readonly Piece[]> {
    const following = await follow(
      stack().origin,
      owner.secret,
      `subscription { createMessage(input: { model: "${model}", messages: [{ role: USER, content: "Say something." }], ${more} }) { ${PIECE} } }`,
    );
    const pieces = () => following.results.map(({ data }) => data.createMessage as Piece);
    await until(() => following.results.some(({ data }) => data?.createMessage?.bill));
    await following.stop();
    return pieces();
  }

  test("delivers the text in pieces, then the bill", async () => {
    const pieces = await stream("maxTokens: 5");
    const cost = priceOf(PROMPT, 5);
    expect(pieces.map(({ delta }) => delta?.event.type)).toEqual([
      "message_start",
      "content_block_start",
      ...Array.from({ length: pieces.length - 5 }, () => "content_block_delta"),
      "content_block_stop",
      "message_delta",
      undefined,
    ]);
    expect(pieces.map(({ delta }) => delta?.text ?? "").join("")).toMatch(/\w/);
    expect(pieces.at(-2)).toMatchObject({ delta: { index: null, stopReason: "max_tokens" }, bill: null });
    expect(pieces.at(-1)).toMatchObject({
      delta: null,
      inputTokens: PROMPT,
      outputTokens: 5,
      bill: { cost: { total: String(cost) }, teeVerified: null },
    });
    await requireAvailable(stack().app, owner, { available: START - cost });
  });

  test("delivers the input of a tool in pieces", async () => {
    const tool = `{ name: "look_up", input_schema: { type: "object", properties: { word: { type: "string" } } } }`;
    const pieces = (await stream(`maxTokens: 100, tools: [${tool}]`)) as readonly {
      readonly delta: {
        readonly toolInput: string | null;
        readonly event: { content_block?: object };
      } | null;
    }[];
    expect(JSON.parse(pieces.map(({ delta }) => delta?.toolInput ?? "").join(""))).toEqual(
      expect.any(Object),
    );
    expect(pieces.find(({ delta }) => delta?.event.content_block)?.delta?.event.content_block).toMatchObject({
      type: "tool_use",
      name: "look_up",
    });
  });
});

test("unsubscribing stops the provider, and only what was delivered is charged", async () => {
  services().messages.behaviour = { chunkDelayMs: 30 };
  const following = await followSocket(
    stack().origin,
    owner.secret,
    `subscription { createMessage(input: { model: "${model}", messages: [{ role: USER, content: "Say something." }], maxTokens: 2000 }) { delta { text } bill { requestId } } }`,
  );
  await until(() => following.results.length > 3);
  await following.stop();
  const { rows } = await until(async () => {
    const page = await stack().app.requests.list(owner.account, { first: 1 });
    return page.rows[0]?.status !== "running" && page.rows.length > 0 && page;
  });
  expect(rows[0]?.outputTokens).toBeLessThan(2_000);
});

test("an interrupted stream ends with the bill of what was delivered, and the failure", async () => {
  const start = { type: "message_start", message: { usage: { input_tokens: 10, output_tokens: 1 } } };
  const word = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: " sea" } };
  const body = [start, word]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
  services().messages.behaviour = { instead: { status: 200, contentType: "text/event-stream", body } };
  const following = await followEvents(
    stack().origin,
    owner.secret,
    `subscription { createMessage(input: { model: "${model}", messages: [{ role: USER, content: "Hi" }], maxTokens: 9 }) { delta { text } bill { requestId } } }`,
  );
  const failed = await until(() => following.results.find(({ errors }) => errors) ?? false);
  await following.stop();
  expect(failed.errors?.[0]?.extensions?.code).toBe("provider_error");
  const bills = following.results.flatMap(({ data }) => data?.createMessage?.bill ?? []);
  expect(bills).toEqual([{ requestId: expect.stringMatching(/^req-/) }]);
});

describe("messageTokenCount", () => {
  test("is the count of REST, and costs nothing", async () => {
    const body = { model, messages: [{ role: "user", content: "Say something." }], system: "Be short." };
    const { body: counted } = await rest<{ input_tokens: number }>(
      stack().origin,
      "/v1/messages/count_tokens",
      owner.secret,
      { body },
    );
    const { data, errors } = await count({ system: "Be short." });
    expect(errors).toBeUndefined();
    expect(data.messageTokenCount.inputTokens).toBe(counted.input_tokens);
    expect(counted.input_tokens).toBeGreaterThan(PROMPT);
    await requireAvailable(stack().app, owner, { available: START });
  });

  test("names the field of a prompt that is not valid, as the client spelt it", async () => {
    const { errors } = await count({ messages: [], anthropicBeta: [] });
    expect(errors?.[0]?.extensions).toMatchObject({ code: "invalid_body", param: "messages" });
    const beta = await count({ anthropicBeta: ["\n"] });
    expect(beta.errors?.[0]?.extensions).toMatchObject({ code: "invalid_parameter", param: "anthropicBeta" });
  });
});
