import { beforeEach, describe, expect, test } from "vitest";
import { OTHER_TERMS, STORED_STATE } from "../../src/inference/body/refused-fields.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Script, sendJson } from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";
import type { Seeded } from "../support/seed.ts";

const START = 10_000_000n;
const pricing = { prompt: "1", completion: "1" };
const router = await useRouter({
  models: ["chat"],
  count: 1,
  more: () => [
    { id: "claude", supported_formats: ["anthropic"], pricing },
    { id: "response", supported_formats: ["responses"], pricing },
    { id: "text", supported_formats: ["completions"], pricing },
  ],
});

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed(START);
  router().scripted[0]?.scripts.set("claude", answer);
});

const answer: Script = (_, response) =>
  sendJson(response, 200, {
    ...{ id: "msg_1", type: "message", role: "assistant", model: "claude", stop_reason: "end_turn" },
    ...{ content: [{ type: "text", text: "wide" }], usage: { input_tokens: 1, output_tokens: 1 } },
  });
const messages = [{ role: "user", content: "What is the sea?" }];
const chat = { model: "chat", messages };
const message = { model: "claude", messages, max_tokens: 10 };

type Failure = {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  readonly details?: unknown;
};

async function post(path: string, body: object, secret = owner.secret): Promise<Failure> {
  const reply = await fetch(`${router().origin}/v1/${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${secret}`,
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify(body),
  });
  const { error } = (await reply.json()) as { error?: object };
  return { status: reply.status, ...error };
}

/** Sends a body to an endpoint, which refuses it by this field before anything is held or sent. */
async function requireRefusal(path: string, body: object, field: string): Promise<Failure> {
  const [provider] = router().scripted;
  const before = provider?.calls.length;
  const refused = await post(path, body);
  expect(refused, JSON.stringify(body)).toMatchObject({ status: 400, code: "invalid_body" });
  expect(refused.message?.startsWith(`${field}: `), refused.message).toBe(true);
  expect(provider?.calls.length).toBe(before);
  await requireAvailable(router().app, owner, { available: START });
  return refused;
}

type Values = { readonly refused: readonly object[]; readonly passed: readonly object[] };
const valuesOf = (name: string, refused: readonly unknown[], passed: readonly unknown[]): Values => ({
  refused: refused.map((value) => ({ [name]: value })),
  passed: [...passed, null].map((value) => ({ [name]: value })),
});

const TIERS = ["auto", "default", "flex", "on_demand", "standard", "standard_only"];

/** For each field: bodies that are refused, and bodies in which the field has no effect. */
const FIELDS: Readonly<Record<string, Values>> = {
  fallbacks: valuesOf("fallbacks", [[{ model: "claude-opus-5", speed: "fast" }], "default"], [[]]),
  preset: valuesOf("preset", ["mine"], []),
  lora_path: valuesOf("lora_path", ["mine"], []),
  adapter_id: valuesOf("adapter_id", ["mine"], [""]),
  safety_model: valuesOf("safety_model", ["guard"], []),
  service_tier: valuesOf("service_tier", ["priority", "scale", 1], TIERS),
  speed: valuesOf("speed", ["fast"], ["standard"]),
  inference_geo: valuesOf("inference_geo", ["us"], ["global"]),
  "reasoning.mode": valuesOf("reasoning", [{ mode: "pro" }], [{ mode: "standard" }, {}]),
  extra_body: valuesOf("extra_body", [{ model: "other" }, { tools: [] }], [{ google: {} }, {}]),
  thread: valuesOf("thread", [{ type: "create" }, { type: "continue", previous_message_id: "msg_1" }], []),
  "extra_body.google.cached_content": valuesOf(
    "extra_body",
    [{ google: { cached_content: "cachedContents/1" } }],
    [],
  ),
};

describe("other terms than those of the admission", () => {
  test("are tested for every field of the lists", () => {
    const listed = [...OTHER_TERMS, ...STORED_STATE];
    expect(Object.keys(FIELDS).toSorted()).toEqual(listed.map(({ field }) => field).toSorted());
    for (const { source } of listed) expect(source).toMatch(/^https:/);
  });

  test.each(Object.entries(FIELDS))("are refused in every format: %s", async (field, { refused, passed }) => {
    for (const body of refused) {
      await requireRefusal("chat/completions", { ...chat, ...body }, field);
      await requireRefusal("messages", { ...message, ...body }, field);
      await requireRefusal("messages/count_tokens", { model: "claude", messages, ...body }, field);
      await requireRefusal("responses", { model: "response", input: "a", ...body }, field);
      await requireRefusal("completions", { model: "text", prompt: "a", ...body }, field);
    }
    for (const body of passed)
      expect((await post("messages", { ...message, ...body })).status, JSON.stringify(body)).toBe(200);
  });

  test.each(["messages", "messages/count_tokens", "chat/completions", "completions"])(
    "the error of %s lists every tier that it accepts",
    async (path) => {
      const model = path === "completions" ? "text" : path === "chat/completions" ? "chat" : "claude";
      const body = { model, messages, prompt: "a", max_tokens: 10, service_tier: "priority" };
      const { message: text = "" } = await requireRefusal(path, body, "service_tier");
      const listed = /must be (.+):/.exec(text)?.[1]?.split(/, | or /);
      expect(listed).toEqual(TIERS);
    },
  );

  test("another model is suggested as one that the key may use", async () => {
    const { message: text } = await requireRefusal(
      "messages",
      { ...message, fallbacks: "default" },
      "fallbacks",
    );
    expect(text).toContain("send models");
  });
});

describe("conversations at the provider", () => {
  test.each(["messages", "messages/count_tokens"])(
    "are refused by %s so that Anthropic's SDK continues without them",
    async (path) => {
      const thread = { type: "continue", previous_message_id: "msg_of_another_account" };
      const { details } = await requireRefusal(path, { ...message, thread }, "thread");
      expect(details).toEqual({ error_code: "thread_unsupported_request", unsupported: ["thread"] });
    },
  );

  test("other failures have no details", async () =>
    expect(await requireRefusal("messages", { ...message, speed: "fast" }, "speed")).not.toHaveProperty(
      "details",
    ));

  test.each(["conversation", "previous_response_id"])(
    "are refused outside of responses: %s",
    async (name) => {
      await requireRefusal("chat/completions", { ...chat, [name]: "id_1" }, name);
      await requireRefusal("messages", { ...message, [name]: "id_1" }, name);
    },
  );
});

const added = (tool: object) => ({ type: "tool_addition", tool });
const defined = (definition: object) => added({ type: "tool_definition", definition });
const SEARCH = { type: "web_search_20250305", name: "web_search" };
const TOOLSET = { type: "mcp_toolset_reference", server_name: "a" };
const summary = (...changes: readonly object[]) => ({
  type: "compaction",
  content: "so far",
  tool_changes: changes,
});
const functionOf = (name: string) => ({ name, input_schema: { type: "object" } });

describe("tools that messages offer", () => {
  test.each<[string, object, string]>([
    ["a definition", defined(SEARCH), "tool.definition.type"],
    ["a toolset", added(TOOLSET), "tool.type"],
    ["a tool of a server", added({ ...TOOLSET, type: "mcp_tool_reference", name: "b" }), "tool.type"],
    ["a tool without a definition", added(SEARCH), "tool.type"],
    ["a toolset's definition", defined({ type: "mcp_toolset" }), "tool.definition.type"],
    [
      "a summary",
      summary(defined(functionOf("look")), defined(SEARCH)),
      "tool_changes.1.tool.definition.type",
    ],
    ["a summary with a toolset", summary(added(TOOLSET)), "tool_changes.0.tool.type"],
    ["a listing", { type: "mcp_tool_listing", mcp_server_name: "a", tools: [{ name: "b" }] }, "type"],
    [
      "a block within another",
      { type: "tool_result", tool_use_id: "a", content: [defined(SEARCH)] },
      "content.0.tool.definition.type",
    ],
  ])("are refused if the provider runs them: %s", async (_what, block, field) => {
    for (const role of ["user", "system"]) {
      const offered = [...messages, { role, content: [{ type: "text", text: "a" }, block] }];
      await requireRefusal("messages", { ...message, messages: offered }, `messages.1.content.1.${field}`);
      await requireRefusal(
        "messages/count_tokens",
        { model: "claude", messages: offered },
        `messages.1.content.1.${field}`,
      );
    }
    await requireRefusal("messages", { ...message, system: [block] }, `system.0.${field}`);
  });

  test("are refused in a message of a chat", () =>
    requireRefusal(
      "chat/completions",
      {
        ...chat,
        messages: [{ role: "system", content: "a", tools: [{ type: "builtin_function" }] }, ...messages],
      },
      "messages.0.tools.0.type",
    ));

  test("are compared with the tools that the key allows", async () => {
    const { key, secret } = await router().app.apiKeys.create(owner.account, crypto.randomUUID(), {
      allowedTools: ["safe"],
    });
    expect(key.allowedTools).toEqual(["safe"]);
    const blocks = (name: string) => [
      { ...message, messages: [...messages, { role: "system", content: [defined(functionOf(name))] }] },
      {
        ...message,
        messages: [{ role: "user", content: [summary(defined(functionOf(name)))] }, ...messages],
      },
      { ...message, system: [added(functionOf(name))] },
    ];
    for (const body of blocks("danger")) {
      const refused = await post("messages", body, secret);
      expect(refused, JSON.stringify(body)).toMatchObject({ status: 403, code: "guardrail_violated" });
      expect(refused.message).toContain('("danger") is not an allowed tool');
    }
    for (const body of blocks("safe")) expect((await post("messages", body, secret)).status).toBe(200);
    const tools = [{ type: "function", function: { name: "danger" } }];
    const listed = { ...chat, messages: [{ role: "system", content: "a", tools }, ...messages] };
    expect(await post("chat/completions", listed, secret)).toMatchObject({ status: 403 });
  });

  test("are passed on if the client runs them", async () => {
    const content = [
      defined(functionOf("look")),
      defined({ type: "bash_20250124", name: "bash" }),
      added({ type: "tool_reference", name: "look" }),
      { type: "tool_removal", tool: { type: "tool_reference", name: "look" } },
    ];
    const body = { ...message, messages: [...messages, { role: "system", content }] };
    expect((await post("messages", body)).status).toBe(200);
    expect(router().scripted[0]?.callsOf("claude").at(-1)?.body).toEqual(body);
  });
});

describe("ids of files at the provider", () => {
  const user = { role: "user", content: "a" };
  const image = { type: "input_image", file_id: "file-other" };
  test.each<[string, object, string]>([
    ["a file of a custom tool", { type: "custom_tool_call_output", call_id: "1" }, "output"],
    ["a file of a local shell", { type: "local_shell_call_output", id: "1" }, "output"],
    ["a file of a patch", { type: "apply_patch_call_output", call_id: "1", status: "completed" }, "output"],
    ["a file of a function", { type: "function_call_output", call_id: "1" }, "output"],
    ["a file of a message", { role: "assistant" }, "content"],
  ])("are refused in every item of a response: %s", async (_what, item, name) => {
    for (const part of [image, { ...image, type: "input_file" }, { ...image, type: "input_text", text: "a" }])
      await requireRefusal(
        "responses",
        { model: "response", input: [user, { ...item, [name]: [part] }] },
        `input.1.${name}.0.file_id`,
      );
  });

  test("are refused in the reasoning of a response", () =>
    requireRefusal(
      "responses",
      {
        model: "response",
        input: [
          user,
          { type: "reasoning", encrypted_content: "a", summary: [], content: [{ ...image, text: "a" }] },
        ],
      },
      "input.1.content.0.file_id",
    ));

  test.each<[string, object, string]>([
    ["an image", { type: "image_url", image_url: { file_id: "file-1" } }, "image_url.file_id"],
    ["audio", { type: "input_audio", input_audio: { file_id: "file-1" } }, "input_audio.file_id"],
    [
      "a page that was fetched",
      {
        type: "web_fetch_tool_result",
        tool_use_id: "a",
        content: {
          type: "web_fetch_result",
          url: "https://example.com",
          content: { type: "document", source: { type: "file", file_id: "file_1" } },
        },
      },
      "content.content.source.file_id",
    ],
  ])("are refused in every part of a message: %s", async (_what, part, field) => {
    const question = [{ role: "user", content: [part] }];
    await requireRefusal("messages", { ...message, messages: question }, `messages.0.content.0.${field}`);
    await requireRefusal(
      "chat/completions",
      { ...chat, messages: question },
      `messages.0.content.0.${field}`,
    );
  });
});
