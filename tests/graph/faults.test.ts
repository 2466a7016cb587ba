// @module-tag large
import { readFileSync } from "node:fs";
import {
  buildSchema,
  type GraphQLInputObjectType,
  isInputObjectType,
  isNonNullType,
  isScalarType,
} from "graphql";
import { describe, expect, test } from "vitest";
import { drawImage } from "../../src/devnet/provider/endpoints/image.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { openSession } from "../support/callers.ts";
import { MODEL } from "../support/chain/network.ts";
import { ask, followSocket, type GraphResult, isRouted } from "../support/clients/graph-client.ts";
import { toWav } from "../support/inference/wav.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

/** May also do what only operators may. */
const OPERATOR = `0x${"0e".repeat(20)}`;
const stack = useStack({ TOKEN_USD: "0.5", OPERATORS: OPERATOR });
useServices(stack, ["messages", "images", "edits", "speech", "embeddings", "voice", "rerank"]);
const PNG = drawImage("a sea", { width: 8, height: 8 }).toString("base64");
const schema = buildSchema(readFileSync("schema/api.graphql", "utf8"));

const CHAT = { model: MODEL, messages: [{ role: "user", content: "hi" }] };
const MESSAGE = {
  model: SERVICES.messages.model,
  messages: [{ role: "USER", content: "hi" }],
  maxTokens: 3,
};
const AUDIO = { model: SERVICES.speech.model, fileBase64: toWav(1).toString("base64") };

/** A valid input of each mutation that bills. */
const BILLED = {
  completeChat: CHAT,
  createMessage: MESSAGE,
  generateImages: { model: SERVICES.images.model, prompt: "a sea" },
  submitImageJob: { model: SERVICES.images.model, prompt: "a sea" },
  editImages: { model: SERVICES.edits.model, prompt: "a sea", images: [{ fileBase64: PNG }] },
  submitImageEditJob: { model: SERVICES.edits.model, prompt: "a sea", images: [{ fileBase64: PNG }] },
  createEmbeddings: { model: SERVICES.embeddings.model, texts: ["a sea"] },
  transcribeAudio: AUDIO,
  createSpeech: { model: SERVICES.voice.model, text: "a sea", voice: "alloy" },
  rerankDocuments: { model: SERVICES.rerank.model, query: "a sea", documents: ["a sea"] },
} as const;

type Fault = { readonly field: string | null; readonly message: string; readonly code: string };

async function mutate(
  field: string,
  input: object,
  secret?: string,
): Promise<GraphResult & { faults: Fault[] }> {
  const given = secret ?? (await seedAccount(stack().app.database, 10n ** 9n)).secret;
  const type = inputOf(field).name;
  const query = `mutation ($input: ${type}!) { ${field}(input: $input) { userErrors { field message code } } }`;
  const result = await ask(stack().origin, given, query, { input });
  return { ...result, faults: result.data?.[field]?.userErrors ?? [] };
}

async function asked(query: string, variables: object = {}): Promise<GraphResult> {
  const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
  return ask(stack().origin, secret, query, variables);
}

function inputOf(mutation: string): GraphQLInputObjectType {
  const type = schema.getMutationType()?.getFields()[mutation]?.args[0]?.type;
  const named = isNonNullType(type) ? type.ofType : type;
  if (!isInputObjectType(named)) throw new Error(`${mutation} has no input`);
  return named;
}

/** The mutations whose input names an object by its `id`. */
const OF_OBJECTS = Object.keys(schema.getMutationType()?.getFields() ?? {}).filter((field) => {
  const [argument] = schema.getMutationType()?.getFields()[field]?.args ?? [];
  return argument !== undefined && "id" in inputOf(field).getFields();
});

test("every mutation that bills has its row here", () => {
  const billed = Object.keys(schema.getMutationType()?.getFields() ?? {}).filter(
    (field) => inputs(field).includes("routing") && inputs(field).includes("idempotencyKey"),
  );
  expect(billed.toSorted()).toEqual(Object.keys(BILLED).toSorted());
});

function inputs(field: string): readonly string[] {
  const [argument] = schema.getMutationType()?.getFields()[field]?.args ?? [];
  return argument === undefined || isScalarType(argument.type) ? [] : Object.keys(inputOf(field).getFields());
}

test.each(OF_OBJECTS)("%s names `id` for an object that does not exist", async (field) => {
  const { data } = await ask(stack().origin, undefined, "{ eventCursor }");
  const more = inputs(field).includes("after") && { after: data.eventCursor };
  const session = await openSession(stack().app, OPERATOR);
  const { faults, errors } = await mutate(field, { id: newId(), ...more }, session);
  expect(errors).toBeUndefined();
  expect(faults).toMatchObject([{ field: "id", code: expect.stringMatching(/_not_found$/) }]);
});

describe.each(Object.entries(BILLED))("%s", (field, input) => {
  test.each([
    [{ provider: `0x${"11".repeat(20)}` }, "provider", "provider_not_found"],
    [{ maxPriceUsdPrompt: "1".repeat(20) }, "maxPriceUsdPrompt", "invalid_max_price_usd"],
    [{ order: Array(51).fill(`0x${"11".repeat(20)}`) }, "order", "invalid_parameter"],
    [{ fallbackModels: Array(6).fill("x") }, "fallbackModels", "invalid_parameter"],
    [{ sessionId: "x".repeat(257) }, "sessionId", "invalid_parameter"],
  ])("names the member of `routing` at fault: %j", async (routing, member, code) => {
    const { faults, errors } = await mutate(field, { ...input, routing });
    expect(errors).toBeUndefined();
    expect(faults).toMatchObject([{ field: `routing.${member}`, code }]);
  });

  test("names the key of another call", async () => {
    const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
    const key = { idempotencyKey: newId() };
    await mutate(field, { ...input, ...key, model: "one" }, secret);
    await mutate(field, { ...input, ...key }, secret);
    const { faults, errors } = await mutate(field, { ...input, ...key, model: "another" }, secret);
    expect(errors).toBeUndefined();
    expect(faults).toMatchObject([{ field: "idempotencyKey", code: "idempotency_key_reused" }]);
    const invalid = await mutate(field, { ...input, idempotencyKey: "é" }, secret);
    expect(invalid.faults).toMatchObject([
      { field: "idempotencyKey", message: expect.stringMatching(/^idempotencyKey: /) },
    ]);
  });

  test("has no message in the spelling of REST", async () => {
    const wrong = [
      { model: "" },
      { model: "x".repeat(300) },
      { maxTokens: 0 },
      { n: 0 },
      { dimensions: 0 },
      { prompt: "" },
      { filename: "" },
      { fileBase64: "?" },
      { images: [{ fileBase64: "?" }] },
      { messages: [] },
      { texts: [] },
      { text: "" },
      { voice: "" },
      { speed: 9 },
      { documents: [] },
      { topN: 0 },
    ].filter((member) => Object.keys(member).every((name) => inputs(field).includes(name)));
    for (const member of wrong) {
      const { faults, errors } = await mutate(field, { ...input, ...member });
      expect(errors).toBeUndefined();
      for (const { message, field: named } of faults) {
        expect(message).not.toMatch(/[a-z0-9]_[a-z0-9]/);
        expect([named?.split(".")[0], message.split(/[.:]/)[0]]).toEqual([
          Object.keys(member)[0],
          Object.keys(member)[0],
        ]);
      }
    }
  });
});

test.each([
  ["completeChat", "ChatInput", { ...CHAT, options: { n: 0 } }, "options.n"],
  ["completeChat", "ChatInput", { ...CHAT, options: { model: "another" } }, "options.model"],
  ["completeChat", "ChatInput", { ...CHAT, options: { stream: false } }, "options.stream"],
  [
    "completeChat",
    "ChatInput",
    { ...CHAT, messages: [{ role: "user", content: "Hi", more: { content: [] } }] },
    "messages.0.more.content",
  ],
  ["completeChat", "ChatInput", { ...CHAT, maxTokens: 0 }, "maxTokens"],
  [
    "completeChat",
    "ChatInput",
    { ...CHAT, routing: { provider: `0x${"11".repeat(20)}` } },
    "routing.provider",
  ],
  [
    "createMessage",
    "MessageInput",
    { ...MESSAGE, options: { provider: { sort: "x" } } },
    "options.provider.sort",
  ],
  ["createMessage", "MessageInput", { ...MESSAGE, options: { stream: false } }, "options.stream"],
  ["createMessage", "MessageInput", { ...MESSAGE, maxTokens: 0 }, "maxTokens"],
] as const)("the subscription %s names the member of its %s", async (field, type, input, param) => {
  const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
  const query = `subscription { ${field}(input: $input) { inputTokens } }`.replace(
    "{",
    `($input: ${type}!) {`,
  );
  const following = await followSocket(stack().origin, secret, query, { variables: { input } });
  await following.ended;
  const errors = following.failure ?? following.results.flatMap(({ errors: found = [] }) => found);
  expect(errors).toMatchObject([{ extensions: { param } }]);
  expect(errors[0]?.message).not.toMatch(/[a-z0-9]_[a-z0-9]/);
  await following.stop();
});

test.each([
  [
    "messageTokenCount",
    "{ messageTokenCount(input: $input) { inputTokens } }",
    "MessageTokenCountInput!",
    { model: "", messages: [] },
    "model",
  ],
  [
    "routingPreview",
    "{ routingPreview(serviceType: CHATBOT, maxTokens: $input) { providers { address } } }",
    "Int",
    0,
    "maxTokens",
  ],
])("the query %s names its argument", async (_, query, type, input, param) => {
  const { errors } = await asked(`query ($input: ${type}) ${query}`, { input });
  expect(errors).toMatchObject([{ message: expect.stringMatching(`^${param}: `), extensions: { param } }]);
});

test.runIf(!isRouted).each([
  ["query ($n: Int!) { models(first: $n) { totalCount } }", {}, "n", "invalid_parameter"],
  ["query ($n: Int!) { models(first: $n) { totalCount } }", { n: "many" }, "n", "invalid_parameter"],
  [
    "query ($f: ModelFilterInput) { models(filter: $f) { totalCount } }",
    { f: { providerAddresses: ["0x1"] } },
    "f.providerAddresses.0",
    "invalid_parameter",
  ],
  [
    "query ($f: ModelFilterInput) { models(filter: $f) { totalCount } }",
    { f: { no: 1 } },
    "f.no",
    "invalid_parameter",
  ],
  ["query ($c: Cursor) { models(after: $c) { totalCount } }", { c: "ä" }, "after", "invalid_cursor"],
  [
    "query ($c: Cursor) { models(last: 1, before: $c) { totalCount } }",
    { c: "" },
    "before",
    "invalid_cursor",
  ],
  ["query ($c: Cursor) { models(after: $c) { totalCount } }", { c: "AAAA" }, "after", "invalid_cursor"],
])("%s with %j names the variable or argument", async (query, variables, param, code) => {
  const { errors } = await asked(query, variables);
  expect(errors).toMatchObject([{ extensions: { code, param } }]);
});

test.runIf(!isRouted)("a literal that is not a cursor is refused as an invalid cursor too", async () => {
  for (const literal of ['""', '"ä"', '"AAAA"']) {
    const { errors } = await asked(`{ models(after: ${literal}) { totalCount } }`, {});
    expect(errors, literal).toMatchObject([{ extensions: { code: "invalid_cursor" } }]);
  }
});

test.runIf(!isRouted).each([
  ['{ account(address: "0x12") { address } }', "address"],
  ['{ block(number: "-1") { number } }', "number"],
  ['{ models(filter: { providerAddresses: ["0x1"] }) { totalCount } }', "filter.providerAddresses.0"],
  ["{ models(filter: { no: 1 }) { totalCount } }", "filter.no"],
  ['mutation { createApiKey(input: { name: "a", allowedModels: [1] }) { secret } }', "allowedModels.0"],
  ["{ models(no: 1) { totalCount } }", "no"],
  ["{ file { root } }", "root"],
])("the invalid literal in %s is named by its path", async (query, param) => {
  const { errors } = await asked(query, {});
  expect(errors).toMatchObject([{ extensions: { param } }]);
});

describe("a text that no row can have", () => {
  test.each([
    ["models", "ModelFilterInput", { inputModalities: ["image", "\ud800"] }, "filter.inputModalities.1"],
    ["models", "ModelFilterInput", { supportedParameters: ["\udc00"] }, "filter.supportedParameters.0"],
    ["models", "ModelFilterInput", { supportedParameters: ["a\0"] }, "filter.supportedParameters.0"],
    ["providers", "ProviderFilterInput", { modelId: "\ud800" }, "filter.modelId"],
    ["models", "ModelFilterInput", { minContextLength: -1 }, "filter.minContextLength"],
  ])("in the filter of %s (%s: %j) is refused by name", async (field, type, filter, param) => {
    const query = `query ($filter: ${type}) { ${field}(filter: $filter) { totalCount } }`;
    const { errors } = await asked(query, { filter });
    expect(errors).toMatchObject([{ extensions: { code: "invalid_parameter", param } }]);
  });
});

test
  .skipIf(isRouted)
  .each([
    "{ models(first: 1) { nodes @stream(initialCount: -1) { modelId } } }",
    "query ($n: Int!) { models(first: 1) { nodes @stream(initialCount: $n) { modelId } } }",
  ])("%s is refused for less than no items", async (query) => {
  const { errors } = await asked(query, query.includes("$n") ? { n: -1 } : {});
  expect(errors).toMatchObject([{ extensions: { code: "invalid_parameter", param: "initialCount" } }]);
});

test("too many content blocks are called so, and a wrong block is named", async () => {
  const blocks = (count: number) => Array.from({ length: count }, () => ({ type: "text", text: "" }));
  const {
    faults: [many],
  } = await mutate("createMessage", {
    ...MESSAGE,
    messages: [{ role: "USER", content: blocks(10_001) }],
  });
  expect(many).toMatchObject({ field: "messages.0.content", message: expect.stringMatching(/10,?000/) });
  const {
    faults: [wrong],
  } = await mutate("createMessage", {
    ...MESSAGE,
    messages: [{ role: "USER", content: [...blocks(1), { text: "" }] }],
  });
  expect(wrong).toMatchObject({ field: "messages.0.content.1.type" });
  const {
    faults: [neither],
  } = await mutate("createMessage", { ...MESSAGE, system: 5 });
  expect(neither).toMatchObject({ message: "system: must be a string or a list of content blocks" });
});

test.skipIf(isRouted)("a member that could change a prototype is named, wherever it arrives", async () => {
  const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
  const query =
    "mutation ($input: CompleteChatInput!) { completeChat(input: $input) { userErrors { field message } } }";
  const body = (member: string) =>
    `{"query":${JSON.stringify(query)},"variables":{"input":{"model":"${MODEL}","messages":[{"role":"user"}],"options":{${member}}}}}`;
  for (const [member, path] of [
    ['"__proto__":{"a":1}', "__proto__"],
    ['"constructor":{"prototype":{}}', "constructor.prototype"],
  ] as const) {
    const reply = await fetch(`${stack().origin}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      body: body(member),
    });
    const { errors } = (await reply.json()) as GraphResult;
    expect(errors).toMatchObject([
      { extensions: { code: "invalid_body", param: `variables.input.options.${path}` } },
    ]);
  }
  const literal = `mutation { completeChat(input: { model: "${MODEL}", messages: [{ role: "user" }], options: { __proto__: { a: 1 } } }) { userErrors { field message } } }`;
  const { data } = await ask(stack().origin, secret, literal);
  expect(data.completeChat.userErrors).toMatchObject([{ field: "options.__proto__" }]);
});

test("a duplicate field of a request is refused", async () => {
  const reply = await fetch(`${stack().origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"query":"{ __typename }","query":"{ models { totalCount } }"}',
  });
  const { errors } = (await reply.json()) as GraphResult;
  expect([reply.status, errors?.[0]]).toMatchObject([
    400,
    { message: "query: duplicate field", extensions: { code: "invalid_body", param: "query" } },
  ]);
});

test("granularities of times require the format that has times", async () => {
  const granular = { ...AUDIO, timestampGranularities: ["WORD"] };
  for (const format of ["JSON", "TEXT", "SRT", "VTT"]) {
    const { faults } = await mutate("transcribeAudio", { ...granular, format });
    expect(faults).toMatchObject([{ field: "timestampGranularities", code: "invalid_body" }]);
  }
  expect((await mutate("transcribeAudio", granular)).faults).toEqual([]);
});
