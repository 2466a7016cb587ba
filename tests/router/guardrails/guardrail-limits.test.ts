// @module-tag large
import { beforeEach, describe, expect, test } from "vitest";
import type { KeySettings } from "../../../src/keys/api-keys/key-settings.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { completion, DONE, openStream, sendJson } from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";

const MODEL = "chat";
const TEXT_MODEL = "text";
const RESPONSES_MODEL = "responses";
const router = await useRouter({
  models: [MODEL],
  count: 1,
  more: () => [
    { id: TEXT_MODEL, supported_formats: ["completions"], pricing: { prompt: "1", completion: "1" } },
    { id: RESPONSES_MODEL, supported_formats: ["responses"], pricing: { prompt: "1", completion: "1" } },
    { id: "claude", supported_formats: ["anthropic"], pricing: { prompt: "1", completion: "1" } },
  ],
});

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed(10n ** 12n);
});

async function keyWith(settings: Partial<KeySettings>): Promise<Seeded> {
  const { key, secret } = await router().app.apiKeys.create(
    owner.account,
    `key-${crypto.randomUUID()}`,
    settings,
  );
  return { account: owner.account, keyId: key.id, secret };
}

const chat = { model: MODEL, messages: [{ role: "user", content: "What is the sea?" }] };
const message = { model: "claude", messages: chat.messages, max_tokens: 10 };
const text = { model: TEXT_MODEL, prompt: "The sea is" };

async function post({ secret }: Seeded, path: string, body: object) {
  const reply = await fetch(`${router().origin}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify(body),
  });
  const answer = (await reply.json()) as { error?: { code: string; param?: string; message: string } };
  return { status: reply.status, ...answer.error };
}

/** The newest body that the provider received of a model. */
const sent = (model: string) => router().scripted[0]?.callsOf(model).at(-1)?.body ?? {};

describe("the most tokens of an answer", () => {
  test.each<[string, string, object]>([
    ["max_tokens", "chat/completions", { ...chat, max_tokens: 51 }],
    ["max_completion_tokens", "chat/completions", { ...chat, max_completion_tokens: 51 }],
    ["max_completion_tokens", "chat/completions", { ...chat, max_tokens: 5, max_completion_tokens: 51 }],
    ["max_tokens", "chat/completions", { ...chat, max_tokens: 51, max_completion_tokens: 5 }],
    ["max_tokens", "chat/completions", { ...chat, max_tokens: 2_147_483_647, stream: true }],
    ["reasoning.max_tokens", "chat/completions", { ...chat, max_tokens: 5, reasoning: { max_tokens: 51 } }],
    ["n", "chat/completions", { ...chat, max_tokens: 26, n: 2 }],
    ["n", "chat/completions", { ...chat, n: 51 }],
    ["max_output_tokens", "responses", { model: MODEL, input: "hi", max_output_tokens: 51 }],
    ["max_tokens", "completions", { ...text, max_tokens: 51 }],
    ["n", "completions", { ...text, max_tokens: 26, n: 2 }],
    ["prompt", "completions", { ...text, prompt: ["a", "b", "c"], max_tokens: 17 }],
    ["prompt", "completions", { ...text, prompt: Array.from({ length: 51 }, () => "a") }],
  ])("is refused by the name %s: %s", async (param, path, body) => {
    const refused = await post(await keyWith({ maxOutputTokens: 50 }), path, body);
    expect(refused).toMatchObject({ status: 403, code: "guardrail_violated", param });
    expect(refused.message).toContain(param);
  });

  test("is refused for a message and its thinking", async () => {
    const key = await keyWith({ maxOutputTokens: 50 });
    for (const [body, field] of [
      [{ ...message, max_tokens: 51 }, "max_tokens is 51"],
      [{ ...message, thinking: { type: "enabled", budget_tokens: 52 } }, "thinking.budget_tokens is 52"],
    ] as const) {
      const refused = await post(key, "messages", body);
      expect(refused).toMatchObject({ status: 403, code: "guardrail_violated" });
      expect(refused.message).toContain(field);
    }
  });

  test("is given to a request without a limit, and divided among its answers", async () => {
    const key = await keyWith({ maxOutputTokens: 50 });
    expect((await post(key, "chat/completions", chat)).status).toBe(200);
    expect(sent(MODEL)).toMatchObject({ max_tokens: 50 });
    expect((await post(key, "chat/completions", { ...chat, n: 4 })).status).toBe(200);
    expect(sent(MODEL)).toMatchObject({ max_tokens: 12, n: 4 });
    expect((await post(key, "responses", { model: MODEL, input: "hi" })).status).toBe(200);
    expect(sent(MODEL)).toMatchObject({ max_tokens: 50 });
    await post(key, "chat/completions", { ...chat, max_tokens: null, max_completion_tokens: null });
    expect(sent(MODEL)).toMatchObject({ max_tokens: 50 });
  });

  test("lowers the default limit of a text completion, and never raises it", async () => {
    for (const [maxOutputTokens, body, max_tokens] of [
      [10, text, 10],
      [50, text, 16],
      [10, { ...text, prompt: ["a", "b"], n: 2 }, 2],
      [10, { ...text, max_tokens: 9 }, 9],
    ] as const) {
      await post(await keyWith({ maxOutputTokens }), "completions", body);
      expect(sent(TEXT_MODEL)).toMatchObject({ max_tokens });
    }
  });

  test("limits what is billed of an answer that is longer", async () => {
    const key = await keyWith({ maxOutputTokens: 3 });
    const words = Array.from({ length: 40 }, (_, n) => `word${n} `).join("");
    const usage = { prompt_tokens: 3, completion_tokens: 80, total_tokens: 83 };
    const head = { id: "c", object: "chat.completion.chunk", created: 1, model: MODEL };
    const chunk = (more: object) => `data: ${JSON.stringify({ ...head, ...more })}\n\n`;
    router().scripted[0]?.scripts.set(MODEL, (_call, response) => {
      openStream(response).end(
        chunk({ choices: [{ index: 0, delta: { content: words }, finish_reason: null }] }) +
          chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
          chunk({ choices: [], usage }) +
          DONE,
      );
    });
    const reply = await router().chat(key, { model: MODEL, stream: true });
    expect(await reply.text()).toContain("word39");
    router().scripted[0]?.scripts.clear();
    const [row] = await router().app.database.rows<{ tokens: number }>(
      "select output_tokens::int as tokens from inference_request where account = $1::text",
      [owner.account],
    );
    expect(row?.tokens).toBe(3);
  });
});

describe("tools", () => {
  const fn = (name: unknown) => ({ type: "function", function: { name, parameters: {} } });
  test.each<[string, object, "tools" | "functions"]>([
    ["a function", { tools: [fn("search"), fn("other")] }, "tools"],
    ["a function whose name differs in case", { tools: [fn("Search")] }, "tools"],
    ["a name that contains an allowed one", { tools: [fn("search\u0000")] }, "tools"],
    ["a name that is no text", { tools: [fn(["search"])] }, "tools"],
    ["a function without a name", { tools: [{ type: "function", function: {} }] }, "tools"],
    ["a function with two names", { tools: [{ ...fn("search"), name: "other" }] }, "tools"],
    ["a custom tool", { tools: [{ type: "custom", custom: { name: "other" } }] }, "tools"],
    ["a tool of its type", { tools: [{ type: "bash_20250124" }] }, "tools"],
    [
      "a tool of its type with an allowed name",
      { tools: [{ type: "bash_20250124", name: "search" }] },
      "tools",
    ],
    ["a tool that is null", { tools: [null] }, "tools"],
    ["tools that are no list", { tools: { 0: fn("search") } }, "tools"],
    ["a legacy function", { functions: [{ name: "other" }] }, "functions"],
  ])("%s that is not allowed is refused", async (_what, fields, param) => {
    const key = await keyWith({ allowedTools: ["search"] });
    const refused = await post(key, "chat/completions", { ...chat, ...fields });
    expect(refused).toMatchObject({ status: 403, code: "guardrail_violated", param });
  });

  const loaded = (...tools: readonly object[]) => ({
    input: [
      { role: "user", content: "a" },
      { type: "tool_search_output", call_id: "1", tools },
    ],
  });
  const plain = (name: string) => ({ type: "function", name });
  const group = (name: unknown, ...tools: readonly unknown[]) => ({ type: "namespace", name, tools });
  test.each<[string, object, string, string]>([
    ["a function", { tools: [plain("search"), group("web", plain("other"))] }, "tools", "tools.1.tools.0"],
    ["the second", { tools: [group("web", plain("search"), plain("other"))] }, "tools", "tools.0.tools.1"],
    ["one by an allowed name", { tools: [group("search", plain("other"))] }, "tools", "tools.0.tools.0"],
    ["a loaded tool", loaded(plain("search"), plain("other")), "input", "input.1.tools.1"],
    ["one in a loaded namespace", loaded(group("web", plain("other"))), "input", "input.1.tools.0.tools.0"],
  ])("%s in a namespace or from a search that is not allowed is refused", async (_, fields, param, place) => {
    const key = await keyWith({ allowedTools: ["search", "namespace"] });
    const refused = await post(key, "responses", { model: RESPONSES_MODEL, input: "a", ...fields });
    expect(refused).toMatchObject({ status: 403, code: "guardrail_violated", param });
    expect(refused.message).toContain(`${place} ("other")`);
  });

  test("of a namespace are allowed by their own names, or by those of a chat", async () => {
    const tools = [group("web", plain("search"), plain("read"))];
    const statuses: number[] = [];
    for (const allowedTools of [["search", "read"], ["search", "web__read"], ["web"], ["search"]])
      statuses.push(
        (await post(await keyWith({ allowedTools }), "responses", { model: MODEL, input: "a", tools }))
          .status,
      );
    expect(statuses).toEqual([200, 200, 403, 403]);
  });

  test("that are allowed by name or by type are passed on", async () => {
    const key = await keyWith({ allowedTools: ["search", "memory", "text_editor_20250728"] });
    for (const fields of [
      { tools: [fn("search")] },
      { tools: [] },
      { tools: null, functions: null, mcp_servers: [] },
      { functions: [{ name: "search" }] },
      { tools: [{ type: "memory_20250818", name: "memory" }] },
      { tools: [{ type: "text_editor_20250728", name: "str_replace_based_edit_tool" }] },
    ])
      expect((await post(key, "chat/completions", { ...chat, ...fields })).status).toBe(200);
  });
});

describe("blocked parameters", () => {
  test("of a chat are refused in a response too, by its own name", async () => {
    const key = await keyWith({ blockedParameters: ["logprobs", "response_format", "reasoning_effort"] });
    for (const [fields, param] of [
      [{ include: ["message.output_text.logprobs"] }, "include"],
      [{ text: { format: { type: "json_object" } } }, "text"],
      [{ reasoning: { effort: "high" } }, "reasoning"],
    ] as const)
      expect(await post(key, "responses", { model: MODEL, input: "hi", ...fields })).toMatchObject({
        status: 403,
        code: "guardrail_violated",
        param,
      });
    expect((await post(key, "responses", { model: MODEL, input: "hi" })).status).toBe(200);
  });

  test("that are null or false ask for nothing", async () => {
    const key = await keyWith({ blockedParameters: ["logprobs", "n", "constructor", "__proto__"] });
    for (const logprobs of [null, false])
      expect((await post(key, "chat/completions", { ...chat, logprobs })).status).toBe(200);
    expect((await post(key, "chat/completions", { ...chat, logprobs: true })).param).toBe("logprobs");
  });

  test("do not include the limit that a text completion gets by default", async () => {
    const key = await keyWith({ blockedParameters: ["max_tokens"] });
    await post(key, "completions", text);
    expect(sent(TEXT_MODEL)).toMatchObject({ max_tokens: 16 });
    expect((await post(key, "completions", { ...text, max_tokens: 16 })).param).toBe("max_tokens");
  });
});

describe("the most tokens of a prompt", () => {
  test("are counted with the tools and legacy functions, in long bodies too", async () => {
    const key = await keyWith({ maxInputTokens: 2_000 });
    const long = "The river runs to the sea. ".repeat(2_000);
    for (const fields of [
      { messages: [{ role: "user", content: long }] },
      { messages: [{ role: "user", content: "x".repeat(3_000_000) }] },
      { tools: [{ type: "function", function: { name: "a", description: long } }] },
      { functions: [{ name: "a", description: long }] },
    ])
      expect(await post(key, "chat/completions", { ...chat, ...fields })).toMatchObject({
        status: 403,
        code: "guardrail_violated",
        param: "body",
      });
    // Longer than its limit in bytes, but not in tokens.
    const short = { messages: [{ role: "user", content: "The river runs to the sea. ".repeat(200) }] };
    expect((await post(key, "chat/completions", { ...chat, ...short })).status).toBe(200);
  });
});

test("fields that a server may put into the prompt count for its limit", async () => {
  const key = await keyWith({ maxInputTokens: 100 });
  const words = "word ".repeat(500);
  for (const fields of [
    { chat_template: words },
    { response_format: { type: "json_schema", json_schema: { name: "a", schema: { description: words } } } },
    { prediction: { type: "content", content: words } },
  ])
    expect(await post(key, "chat/completions", { ...chat, ...fields })).toMatchObject({
      status: 403,
      code: "guardrail_violated",
    });
  // Long texts are not parsed in a large body.
  const large = { chat_template: "word ".repeat(600_000) };
  expect(await post(key, "chat/completions", { ...chat, ...large })).toMatchObject({
    status: 403,
    code: "guardrail_violated",
  });
  const small = { response_format: { type: "json_object" } };
  expect((await post(key, "chat/completions", { ...chat, ...small })).status).toBe(200);
});

describe("members beside the text of a part", () => {
  const words = "word ".repeat(500);
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const nested = (block: object) => ({ type: "tool_result", tool_use_id: "a", content: [block] });

  test.each<[string, object]>([
    ["of a text", { type: "text", text: "hi", extra: words }],
    ["of a text, in an object", { type: "text", text: "hi", extra: { deep: [words] } }],
    ["of a long type", { type: words, text: "hi" }],
    ["of an image", { ...image, caption: words }],
    ["within an image", { ...image, image_url: { ...image.image_url, detail: words } }],
    ["of a text with a content", { type: "text", text: "hi", content: words }],
    ["of a nested text", nested({ type: "text", text: "hi", extra: words })],
    ["beside nested texts", { ...nested({ type: "text", text: "hi" }), text: words }],
  ])("count for the limit: %s", async (_what, part) => {
    const key = await keyWith({ maxInputTokens: 1_500 });
    const messages = [{ role: "user", content: [part] }];
    const strict = await keyWith({ maxInputTokens: 200 });
    for (const [path, body] of [
      ["chat/completions", { ...chat, messages }],
      ["messages", { ...message, messages }],
    ] as const)
      expect(await post(strict, path, body)).toMatchObject({ status: 403, code: "guardrail_violated" });
    if (!JSON.stringify(part).includes("image_url"))
      expect((await post(key, "chat/completions", { ...chat, messages })).status).toBe(200);
  });

  test("are not billed by our own count", async () => {
    const rows = async () =>
      router().app.database.rows<{ tokens: number }>(
        "select input_tokens::int as tokens from inference_request where account = $1 order by created_at",
        [owner.account],
      );
    router().scripted[0]?.scripts.set(MODEL, (_call, response) => {
      sendJson(response, 200, completion({ usage: undefined }));
    });
    for (const part of [
      { type: "text", text: "hi" },
      { type: "text", text: "hi", extra: words },
    ])
      await post(owner, "chat/completions", { ...chat, messages: [{ role: "user", content: [part] }] });
    router().scripted[0]?.scripts.clear();
    const [plain, extra] = await rows();
    expect(extra).toEqual(plain);
  });

  test("documents count once, with their other members", async () => {
    const documents = [{ title: "sea", text: "word ".repeat(150) }];
    const key = await keyWith({ maxInputTokens: 220 });
    expect((await post(key, "chat/completions", { ...chat, documents })).status).toBe(200);
    const titled = [{ title: words, text: "a" }];
    expect(await post(key, "chat/completions", { ...chat, documents: titled })).toMatchObject({
      status: 403,
    });
  });
});

describe("in the graph", () => {
  const FIELDS = "completion { outputTokens } userErrors { code field message }";
  const complete = (key: Seeded, input: object) =>
    ask(
      router().origin,
      key.secret,
      `mutation ($input: CompleteChatInput!) { completeChat(input: $input) { ${FIELDS} } }`,
      { input: { ...chat, messages: [{ role: "USER", content: "hi" }], ...input } },
    );

  test("a refusal is a user error that names the field of the input", async () => {
    const key = await keyWith({ maxOutputTokens: 50 });
    const { data, errors } = await complete(key, { maxTokens: 51 });
    expect(errors).toBeUndefined();
    expect(data.completeChat).toMatchObject({
      completion: null,
      userErrors: [{ code: "guardrail_violated", field: "maxTokens" }],
    });
    expect((await complete(key, { maxTokens: 50 })).data.completeChat.userErrors).toEqual([]);
  });

  test("a message without a limit has a default one, or that of the key if it is lower", async () => {
    const create = (key: Seeded, input: object) =>
      ask(
        router().origin,
        key.secret,
        "mutation ($input: CreateMessageInput!) { createMessage(input: $input) { userErrors { code field } } }",
        { input: { model: "claude", messages: [{ role: "USER", content: "hi" }], ...input } },
      );
    for (const [settings, input, limit] of [
      [{}, {}, 1_024],
      [{}, { maxTokens: 7 }, 7],
      [{}, { options: { max_tokens: 9 } }, 9],
      [{ maxOutputTokens: 50 }, {}, 50],
      [{ maxOutputTokens: 5_000 }, {}, 1_024],
      [{ maxOutputTokens: 50, blockedParameters: ["max_tokens", "stream"] }, {}, 50],
    ] as const) {
      await create(await keyWith(settings), input);
      expect(sent("claude"), JSON.stringify([settings, input])).toMatchObject({ max_tokens: limit });
    }
    const { data } = await create(await keyWith({ maxOutputTokens: 50 }), { maxTokens: 51 });
    expect(data.createMessage.userErrors).toEqual([{ code: "guardrail_violated", field: "maxTokens" }]);
  });

  test("fields that the input does not have are not refused", async () => {
    const key = await keyWith({ blockedParameters: ["stream", "stream_options", "verify_tee", "seed"] });
    expect((await complete(key, {})).data.completeChat.userErrors).toEqual([]);
    expect((await complete(key, { options: { seed: 1 } })).data.completeChat.userErrors).toMatchObject([
      { code: "guardrail_violated", field: "options.seed" },
    ]);
  });
});

describe("a prompt that is counted", () => {
  const prompt = { model: "claude", messages: chat.messages };
  const tool = { name: "launch", input_schema: { type: "object" } };
  const refused: readonly [string, Partial<KeySettings>, object][] = [
    ["max_input_bytes", { maxInputBytes: 20 }, {}],
    ["max_input_tokens", { maxInputTokens: 3 }, {}],
    ["allowed_tools", { allowedTools: ["search"] }, { tools: [tool] }],
    ["blocked_parameters", { blockedParameters: ["metadata"] }, { metadata: { user_id: "someone" } }],
    ["max_output_tokens", { maxOutputTokens: 50 }, { thinking: { type: "enabled", budget_tokens: 51 } }],
  ];

  test.each(refused)("is not sent over %s", async (guardrail, settings, fields) => {
    const key = await keyWith(settings);
    const calls = () => router().scripted.flatMap((provider) => provider.callsOf("claude")).length;
    const before = calls();
    const rest = await post(key, "messages/count_tokens", { ...prompt, ...fields });
    expect(rest).toMatchObject({ status: 403, code: "guardrail_violated" });
    const { tools, ...options } = fields as { tools?: object };
    const messages = [{ role: "USER", content: "What is the sea?" }];
    const { errors } = await ask(
      router().origin,
      key.secret,
      "query ($input: MessageTokenCountInput!) { messageTokenCount(input: $input) { inputTokens } }",
      { input: { model: "claude", messages, tools, options } },
    );
    for (const message of [rest.message, errors?.[0]?.message]) expect(message).toContain(`${guardrail} `);
    expect(calls()).toBe(before);
  });
});
