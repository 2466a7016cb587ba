// @module-tag large
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { systemClock } from "../../../src/kernel/clock.ts";
import { ManagementKeyService } from "../../../src/keys/management-keys/management-key.service.ts";
import { MODEL } from "../../support/chain/network.ts";
import { seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";

type Failure = { readonly code: string; readonly message: string; readonly field?: string };

/** A tool that failed as a whole, or in part. */
type Failed = { readonly error?: Failure; readonly errors?: readonly Failure[] };

const OWN = [
  `mutation Talk($whom: String!, $words: JSON!, $limits: [JSON!]) {
    said: createMessage(input: {
      model: $whom maxTokens: 5 messages: [{ role: USER, content: "hi" }, { role: USER, content: $words }] tools: $limits
    }) { userErrors { field code message } }
  }`,
  "mutation MakeKey($settings: CreateApiKeyInput!) { createApiKey(input: $settings) { userErrors { field code message } } }",
  `query Newest($many: Int!, $behind: Cursor) {
    viewer { account { ...Requests } }
  }
  fragment Requests on Account { requests(first: $many, after: $behind) { nodes { id } } }`,
];

const folder = mkdtempSync(join(tmpdir(), "documents-"));
const manifest = join(folder, "documents.json");
writeFileSync(manifest, JSON.stringify({ ...OWN }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const examples = useStack();
const own = useStack({ TRUSTED_DOCUMENTS: manifest });
useServices(examples, ["messages"]);
useServices(own, ["messages"]);

async function failureOf(stack: typeof own, name: string, args: object): Promise<Failure> {
  const { app, origin } = stack();
  const { account, secret } = await seedAccount(app.database, 10n ** 15n);
  const keys = new ManagementKeyService({ database: app.database, clock: systemClock, committed: () => {} });
  const manager = await keys.create(account, "manager", ["account:read", "keys:create"]);
  const isOfKeys = /key|newest/.test(name);
  const reply = await fetch(`${origin}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${isOfKeys ? manager.secret : secret}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  });
  const data = /^data: (.*)$/m.exec(await reply.text())?.[1] ?? "null";
  const { result } = JSON.parse(data) as { result: { isError?: boolean; content: { text: string }[] } };
  expect(result.isError, data).toBe(true);
  const { error, errors } = JSON.parse(result.content[0]?.text ?? "null") as Failed;
  return error ?? errors?.[0] ?? expect.fail(data);
}

const message = { model: SERVICES.messages.model, question: "hi" };
/** The router refuses ids of files at the provider, at any depth. */
const BY_ID = { type: "document", source: { type: "file", file_id: "file_1" } };
const edit = { model: "none", prompt: "a", fileBase64: "?" };

test.each([
  ["create_message", { ...message, question: { a: 1 } }, "question"],
  ["create_message", { ...message, question: [BY_ID] }, "question.0.source.file_id"],
  ["create_message", { ...message, model: "none" }, "model"],
  ["complete_chat", { model: MODEL, question: "hi", maxTokens: 0 }, "maxTokens"],
  ["edit_images", edit, "fileBase64"],
  ["submit_image_edit_job", edit, "fileBase64"],
  ["create_embeddings", { model: "none", texts: [] }, "texts"],
  ["create_api_key", { input: { name: "a", maxInputBytes: -1 } }, "input.maxInputBytes"],
  ["create_api_key", { input: { name: "a", creditLimit: "-1" } }, "input.creditLimit"],
])("a failure of %s with %j names the argument that was sent", async (name, args, field) => {
  const failure = await failureOf(examples, name, args);
  expect(failure).toMatchObject({ field });
  expect(failure.message).not.toContain("messages.");
});

test.each([
  ["talk", { whom: "none", words: "hi" }, "whom"],
  ["talk", { whom: SERVICES.messages.model, words: [BY_ID] }, "words.0.source.file_id"],
  [
    "talk",
    { whom: SERVICES.messages.model, words: "hi", limits: [{ type: "mcp_toolset" }] },
    "limits.0.type",
  ],
  ["make_key", { settings: { name: "" } }, "settings.name"],
  ["newest", { many: 0 }, "many"],
  ["newest", { many: 1, behind: "AAAA" }, "behind"],
])("a failure of an operator's document %s with %j names its variable", async (name, args, field) => {
  expect(await failureOf(own, name, args)).toMatchObject({ field });
});
