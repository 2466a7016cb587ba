import { beforeEach, describe, expect, test } from "vitest";
import { HOSTED_TOOLS } from "../../src/inference/body/refused-fields.ts";
import { ask } from "../support/clients/graph-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { completion, type Script, sendJson } from "../support/inference/scripted-provider.ts";
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

async function post(path: string, body: object) {
  const reply = await fetch(`${router().origin}/v1/${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${owner.secret}`,
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify(body),
  });
  const { error } = (await reply.json()) as { error?: { code: string; message: string } };
  return { status: reply.status, ...error };
}

/** Sends a body to an endpoint, which refuses it by this field before anything is held or sent. */
async function requireRefusal(path: string, body: object, field: string) {
  const [provider] = router().scripted;
  const before = provider?.calls.length;
  const refused = await post(path, body);
  expect(refused, JSON.stringify(body)).toMatchObject({ status: 400, code: "invalid_body" });
  expect(refused.message?.startsWith(`${field}: `), refused.message).toBe(true);
  expect(provider?.calls.length).toBe(before);
  await requireAvailable(router().app, owner, { available: START });
}

/** For each field of hosted tools: bodies that ask for a tool, and bodies that ask for none. */
const HOSTED: Readonly<
  Record<string, { readonly asks: readonly object[]; readonly none: readonly object[] }>
> = {
  web_search_options: {
    asks: [{ web_search_options: {} }, { web_search_options: "on" }],
    none: [{ web_search_options: null }],
  },
  mcp_servers: {
    asks: [
      { mcp_servers: [{ type: "url", name: "search", url: "https://example.com" }] },
      { mcp_servers: { name: "search" } },
    ],
    none: [{ mcp_servers: [] }, { mcp_servers: null }],
  },
  container: {
    asks: [
      { container: "container_1" },
      { container: { skills: [{ type: "anthropic", skill_id: "pptx" }] } },
    ],
    none: [{ container: null }],
  },
  search_parameters: {
    asks: [
      { search_parameters: { mode: "auto" } },
      { search_parameters: {} },
      { search_parameters: { mode: ["off"] } },
    ],
    none: [{ search_parameters: { mode: "off" } }, { search_parameters: null }],
  },
  enable_search: {
    asks: [{ enable_search: true }, { enable_search: 1 }, { enable_search: "false" }],
    none: [{ enable_search: false }, { enable_search: null }],
  },
  "compound_custom.tools.enabled_tools": {
    asks: [
      { compound_custom: { tools: { enabled_tools: ["web_search"] } } },
      { compound_custom: { tools: { enabled_tools: "web_search" } } },
    ],
    none: [{ compound_custom: {} }, { compound_custom: { tools: { enabled_tools: [] } } }],
  },
  "venice_parameters.enable_web_search": {
    asks: [
      { venice_parameters: { enable_web_search: "auto" } },
      { venice_parameters: { enable_web_search: "OFF" } },
    ],
    none: [{ venice_parameters: { enable_web_search: "off" } }, { venice_parameters: {} }],
  },
  "venice_parameters.enable_web_scraping": {
    asks: [{ venice_parameters: { enable_web_scraping: true } }],
    none: [{ venice_parameters: { enable_web_scraping: false } }],
  },
  "venice_parameters.enable_x_search": {
    asks: [{ venice_parameters: { enable_x_search: true } }],
    none: [{ venice_parameters: { enable_x_search: false } }],
  },
  data_sources: {
    asks: [{ data_sources: [{ type: "azure_search", parameters: {} }] }, { data_sources: [null] }],
    none: [{ data_sources: [] }],
  },
  connectors: { asks: [{ connectors: [{ id: "web-search" }] }], none: [{ connectors: [] }] },
};

describe("tools that a provider runs", () => {
  test("are tested for every field of the list", () => {
    expect(Object.keys(HOSTED).toSorted()).toEqual(HOSTED_TOOLS.map(({ field }) => field).toSorted());
    for (const { source } of HOSTED_TOOLS) expect(source).toMatch(/^https:/);
  });

  test.each(Object.entries(HOSTED))("are refused in every format: %s", async (field, { asks, none }) => {
    for (const body of asks) {
      await requireRefusal("chat/completions", { ...chat, ...body }, field);
      await requireRefusal("messages", { ...message, ...body }, field);
      await requireRefusal("messages/count_tokens", { model: "claude", messages, ...body }, field);
      await requireRefusal("responses", { model: "response", input: "a", ...body }, field);
      await requireRefusal("completions", { model: "text", prompt: "a", ...body }, field);
    }
    for (const body of none)
      expect((await post("chat/completions", { ...chat, ...body })).status, JSON.stringify(body)).toBe(200);
  });

  test.each([
    ...["web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "mcp_toolset", "web_search"],
    ...[
      "tool_search_tool_regex_20251119",
      "file_search",
      "builtin_function",
      "bash_",
      "computer_use_preview",
    ],
  ])("are refused by their type: %s", async (type) => {
    const tools = [
      { name: "look", input_schema: { type: "object" } },
      { type, name: "look" },
    ];
    await requireRefusal("messages", { ...message, tools }, "tools.1.type");
    await requireRefusal("chat/completions", { ...chat, tools }, "tools.1.type");
    expect((await post("messages", { ...message, tools })).message).toBe(
      `tools.1.type: tools of type ${type} are not supported`,
    );
  });

  test("are refused where their only member names them", () =>
    requireRefusal("chat/completions", { ...chat, tools: [{ google_search: {} }] }, "tools.0"));

  test("are refused in the graph", async () => {
    const query = `mutation ($input: CompleteChatInput!) { completeChat(input: $input) { userErrors { message code } } }`;
    const input = {
      ...{ model: "chat", messages: [{ role: "user", content: "a" }] },
      options: { web_search_options: {} },
    };
    const { data, errors } = await ask(router().origin, owner.secret, query, { input });
    expect(JSON.stringify([data, errors])).toContain("web_search_options: ");
  });
});

describe("ids at the provider", () => {
  const file = { type: "file", file_id: "file_1" };
  const parts: readonly (readonly [string, object, string])[] = [
    ["a document", { type: "document", source: file }, "0.source.file_id"],
    ["an upload to a container", { type: "container_upload", file_id: "file_1" }, "0.file_id"],
    ["a file of a chat", { type: "file", file: { file_id: "file-1" } }, "0.file.file_id"],
    [
      "an image in the result of a tool",
      { type: "tool_result", tool_use_id: "a", content: [{ type: "image", source: file }] },
      "0.content.0.source.file_id",
    ],
    [
      "an image in a document",
      { type: "document", source: { type: "content", content: [{ type: "image", source: file }] } },
      "0.source.content.0.source.file_id",
    ],
  ];
  test.each(parts)("of %s are refused", async (_what, part, field) => {
    const content = [part];
    const question = [{ role: "user", content }];
    const path = `messages.0.content.${field}`;
    await requireRefusal("messages", { ...message, messages: question }, path);
    await requireRefusal("chat/completions", { ...chat, messages: question }, path);
    // Long strings of a long body are not parsed.
    const long = { type: "text", text: "a".repeat(2_200_000) };
    await requireRefusal(
      "messages",
      { ...message, messages: [...question, { role: "user", content: [long] }] },
      path,
    );
    await requireRefusal("messages", { ...message, system: content }, `system.${field}`);
  });

  test("of an earlier answer in audio are refused", () =>
    requireRefusal(
      "chat/completions",
      { ...chat, messages: [{ role: "assistant", audio: { id: "audio_1" } }, ...messages] },
      "messages.0.audio.id",
    ));
});

describe("what the client runs is passed on", () => {
  const provider = () => router().scripted[0];
  test.each([
    { name: "look", input_schema: { type: "object" } },
    { type: "custom", name: "look", input_schema: { type: "object" } },
    { type: "bash_20250124", name: "bash" },
    { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
    { type: "computer_20250124", name: "computer", display_width_px: 1_024, display_height_px: 768 },
    { type: "memory_20250818", name: "memory" },
    { type: "computer_toolset_20260801", configs: { zoom: { enabled: false } } },
    { type: "browser_toolset_20260801", configs: { javascript_exec: { enabled: false } } },
  ])("$type $name", async (tool) => {
    expect((await post("messages", { ...message, tools: [tool] })).status).toBe(200);
    expect(provider()?.callsOf("claude").at(-1)?.body.tools).toEqual([tool]);
  });

  test("as Claude Code sends it", async () => {
    const body = {
      ...message,
      system: [{ type: "text", text: "You are helpful.", cache_control: { type: "ephemeral" } }],
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "Read a.ts", cache_control: { type: "ephemeral" } }],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "a", signature: "b" },
            {
              type: "tool_use",
              id: "toolu_1",
              name: "Read",
              input: { file_id: "7", source: { file_id: "8" } },
            },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: [
                { type: "text", text: "b" },
                { type: "tool_reference", tool_name: "Write" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "aGVsbG8=" } },
              ],
            },
          ],
        },
      ],
      tools: [
        { name: "Read", description: "Reads", input_schema: { type: "object" } },
        { name: "Write", input_schema: { type: "object" }, defer_loading: true },
      ],
      metadata: { user_id: "user_1_account__session_2" },
      thinking: { type: "adaptive" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      output_config: { effort: "high" },
      mcp_servers: [],
      container: null,
    };
    expect((await post("messages?beta=true", body)).status).toBe(200);
    expect(provider()?.callsOf("claude").at(-1)?.body).toEqual(body);
  });

  test("a function and a custom tool of a chat", async () => {
    const tools = [
      { type: "function", function: { name: "look", parameters: {} } },
      { type: "custom", custom: { name: "see" } },
    ];
    router().scripted[0]?.scripts.set("chat", (_, response) => sendJson(response, 200, completion()));
    expect((await post("chat/completions", { ...chat, tools, store: true })).status).toBe(200);
    expect(provider()?.callsOf("chat").at(-1)?.body.tools).toEqual(tools);
  });
});
