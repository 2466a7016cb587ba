import { beforeEach, describe, expect, test } from "vitest";
import { ask } from "../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
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
    { id: "embed", service_type: "embedding", pricing: { prompt: "1" } },
    { id: "rank", service_type: "rerank", pricing: { prompt: "1" } },
    { id: "voice", service_type: "text-to-speech", pricing: { character: "1" } },
    { id: "paint", service_type: "text-to-image", pricing: { image: "1" } },
  ],
});

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed(START);
});

const messages = [{ role: "user", content: "What is the sea?" }];
const BODIES = {
  "chat/completions": { model: "chat", messages, max_tokens: 1 },
  messages: { model: "claude", messages, max_tokens: 1 },
  "messages/count_tokens": { model: "claude", messages },
  responses: { model: "response", input: "a", max_output_tokens: 1 },
  completions: { model: "text", prompt: "a", max_tokens: 1 },
  embeddings: { model: "embed", input: "a" },
  rerank: { model: "rank", query: "a", documents: ["b"] },
  "audio/speech": { model: "voice", input: "a", voice: "b" },
  "images/generations": { model: "paint", prompt: "a", n: 1 },
} as const;
type Path = keyof typeof BODIES;

async function requireRefusal(path: Path, body: object, field: string, known: string) {
  const calls = router().scripted[0]?.calls.length;
  const reply = await rest<RestFailure>(router().origin, `/v1/${path}`, owner.secret, { body });
  const text = JSON.stringify([path, body, reply.body]);
  expect([reply.status, reply.body.error.code], text).toEqual([400, "invalid_body"]);
  expect(reply.body.error.message, text).toContain(`${field}: must be written ${known}`);
  expect(router().scripted[0]?.calls.length).toBe(calls);
  await requireAvailable(router().app, owner, { available: START });
}

describe.each(Object.entries(BODIES))(
  "POST /v1/%s, for servers that ignore the case of letters",
  (at, body) => {
    const path = at as Path;

    test("refuses each of its own fields in another case", async () => {
      for (const name of Object.keys(body))
        for (const other of new Set([name.toUpperCase(), name.replace("s", "ſ").replace("k", "\u212a")]))
          if (other !== name) await requireRefusal(path, { ...body, [other]: 1 }, other, name);
    });

    test("refuses fields that would be refused, or are not forwarded, in another case", async () => {
      for (const [other, name] of [
        ["Service_Tier", "service_tier"],
        ["Web_Search_Options", "web_search_options"],
        ["Tools", "tools"],
        ["Plugins", "plugins"],
        ["Provider", "provider"],
        ["Models", "models"],
      ] as const)
        await requireRefusal(path, { ...body, [other]: [{}] }, other, name);
    });

    test("accepts any other name in capital letters", async () => {
      const reply = await rest<RestFailure>(router().origin, `/v1/${path}`, owner.secret, {
        body: { ...body, Max_Seas: 1, maxTokens: 2, TOPP: 1 },
      });
      expect(JSON.stringify(reply.body)).not.toContain("must be written");
    });
  },
);

const FILE = { type: "file", file: { File_ID: "file_1" } };
test.each<[Path, object, string, string]>([
  ["chat/completions", { tools: [{ type: "function", Type: "web_search" }] }, "tools.0.Type", "type"],
  ["messages", { tools: [{ name: "a", TYPE: "web_search_20250305" }] }, "tools.0.TYPE", "type"],
  ["responses", { tools: [{ type: "function", name: "a", Type: "mcp" }] }, "tools.0.Type", "type"],
  ["chat/completions", { messages: [{ role: "user", Tools: [] }] }, "messages.0.Tools", "tools"],
  [
    "chat/completions",
    { messages: [{ role: "user", content: [FILE] }] },
    "messages.0.content.0.file.File_ID",
    "file_id",
  ],
  [
    "messages",
    { messages: [{ role: "user", content: [{ type: "document", Source: { file_id: "file_1" } }] }] },
    "messages.0.content.0.Source",
    "source",
  ],
  [
    "responses",
    { input: [{ role: "user", content: [{ type: "input_text", text: "a", File_id: "file_1" }] }] },
    "input.0.content.0.File_id",
    "file_id",
  ],
  ["responses", { input: [{ role: "user", content: "a", Type: "item_reference" }] }, "input.0.Type", "type"],
])("POST /v1/%s refuses members of tools and messages in another case: %j", (path, body, field, known) =>
  requireRefusal(path, { ...BODIES[path], ...body }, field, known),
);

test("the graph names the field in options", async () => {
  const given = `model: "chat", messages: [{ role: "user", content: "a" }], options: { MAX_TOKENS: 9 }`;
  const query = `mutation { completeChat(input: { ${given} }) { userErrors { field message } } }`;
  const { data } = await ask(router().origin, owner.secret, query);
  expect(data.completeChat.userErrors).toEqual([
    { field: "options.MAX_TOKENS", message: expect.stringContaining("must be written max_tokens") },
  ]);
});

test("a blocked parameter is blocked in any case", async () => {
  const { secret } = await router().app.apiKeys.create(owner.account, "guarded", {
    blockedParameters: ["seed", "topK"],
  });
  for (const [name, isBlocked] of [
    ["Seed", true],
    ["\u017feed", true],
    ["topk", true],
    ["seeds", false],
  ] as const) {
    const body = { ...BODIES["chat/completions"], [name]: 1 };
    const { status, body: answer } = await rest<RestFailure>(
      router().origin,
      "/v1/chat/completions",
      secret,
      { body },
    );
    expect([name, status === 403]).toEqual([name, isBlocked]);
    if (isBlocked) expect(answer.error).toMatchObject({ code: "guardrail_violated", param: name });
  }
});
