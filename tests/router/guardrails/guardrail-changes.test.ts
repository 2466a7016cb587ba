// @module-tag large
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { SCOPES } from "../../../src/keys/auth/principal.ts";
import { MODEL } from "../../support/chain/network.ts";
import { ask, followSocket } from "../../support/clients/graph-client.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { type Stack, useStack, useTwins } from "../../support/stack.ts";

const RICH = 10n ** 15n;
const RACING = 120;
const body = { model: MODEL, messages: [{ role: "user", content: "What is the sea?" }], max_tokens: 8 };

function chat(origin: string, secret: string): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify(body),
  });
}

async function codeOf(reply: Response): Promise<unknown[]> {
  const { error } = (await reply.json()) as { error?: { code: string } };
  return [reply.status, error?.code];
}

async function patch({ origin }: Stack, manager: string, keyId: string, changes: object): Promise<void> {
  const reply = await fetch(`${origin}/v1/api-keys/${keyId}`, {
    method: "PATCH",
    headers: { "content-type": "application/json", authorization: `Bearer ${manager}` },
    body: JSON.stringify(changes),
  });
  expect(reply.status, await reply.clone().text()).toBe(200);
}

/** A call that starts after the answer to a change is decided by it, in every process. */
async function race(stacks: readonly Stack[]): Promise<void> {
  const [first] = stacks;
  if (!first) throw new Error("there is no stack");
  const { account, keyId, secret } = await seedAccount(first.app.database, RICH);
  const { secret: manager } = await first.app.managementKeys.create(account, "test", SCOPES);
  for (const { origin } of stacks) expect((await chat(origin, secret)).status).toBe(200);
  let isChanged = false;
  let answered = 0;
  const call = async (n: number) => {
    const startedAfter = isChanged;
    const [status, code] = await codeOf(await chat(stacks[n % stacks.length]?.origin ?? "", secret));
    answered++;
    if (status !== 200 || startedAfter) expect([status, code]).toEqual([403, "guardrail_violated"]);
  };
  const racing = Array.from({ length: 4 }, async (_, lane) => {
    for (let n = lane; n < RACING; n += 4) await call(n);
  });
  while (answered < RACING / 10)
    await Promise.race([...racing, new Promise((resolve) => setTimeout(resolve, 5))]);
  await patch(first, manager, keyId, { max_output_tokens: 7 });
  isChanged = true;
  await Promise.all(racing);
  for (const { origin } of stacks)
    expect(await codeOf(await chat(origin, secret))).toEqual([403, "guardrail_violated"]);
  await patch(first, manager, keyId, { max_output_tokens: "" });
  for (const { origin } of stacks) expect((await chat(origin, secret)).status).toBe(200);
}

describe("in one process", () => {
  const stack = useStack();
  useServices(stack, ["images"]);

  /** A key with a guardrail that every request of these tests violates. */
  async function guardedKey(): Promise<Seeded> {
    const { account } = await seedAccount(stack().app.database, RICH);
    const settings = { maxInputBytes: 10 };
    const { key, secret } = await stack().app.apiKeys.create(account, "guarded", settings);
    return { account, keyId: key.id, secret };
  }

  const refused = async ({ account }: Seeded) => {
    const [row] = await stack().app.database.rows<{ n: number }>(
      `select ((select count(*) from inference_request where account = $1::text)
         + (select count(*) from job where account = $1::text))::int as n`,
      [account],
    );
    return row?.n;
  };

  test("a change applies to every call that starts after its answer", () => race([stack()]));

  test("the fields of the graph are refused, mutations and subscriptions", async () => {
    const key = await guardedKey();
    const { origin } = stack();
    const messages = [{ role: "USER", content: "hi" }];
    const image = { model: SERVICES.images.model, prompt: "a sea" };
    const calls: readonly [field: string, type: string, input: object][] = [
      ["completeChat", "CompleteChatInput", { model: MODEL, messages }],
      ["generateImages", "GenerateImagesInput", image],
      ["submitImageJob", "SubmitImageJobInput", image],
    ];
    for (const [field, type, input] of calls) {
      const { data, errors } = await ask(
        origin,
        key.secret,
        `mutation ($input: ${type}!) { ${field}(input: $input) { userErrors { code } } }`,
        { input },
      );
      expect(errors, field).toBeUndefined();
      expect(data[field].userErrors, field).toEqual([{ code: "guardrail_violated" }]);
    }
    const stream = await followSocket(
      origin,
      key.secret,
      `subscription { completeChat(input: { model: "${MODEL}", messages: { role: "USER", content: "hi" } }) { __typename } }`,
    );
    onTestFinished(() => stream.stop());
    const ended = await stream.ended.catch((error: unknown) => error);
    expect(JSON.stringify([stream.results, ended, stream.failure])).toContain("guardrail_violated");
    expect(await refused(key)).toBe(0);
  });

  test("the tools of MCP are refused", async () => {
    const key = await guardedKey();
    const client = new Client({ name: "test", version: "1" });
    const headers = { authorization: `Bearer ${key.secret}` };
    const url = new URL(`${stack().origin}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
    onTestFinished(() => client.close());
    for (const [name, args] of [
      ["complete_chat", { model: MODEL, question: "hi", idempotencyKey: "a" }],
      ["generate_image", { model: SERVICES.images.model, prompt: "a sea" }],
    ] as const)
      expect(JSON.stringify(await client.callTool({ name, arguments: args })), name).toContain("guardrail");
    expect(await refused(key)).toBe(0);
  });

  test("a guardrail of REST is that of the graph, and is removed by either", async () => {
    const { account } = await seedAccount(stack().app.database, RICH);
    const { secret: manager } = await stack().app.managementKeys.create(account, "test", SCOPES);
    const { origin } = stack();
    const reply = await fetch(`${origin}/v1/api-keys`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${manager}` },
      body: JSON.stringify({
        name: "guarded",
        max_input_tokens: 5,
        max_output_tokens: 2_147_483_647,
        allowed_tools: ["search", "search"],
        blocked_parameters: ["n"],
        verify_tee: true,
      }),
    });
    const made = (await reply.json()) as { readonly key_id: string; readonly key: string };
    expect(reply.status).toBe(201);
    expect(made).toMatchObject({
      ...{ max_input_tokens: 5, max_input_bytes: null, max_output_tokens: 2_147_483_647 },
      ...{ allowed_tools: ["search"], blocked_parameters: ["n"], verify_tee: true },
    });
    const FIELDS = "maxInputTokens maxInputBytes maxOutputTokens allowedTools blockedParameters verifyTee";
    const { data, errors } = await ask(
      origin,
      manager,
      `{ account(address: "${account}") { apiKeys(filter: { statuses: [ACTIVE] }) { nodes { id name ${FIELDS} } } } }`,
    );
    expect(errors).toBeUndefined();
    const key = data.account.apiKeys.nodes.find(({ name }: { name: string }) => name === "guarded");
    expect(key).toMatchObject({
      ...{ maxInputTokens: 5, maxInputBytes: null, maxOutputTokens: 2_147_483_647 },
      ...{ allowedTools: ["search"], blockedParameters: ["n"], verifyTee: true },
    });
    const input = {
      id: key.id,
      clear: ["MAX_INPUT_TOKENS"],
      allowedTools: [],
      verifyTee: false,
      maxInputBytes: 9,
    };
    const changed = await ask(
      origin,
      manager,
      `mutation ($input: UpdateApiKeyInput!) { updateApiKey(input: $input) { apiKey { ${FIELDS} } userErrors { code } } }`,
      { input },
    );
    expect(changed.data.updateApiKey).toEqual({
      apiKey: {
        ...{ maxInputTokens: null, maxInputBytes: 9, maxOutputTokens: 2_147_483_647 },
        ...{ allowedTools: [], blockedParameters: ["n"], verifyTee: false },
      },
      userErrors: [],
    });
    const own = await fetch(`${origin}/v1/key`, { headers: { authorization: `Bearer ${made.key}` } });
    expect(await own.json()).toMatchObject({ data: { max_input_bytes: 9, blocked_parameters: ["n"] } });
  });

  test.each<[string, object]>([
    ["max_input_tokens", { max_input_tokens: 0 }],
    ["max_input_tokens", { max_input_tokens: 1.5 }],
    ["max_input_bytes", { max_input_bytes: "12" }],
    ["max_input_bytes", { max_input_bytes: -1 }],
    ["max_output_tokens", { max_output_tokens: 2_147_483_648 }],
    ["allowed_tools", { allowed_tools: [""] }],
    ["allowed_tools", { allowed_tools: ["a\u0000"] }],
    ["allowed_tools", { allowed_tools: "search" }],
    ["allowed_tools", { allowed_tools: Array.from({ length: 101 }, (_, n) => `t${n}`) }],
    ["blocked_parameters", { blocked_parameters: ["a.b"] }],
    ["blocked_parameters", { blocked_parameters: ["a".repeat(65)] }],
    ["blocked_parameters", { blocked_parameters: [1] }],
    ["verify_tee", { verify_tee: "yes" }],
  ])("an invalid value is refused by the name of its field: %s %j", async (param, settings) => {
    const { account } = await seedAccount(stack().app.database, RICH);
    const { secret: manager } = await stack().app.managementKeys.create(account, "test", SCOPES);
    const reply = await fetch(`${stack().origin}/v1/api-keys`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${manager}` },
      body: JSON.stringify({ name: "guarded", ...settings }),
    });
    const { error } = (await reply.json()) as { error: { param: string } };
    expect(reply.status).toBe(400);
    expect(error.param.startsWith(param)).toBe(true);
  });
});

describe.skipIf(!inject("postgresUrl"))("in two processes on one PostgreSQL", () => {
  const twins = useTwins();

  test("a change applies to every call that starts after its answer", () => race(twins()));
});
