import OpenAI from "openai";
import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { formatToken } from "../../src/kernel/text/amount.ts";
import { newSecret } from "../../src/keys/auth/secret.ts";
import { balanceAtRest } from "../support/balance.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../support/chain/network.ts";
import { scaled } from "../support/machine.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const messages = [{ role: "user" as const, content: "What is the sea?" }];
const PROMPT = countPromptTokens(messages);

function costOf(outputTokens: number, inputTokens = PROMPT): bigint {
  return BigInt(inputTokens) * INPUT_PRICE + BigInt(outputTokens) * OUTPUT_PRICE;
}

function client(seeded: Seeded): OpenAI {
  return new OpenAI({ baseURL: `${stack().origin}/v1`, apiKey: seeded.secret, maxRetries: 0 });
}

function post(
  secret: string | undefined,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function failureOf(reply: Response): Promise<[number, string]> {
  const { error } = (await reply.json()) as { error: { code: string } };
  return [reply.status, error.code];
}

async function balanceOf(seeded: Seeded) {
  const balance = await balanceAtRest(stack().app, seeded.account);
  return balance;
}

async function onlyRequestOf(seeded: Seeded) {
  const { rows } = await stack().app.requests.list(seeded.account, { first: 10 });
  expect(rows).toHaveLength(1);
  return rows[0];
}

async function expectConsistentLedger(): Promise<void> {
  const { faults, openHolds } = await new LedgerService(stack().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
}

test("the official client gets a whole answer, charged at tokens times price to the neuron", async () => {
  const seeded = await seedAccount(stack().app.database, 1_000_000n);
  const { data, response } = await client(seeded)
    .chat.completions.create({ model: MODEL, messages, max_tokens: 7 })
    .withResponse();
  expect(data.choices[0]?.message.content).toMatch(/\w+/);
  expect(data.usage).toMatchObject({ prompt_tokens: PROMPT, completion_tokens: 7 });
  const cost = costOf(7);
  expect(data).toMatchObject({
    x_0g_trace: { billing: { total_cost: String(cost), output_cost: String(7n * OUTPUT_PRICE) } },
  });
  expect(response.headers.get("x-request-id")).toBe((await onlyRequestOf(seeded))?.id);
  expect(`chatcmpl-${response.headers.get("zg-res-key")}`).toBe(data.id);
  expect(await onlyRequestOf(seeded)).toMatchObject({
    status: "completed",
    inputTokens: PROMPT,
    outputTokens: 7,
    usageEstimated: false,
    cost: { total: cost },
  });
  expect(await balanceOf(seeded)).toMatchObject({ total: 1_000_000n - cost, held: 0n });
  await expectConsistentLedger();
});

test.each([true, false])(
  "the official client streams an answer, with the usage chunk requested: %s",
  async (wanted) => {
    const seeded = await seedAccount(stack().app.database, 1_000_000n);
    const chunks = await client(seeded).chat.completions.create({
      model: MODEL,
      messages,
      max_tokens: 9,
      stream: true,
      ...(wanted && { stream_options: { include_usage: true } }),
    });
    const seen = await Array.fromAsync(chunks);
    expect(seen.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toMatch(/\w+ \w+/);
    const usage = seen.filter((chunk) => chunk.usage);
    expect(usage).toHaveLength(wanted ? 1 : 0);
    if (wanted)
      expect(usage[0]).toMatchObject({ x_0g_trace: { billing: { total_cost: String(costOf(9)) } } });
    expect(seen.filter((chunk) => chunk.choices.length === 0)).toHaveLength(wanted ? 1 : 0);
    expect(await onlyRequestOf(seeded)).toMatchObject({ status: "completed", cost: { total: costOf(9) } });
    expect(await balanceOf(seeded)).toMatchObject({ total: 1_000_000n - costOf(9), held: 0n });
  },
);

test("a stream's events are the provider's own bytes, and its bill comes before [DONE]", async () => {
  const seeded = await seedAccount(stack().app.database, 1_000_000n);
  const ask = { model: MODEL, messages, max_tokens: 4, stream: true };
  const reply = await post(seeded.secret, ask);
  expect(reply.headers.get("content-type")).toContain("text/event-stream");
  const text = await reply.text();
  expect(text).toMatch(/: x_0g_trace \{"request_id":"req-[0-9a-f]{32}".*\}\ndata: \[DONE\]\n\n$/);
  expect(text.match(/^data: \{/gm)?.length).toBe(6);
});

test("of 100 parallel requests on money for exactly 50, 50 are answered and 50 refused: balance 0, held 0", async () => {
  const seeded = await seedAccount(stack().app.database, 50n * costOf(5));
  const ask = { model: MODEL, messages, max_tokens: 5 };
  const replies = await Promise.all(Array.from({ length: 100 }, () => post(seeded.secret, ask)));
  expect(Map.groupBy(replies, ({ status }) => status).get(200)).toHaveLength(50);
  const refused = replies.filter(({ status }) => status === 402);
  expect(refused).toHaveLength(50);
  expect(await refused[0]?.json()).toMatchObject({
    error: { code: "insufficient_balance", type: "payment_error" },
  });
  expect(await balanceOf(seeded)).toMatchObject({ total: 0n, held: 0n });
  await expectConsistentLedger();
});

test("without a limit the answer is bounded by the balance", async () => {
  const seeded = await seedAccount(stack().app.database, costOf(3));
  const answer = await client(seeded).chat.completions.create({ model: MODEL, messages });
  expect(answer.usage?.completion_tokens).toBe(3);
  expect(await balanceOf(seeded)).toMatchObject({ total: 0n, held: 0n });
});

test("a client that disconnects mid-stream stops the provider within a second and pays for what it received", async () => {
  const { provider, app } = stack();
  const seeded = await seedAccount(app.database, 1_000_000n);
  const aborted = provider.aborted;
  provider.behaviour = { chunkDelayMs: 100 };
  const leaving = new AbortController();
  const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
    method: "POST",
    signal: leaving.signal,
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({ model: MODEL, messages, max_tokens: 60, stream: true }),
  });
  const reader = reply.body?.getReader();
  for (let events = 0; events < 4; events++) await reader?.read();
  leaving.abort();
  const leftMs = performance.now();
  await until(() => provider.aborted === aborted + 1);
  expect(performance.now() - leftMs).toBeLessThan(scaled(1_000));
  provider.behaviour = {};
  const request = await until(async () => {
    const only = await onlyRequestOf(seeded);
    return only?.status === "aborted" ? only : false;
  });
  expect(request.usageEstimated).toBe(true);
  expect(request.outputTokens).toBeGreaterThan(0);
  expect(request.outputTokens).toBeLessThan(20);
  expect(request.cost?.total).toBe(costOf(request.outputTokens ?? 0));
  expect(await balanceOf(seeded)).toMatchObject({
    held: 0n,
    total: 1_000_000n - costOf(request.outputTokens ?? 0),
  });
  await expectConsistentLedger();
});

test("a client that disconnects before its whole answer pays nothing, and the provider is stopped", async () => {
  const { provider, app } = stack();
  const seeded = await seedAccount(app.database, 1_000_000n);
  const aborted = provider.aborted;
  provider.behaviour = { delayMs: 10_000 };
  const leaving = new AbortController();
  const { requests } = provider;
  const reply = client(seeded).chat.completions.create(
    { model: MODEL, messages },
    { signal: leaving.signal },
  );
  await until(() => provider.requests > requests);
  leaving.abort();
  await expect(reply).rejects.toThrow();
  await until(() => provider.aborted === aborted + 1);
  provider.behaviour = {};
  const request = await until(async () => {
    const only = await onlyRequestOf(seeded);
    return only?.status === "aborted" ? only : false;
  });
  // Nothing failed, the provider neither.
  expect(request.errorCode).toBeNull();
  expect(request.routing?.attempts).toEqual([expect.not.objectContaining({ reason: expect.anything() })]);
  expect(request.routing?.attempts).toMatchObject([{ outcome: "aborted" }]);
  expect(await balanceOf(seeded)).toMatchObject({ held: 0n, total: 1_000_000n });
});

test("a stream that breaks mid-answer ends with an error event, without [DONE], and charges what was delivered", async () => {
  const { provider, app } = stack();
  const seeded = await seedAccount(app.database, 1_000_000n);
  provider.behaviour = { breakAfterEvents: 5 };
  const text = await (
    await post(seeded.secret, { model: MODEL, messages, max_tokens: 30, stream: true })
  ).text();
  provider.behaviour = {};
  expect(text).toMatch(/data: \{"error":\{.*"code":"upstream_error".*\}\n\n$/);
  expect(text).not.toContain("[DONE]");
  const request = await onlyRequestOf(seeded);
  expect(request).toMatchObject({ status: "failed", errorCode: "provider_error", usageEstimated: true });
  expect(request?.cost?.total).toBe(costOf(request?.outputTokens ?? 0));
  expect(await balanceOf(seeded)).toMatchObject({ held: 0n });
  await expectConsistentLedger();
});

test.each([
  ["an error page", { status: 500, contentType: "text/html", body: "<h1>sorry</h1>" }],
  ["a page with status 200", { status: 200, contentType: "text/html", body: "<h1>sorry</h1>" }],
  ["an empty answer", { status: 200, contentType: "application/json", body: "" }],
  ["half an answer", { status: 200, contentType: "application/json", body: '{"choices":[{"ind' }],
  [
    "an error in a valid answer",
    { status: 200, contentType: "application/json", body: '{"error":{"message":"no"}}' },
  ],
  [
    "an error event first",
    { status: 200, contentType: "text/event-stream", body: 'data: {"error":{"message":"no"}}\n\n' },
  ],
] as const)(
  "%s from the provider is 502 provider_error, plain and streamed, and nothing is charged",
  async (_, instead) => {
    const { provider, app } = stack();
    const seeded = await seedAccount(app.database, 1_000_000n);
    provider.behaviour = { instead };
    for (const stream of [false, true]) {
      const reply = await post(seeded.secret, { model: MODEL, messages, stream });
      expect(reply.status).toBe(502);
      expect(await reply.json()).toMatchObject({ error: { code: "provider_error", type: "api_error" } });
      expect(reply.headers.get("x-should-retry")).toBe("true");
    }
    provider.behaviour = {};
    expect(await balanceOf(seeded)).toMatchObject({ held: 0n, total: 1_000_000n });
  },
);

test.each([
  ["null", PROMPT, 6],
  ["-1", PROMPT, 6],
  ['"many"', PROMPT, 6],
  ['{"prompt_tokens":-1,"completion_tokens":2}', PROMPT, 2],
  ['{"prompt_tokens":1.5,"completion_tokens":2}', PROMPT, 2],
  ['{"prompt_tokens":1,"completion_tokens":1e999}', 1, 6],
  ['{"prompt_tokens":1,"completion_tokens":9e15}', 1, 6],
  ['{"prompt_tokens":9e15,"completion_tokens":2}', PROMPT, 2],
])(
  "where a provider reports the usage %s our own count is charged and shown, marked as estimated",
  async (usageJson, inputTokens, outputTokens) => {
    const { provider, app } = stack();
    const seeded = await seedAccount(app.database, 1_000_000n);
    provider.behaviour = { usageJson };
    const reply = await post(seeded.secret, { model: MODEL, messages, max_tokens: 6 });
    provider.behaviour = {};
    expect(reply.status).toBe(200);
    const request = await onlyRequestOf(seeded);
    expect(request).toMatchObject({ usageEstimated: true, inputTokens, outputTokens });
    expect(request?.cost?.total).toBe(costOf(outputTokens, inputTokens));
    const shown = (await reply.json()) as { usage: object };
    const total_tokens = inputTokens + outputTokens;
    expect(shown.usage).toEqual({
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens,
      cost: Number(formatToken(costOf(outputTokens, inputTokens))),
    });
    await expectConsistentLedger();
  },
);

test.each([false, true])(
  "a provider that counts more than was held is paid from the balance as far as it suffices (streamed: %s)",
  async (stream) => {
    const { provider, app } = stack();
    for (const [available, paid] of [
      [1_000_000n, costOf(6, 5_000)],
      [10_000n, 10_000n],
    ] as const) {
      const seeded = await seedAccount(app.database, available);
      provider.behaviour = { usageJson: '{"prompt_tokens":5000,"completion_tokens":6}' };
      const reply = await post(seeded.secret, { model: MODEL, messages, max_tokens: 6, stream });
      const [, traced] = /"billing":(\{[^}]*\})/.exec(await reply.text()) ?? [];
      const billing = JSON.parse(traced ?? "");
      provider.behaviour = {};
      const cost = (await onlyRequestOf(seeded))?.cost;
      expect(cost?.total).toBe(paid);
      expect(cost).toEqual({
        input: BigInt(billing.input_cost),
        output: BigInt(billing.output_cost),
        total: BigInt(billing.total_cost),
        cacheSaving: 0n,
      });
      expect((cost?.input ?? 0n) + (cost?.output ?? 0n)).toBe(paid);
      expect(await balanceOf(seeded)).toMatchObject({ held: 0n, total: available - paid });
    }
    await expectConsistentLedger();
  },
);

test("a provider's reason for refusing a request is passed on, without secrets", async () => {
  const { provider, app } = stack();
  const seeded = await seedAccount(app.database, 1_000_000n);
  const body = '{"error":{"message":"context_length_exceeded for app-sk-abcdefghijklmnop"}}';
  provider.behaviour = { instead: { status: 400, contentType: "application/json", body } };
  for (const stream of [false, true]) {
    const reply = await post(seeded.secret, { model: MODEL, messages, stream });
    const text = await reply.text();
    expect(reply.status).toBe(400);
    expect(text).toContain("context_length_exceeded");
    expect(text).not.toContain("abcdefghijklmnop");
  }
  provider.behaviour = {};
  expect(await balanceOf(seeded)).toMatchObject({ held: 0n, total: 1_000_000n });
});

test.each([
  ["not JSON", "{", "body"],
  ["no model", { messages }, "model"],
  ["no messages", { model: MODEL }, "messages"],
  ["empty messages", { model: MODEL, messages: [] }, "messages"],
  ["a message without a role", { model: MODEL, messages: [{ content: "x" }] }, "messages.0.role"],
  ["a limit of zero", { model: MODEL, messages, max_tokens: 0 }, "max_tokens"],
  ["a limit that is not a number", { model: MODEL, messages, max_tokens: "7" }, "max_tokens"],
  [
    "a prototype",
    `{"model":"${MODEL}","messages":[{"role":"user","content":"x"}],"__proto__":{"a":1}}`,
    "__proto__",
  ],
] as const)("%s is 400 invalid_body and names the field", async (_, body, param) => {
  const seeded = await seedAccount(stack().app.database, 1_000n);
  const reply = await post(seeded.secret, body);
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({
    error: { code: "invalid_body", type: "invalid_request_error", param },
  });
  expect(await balanceOf(seeded)).toMatchObject({ held: 0n, total: 1_000n });
});

test("each credential that may not chat is refused with its own code", async () => {
  const { app } = stack();
  const seeded = await seedAccount(app.database, 1_000n);
  const { secret: management } = await app.managementKeys.create(seeded.account, "ci", ["account:read"]);
  const typo = `${seeded.secret.slice(0, -1)}${seeded.secret.endsWith("a") ? "b" : "a"}`;
  const codes: [string | undefined, number, string][] = [
    [undefined, 401, "missing_authorization"],
    [newSecret("sk-"), 401, "invalid_api_key"],
    [typo, 401, "invalid_api_key"],
    ["sk-short", 401, "invalid_api_key"],
    [management, 403, "insufficient_scope"],
  ];
  for (const [secret, status, code] of codes) {
    const reply = await post(secret, { model: MODEL, messages });
    expect(await failureOf(reply)).toEqual([status, code]);
  }
  await app.apiKeys.revoke(seeded.account, seeded.keyId);
  const revoked = await post(seeded.secret, { model: MODEL, messages });
  expect(await failureOf(revoked)).toEqual([401, "api_key_revoked"]);
});

test("a key that was just used is refused at once when it is revoked", async () => {
  const { app } = stack();
  const seeded = await seedAccount(app.database, 1_000_000n);
  expect((await post(seeded.secret, { model: MODEL, messages })).status).toBe(200);
  await app.apiKeys.revoke(seeded.account, seeded.keyId);
  for (const stream of [false, true]) {
    const reply = await post(seeded.secret, { model: MODEL, messages, stream });
    expect(await failureOf(reply)).toEqual([401, "api_key_revoked"]);
  }
});

test("an unknown model is 404, an unknown path too, and the client's own request id is kept", async () => {
  const seeded = await seedAccount(stack().app.database, 1_000n);
  const reply = await post(seeded.secret, { model: "nobody's", messages }, { "x-request-id": "mine-1" });
  expect(reply.status).toBe(404);
  expect(reply.headers.get("x-request-id")).toBe("mine-1");
  expect(await reply.json()).toMatchObject({
    error: { code: "model_not_found", param: "model" },
    request_id: "mine-1",
  });
  const nowhere = await fetch(`${stack().origin}/v1/nowhere`);
  expect(await failureOf(nowhere)).toEqual([404, "not_found"]);
});

test("a client may repeat a request id: each request is one charge", async () => {
  const seeded = await seedAccount(stack().app.database, 1_000_000n);
  const id = `mine-${seeded.keyId}`;
  expect(
    (await post(seeded.secret, { model: MODEL, messages, max_tokens: 3 }, { "x-request-id": id })).status,
  ).toBe(200);
  expect(
    (await post(seeded.secret, { model: MODEL, messages, max_tokens: 3 }, { "x-request-id": id })).status,
  ).toBe(200);
  expect(await balanceOf(seeded)).toMatchObject({ held: 0n, total: 1_000_000n - 2n * costOf(3) });
  await expectConsistentLedger();
});

test("models and providers are listed without a credential, priced in neuron per token", async () => {
  const { origin } = stack();
  const models = await new OpenAI({ baseURL: `${origin}/v1`, apiKey: "none" }).models.list();
  expect(models.data.map(({ id }) => id)).toEqual([MODEL]);
  expect(await (await fetch(`${origin}/v1/models`)).json()).toMatchObject({
    object: "list",
    data: [
      {
        id: MODEL,
        object: "model",
        supported_formats: ["openai"],
        pricing: { prompt: "3", completion: "5" },
      },
    ],
  });
  const offer = { model_id: MODEL, service_type: "chatbot", tee_acknowledged: true };
  expect(await (await fetch(`${origin}/v1/providers?model=${MODEL}`)).json()).toMatchObject({
    data: [offer],
  });
  expect(await (await fetch(`${origin}/v1/providers?model=other`)).json()).toMatchObject({ data: [] });
  expect((await fetch(`${origin}/v1/providers?service_type=magic`)).status).toBe(400);
});
