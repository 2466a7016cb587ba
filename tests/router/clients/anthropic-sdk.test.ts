import Anthropic from "@anthropic-ai/sdk";
import { beforeEach, describe, expect, test } from "vitest";
import { countPromptTokens } from "../../../src/inference/billing/tokens.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { whileUnacknowledged } from "../../support/chain/acknowledgement.ts";
import { MODEL } from "../../support/chain/network.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();
const services = useServices(stack, ["messages", "images", "speech", "embeddings"]);
const { model, inputPrice, outputPrice } = SERVICES.messages;
const messages = [{ role: "user" as const, content: "Say something." }];
const PROMPT = countPromptTokens(messages);
const START = 1_000_000n;
const ask = { model, max_tokens: 6, messages };

let owner: Seeded;
let client: Anthropic;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  client = clientOf(owner.secret);
  services().messages.behaviour = {};
});

test("a message, plain and streamed, is the same and charged exactly", async () => {
  const message = await client.messages.create(ask);
  const [block] = message.content;
  if (block?.type !== "text") throw new Error("no text");
  expect(message.usage).toMatchObject({ input_tokens: PROMPT, output_tokens: 6 });
  expect(message.stop_reason).toBe("max_tokens");
  expect(message._request_id).toMatch(/^req-/);

  const streamed = client.messages.stream(ask);
  expect(await streamed.finalText()).toBe(block.text);
  const final = await streamed.finalMessage();
  expect(final).toMatchObject({
    stop_reason: "max_tokens",
    usage: { input_tokens: PROMPT, output_tokens: 6 },
  });
  const cost = BigInt(PROMPT) * inputPrice + 6n * outputPrice;
  await requireAvailable(stack().app, owner, { available: START - 2n * cost });
});

test("the events follow Anthropic's grammar", async () => {
  const events = await Array.fromAsync(await client.messages.create({ ...ask, stream: true }));
  const types = events.map(({ type }) => type);
  expect(types[0]).toBe("message_start");
  expect(types.at(-1)).toBe("message_stop");
  expect(types.filter((type) => type === "message_start" || type === "message_stop")).toHaveLength(2);
  expect(types.indexOf("content_block_start")).toBeLessThan(types.indexOf("content_block_delta"));
  expect(types.lastIndexOf("content_block_delta")).toBeLessThan(types.indexOf("content_block_stop"));
  expect(types.indexOf("content_block_stop")).toBeLessThan(types.indexOf("message_delta"));
});

test("tools are called, plain and streamed, and their results are accepted", async () => {
  const input_schema = { type: "object" as const, properties: { city: { type: "string" } } };
  const tools = [{ name: "weather", input_schema }];
  const message = await client.messages.create({ ...ask, tools });
  const [use] = message.content;
  if (use?.type !== "tool_use") throw new Error("no tool was used");
  expect([message.stop_reason, use.name, use.input]).toEqual([
    "tool_use",
    "weather",
    { city: expect.any(String) },
  ]);
  const streamed = await client.messages.stream({ ...ask, tools }).finalMessage();
  expect(streamed.content[0]).toMatchObject({ type: "tool_use", name: "weather", input: use.input });
  const answered = await client.messages.create({
    ...ask,
    tools,
    messages: [
      ...messages,
      { role: "assistant", content: message.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "sun" }] },
    ],
  });
  expect(answered.content[0]?.type).toBe("text");
});

test.each([false, true])("its runner of tools sends the whole conversation, streamed: %s", async (stream) => {
  const bodies: { readonly thread?: object; readonly messages: readonly object[] }[] = [];
  const recording = clientOf(owner.secret, 0, (_url, init) => bodies.push(JSON.parse(String(init?.body))));
  const runner = recording.beta.messages.toolRunner({
    ...{ model, max_tokens: 6, messages, stream },
    tools: [
      {
        name: "weather",
        input_schema: { type: "object", properties: { city: { type: "string" } } },
        run: () => "sun",
      },
    ],
  });
  const final = await runner.runUntilDone();
  expect(final.content[0]?.type).toBe("text");
  const sent = bodies.map(({ thread, messages: all }) => [thread?.constructor, all.length]);
  expect(sent).toEqual([
    [Object, 1],
    [undefined, 1],
    [undefined, 3],
  ]);
});

test("a structured answer, plain and streamed, matches the schema of both forms of the request", async () => {
  const step = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const steps = { type: "array", items: { $ref: "#/$defs/Step" } };
  const schema = { $defs: { Step: step }, type: "object", properties: { steps }, required: ["steps"] };
  const format = { type: "json_schema" as const, schema };
  for (const fields of [{ output_config: { format } }, { output_format: format }]) {
    const request = { model, messages, max_tokens: 50, ...fields };
    const [block] = (await client.messages.create(request)).content;
    const text = block?.type === "text" ? block.text : "";
    expect(JSON.parse(text)).toEqual({ steps: [{ name: expect.any(String) }] });
    expect(await client.messages.stream(request).finalText()).toBe(text);
  }
});

test("tokens are counted, and not charged", async () => {
  const { input_tokens } = await client.messages.countTokens({ model, messages });
  expect(input_tokens).toBe(PROMPT);
  await requireAvailable(stack().app, owner, { available: START });
});

describe("models", () => {
  const others = ["images", "speech", "embeddings"] as const;
  const ids = [MODEL, model, ...others.map((name) => SERVICES[name].model)].toSorted();
  const [first = "", , , , last = ""] = ids;

  test("are listed at once, as clients discover them, and one by its id", async () => {
    const page = await client.models.list({ limit: 1_000 });
    expect(page.data.map(({ id }) => id)).toEqual(ids);
    expect(page).toMatchObject({ has_more: false, first_id: ids[0], last_id: ids.at(-1) });
    const found = await client.models.retrieve(model);
    const expected: Anthropic.Beta.BetaModelInfo = {
      type: "model",
      id: model,
      display_name: "Test Claude",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      max_input_tokens: 200_000,
      max_tokens: 32_000,
      lifecycle: "active",
      allowed_fallback_models: [],
      capabilities: null,
      deprecated_at: null,
      line: null,
      retires_at: null,
    };
    expect(found).toEqual(expected);
    expect(page.data).toContainEqual(found);
    expect((await client.beta.models.list({ limit: 1 })).data).toHaveLength(1);
    expect(await client.beta.models.retrieve(model)).toEqual(expected);
  });

  test("have null for the sizes that no provider states", async () => {
    expect(await client.beta.models.retrieve(MODEL)).toMatchObject({
      id: MODEL,
      max_input_tokens: null,
      max_tokens: null,
    });
  });

  test("are paged in both directions", async () => {
    const forwards = await Array.fromAsync(client.models.list({ limit: 2 }));
    expect(forwards.map(({ id }) => id)).toEqual(ids);
    const middle = await client.models.list({ limit: 2, after_id: first });
    expect([middle.data.map(({ id }) => id), middle.has_more]).toEqual([ids.slice(1, 3), true]);
    const backwards = await Array.fromAsync(client.models.list({ limit: 2, before_id: last }));
    expect(backwards.map(({ id }) => id)).toEqual([ids[2], ids[3], ids[0], ids[1]]);
    const none = await client.models.list({ after_id: last });
    expect(none).toMatchObject({ data: [], has_more: false, first_id: null, last_id: null });
  });

  test("that are unknown, and a limit out of range, are the client's own errors", async () => {
    const unknown = await client.models.retrieve("none").catch((thrown: unknown) => thrown);
    expect(unknown).toBeInstanceOf(Anthropic.NotFoundError);
    expect(unknown).toMatchObject({
      error: { type: "error", error: { type: "not_found_error" } },
      requestID: expect.stringMatching(/^req-/),
    });
    for (const query of [{ limit: 1_001 }, { limit: 0 }, { after_id: "a", before_id: "b" }])
      await expect(client.models.list(query)).rejects.toThrow(Anthropic.BadRequestError);
  });
});

test("a key is also accepted as an auth token", async () => {
  const byToken = new Anthropic({
    apiKey: null,
    authToken: owner.secret,
    baseURL: stack().origin,
    maxRetries: 0,
  });
  expect((await byToken.messages.create(ask)).type).toBe("message");
});

describe("failures are the client's own error classes", () => {
  test.each([
    ["a wrong key", () => clientOf("sk-wrong").messages.create(ask), Anthropic.AuthenticationError],
    ["an unknown model", () => client.messages.create({ ...ask, model: "none" }), Anthropic.NotFoundError],
    [
      "a model of another format",
      () => client.messages.create({ ...ask, model: MODEL }),
      Anthropic.BadRequestError,
    ],
    ["no messages", () => client.messages.create({ ...ask, messages: [] }), Anthropic.BadRequestError],
  ])("%s", async (_what, call, type) => {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ requestID: expect.stringMatching(/^req-/) });
  });

  test("insufficient balance", async () => {
    const { secret } = await seedAccount(stack().app.database, 1n);
    await expect(clientOf(secret).messages.create(ask)).rejects.toThrow(Anthropic.PaymentRequiredError);
  });

  test("no available provider is reported as overloaded", async () => {
    const { address } = SERVICES.messages.account;
    const error = await whileUnacknowledged(stack(), address, () =>
      client.messages.create(ask).catch((thrown: unknown) => thrown),
    );
    expect(error).toMatchObject({ status: 529, error: { error: { type: "overloaded_error" } } });
  });

  test("a broken stream throws, after the content that preceded it", async () => {
    services().messages.behaviour = { breakAfterEvents: 6, chunkDelayMs: 5 };
    const stream = client.messages.stream({ ...ask, max_tokens: 20 });
    let seen = "";
    stream.on("text", (text) => {
      seen += text;
    });
    await expect(stream.finalMessage()).rejects.toThrow(Anthropic.APIError);
    expect(seen).not.toBe("");
  });
});

test("aborting disconnects the provider at once and releases the hold", async () => {
  services().messages.behaviour = { chunkDelayMs: 50 };
  const { aborted } = services().messages;
  const stream = client.messages.stream({ ...ask, max_tokens: 60 });
  stream.on("text", () => stream.abort());
  await expect(stream.finalMessage()).rejects.toThrow(Anthropic.APIUserAbortError);
  await until(async () => expect(services().messages.aborted).toBe(aborted + 1), 2_000);
  await until(async () => {
    const balance = await balanceAtRest(stack().app, owner.account);
    expect(balance?.held).toBe(0n);
    expect(balance?.available).toBeLessThan(START);
  });
});

test("the client retries a failed provider, as nothing was charged", async () => {
  services().messages.behaviour = { instead: { status: 500, contentType: "text/plain", body: "x" } };
  let calls = 0;
  const counting = clientOf(owner.secret, 1, () => calls++);
  await expect(counting.messages.create(ask)).rejects.toThrow(Anthropic.InternalServerError);
  expect(calls).toBe(2);
});

function clientOf(
  apiKey: string,
  maxRetries = 0,
  onCall?: (...request: Parameters<typeof fetch>) => void,
): Anthropic {
  return new Anthropic({
    apiKey,
    baseURL: stack().origin,
    maxRetries,
    fetch: (...request) => {
      onCall?.(...request);
      return fetch(...request);
    },
  });
}
