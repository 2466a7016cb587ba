import { beforeEach, describe, expect, test } from "vitest";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { formatToken } from "../../src/kernel/text/amount.ts";
import { balanceAtRest } from "../support/balance.ts";
import { MODEL } from "../support/chain/network.ts";
import { rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

type Message = {
  readonly content: readonly [{ readonly text: string }];
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  readonly x_0g_trace: { readonly billing: { readonly total_cost: string } };
};
type Failure = {
  readonly type: "error";
  readonly error: { readonly type: string; readonly message: string; readonly code: string };
};

const stack = useStack();
const services = useServices(stack, ["messages"]);
const { model, inputPrice, outputPrice } = SERVICES.messages;
const messages = [{ role: "user", content: "Say something." }];
const PROMPT = countPromptTokens(messages);
const START = 1_000_000n;

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  services().messages.behaviour = {};
  services().messages.onBody = undefined;
});

test("a message is the provider's own plus the bill, charged exactly", async () => {
  const { status, body, headers } = await create<Message>({ max_tokens: 5 });
  expect(status).toBe(200);
  expect(body).toMatchObject({ type: "message", role: "assistant", stop_reason: "max_tokens" });
  const cost = BigInt(PROMPT) * inputPrice + 5n * outputPrice;
  expect(body.usage).toEqual({ input_tokens: PROMPT, output_tokens: 5, cost: Number(formatToken(cost)) });
  expect(body.x_0g_trace.billing.total_cost).toBe(String(cost));
  expect(headers.get("request-id")).toBe(headers.get("x-request-id"));
  expect(headers.get("zg-res-key")).toMatch(/^msg_/);
  await requireAvailable(stack().app, owner, { available: START - cost });
});

test("a stream is the provider's events, with the bill as a comment before the last", async () => {
  const text = await stream({ max_tokens: 5 });
  const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  expect(names.slice(0, 3)).toEqual(["message_start", "content_block_start", "ping"]);
  expect(names.slice(-3)).toEqual(["content_block_stop", "message_delta", "message_stop"]);
  expect(text).toMatch(
    /: x_0g_trace {"request_id".*}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n$/,
  );
  const cost = BigInt(PROMPT) * inputPrice + 5n * outputPrice;
  expect(text).toContain(`"total_cost":"${cost}"`);
  const [, end = ""] = /^event: message_delta\ndata: (.*)$/m.exec(text) ?? [];
  expect(JSON.parse(end).usage).toMatchObject({ output_tokens: 5, cost: Number(formatToken(cost)) });
  await requireAvailable(stack().app, owner, { available: START - cost });
});

test("cache reads and writes count as input, and the history shows them", async () => {
  services().messages.behaviour = {
    usageJson: JSON.stringify({
      input_tokens: 10,
      output_tokens: 3,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 25, ephemeral_1h_input_tokens: 5 },
    }),
  };
  const { body } = await create<Message>({ max_tokens: 100 });
  expect(body.x_0g_trace.billing.total_cost).toBe(String(60n * inputPrice + 3n * outputPrice));
  const { secret } = await stack().app.managementKeys.create(owner.account, "m", ["account:read"]);
  const history = await rest<{ data: object[] }>(stack().origin, "/v1/account/usage/history", secret);
  expect(history.body.data[0]).toMatchObject({
    input_tokens: 60,
    output_tokens: 3,
    cached_tokens: 20,
    cache_write_tokens: 25,
    cache_write_1h_tokens: 5,
  });
});

test.each([
  ["null", PROMPT, 5],
  ['{"input_tokens":-1,"output_tokens":1}', PROMPT, 1],
  ['{"input_tokens":1,"output_tokens":9e15}', 1, 5],
  ['{"input_tokens":9e15,"output_tokens":1}', PROMPT, 1],
  ['"x"', PROMPT, 5],
])(
  "invalid parts of the usage %s are counted by the router, and the usage shown is the one charged",
  async (usageJson, input_tokens, output_tokens) => {
    services().messages.behaviour = { usageJson };
    const { status, body } = await create<Message>({ max_tokens: 5 });
    expect(status).toBe(200);
    const cost = BigInt(input_tokens) * inputPrice + BigInt(output_tokens) * outputPrice;
    const usage = { input_tokens, output_tokens, cost: Number(formatToken(cost)) };
    expect(body.usage).toEqual(usage);
    await requireAvailable(stack().app, owner, { available: START - cost });
    const [, shown] = /^event: message_delta\ndata: (.*)$/m.exec(await stream({ max_tokens: 5 })) ?? [];
    expect(JSON.parse(shown ?? "").usage).toEqual(usage);
    await requireAvailable(stack().app, owner, { available: START - 2n * cost });
  },
);

/** Anthropic's events of an answer of three words to a prompt that was mostly read from a cache. */
const CACHED_START = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [],
    usage: { input_tokens: 10, cache_read_input_tokens: 5_000, output_tokens: 1 },
  },
};
const wordEvent = (text: string) => ({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text },
});
const eventsOf = (...events: readonly { readonly type: string }[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

test.each([
  ["breaks before it reports its answer", [], 3],
  [
    "breaks after reporting the answer",
    [{ type: "message_delta", delta: {}, usage: { output_tokens: 7 } }],
    7,
  ],
  [
    "continues after reporting the answer, and breaks",
    [{ type: "message_delta", delta: {}, usage: { output_tokens: 7 } }, wordEvent(" wide")],
    8,
  ],
])(
  "a stream that %s is charged for its reported input, including the cache",
  async (_what, more, outputTokens) => {
    const body = eventsOf(CACHED_START, ...[" The", " sea", " is"].map(wordEvent), ...more);
    services().messages.behaviour = { instead: { status: 200, contentType: "text/event-stream", body } };
    const text = await stream({ max_tokens: 100 });
    expect(text).toMatch(/event: error\n/);
    const cost = 5_010n * inputPrice + BigInt(outputTokens) * outputPrice;
    await requireAvailable(stack().app, owner, { available: START - cost });
    const { rows } = await stack().app.requests.list(owner.account, { first: 1 });
    expect(rows[0]).toMatchObject({
      status: "failed",
      inputTokens: 5_010,
      outputTokens,
      cachedTokens: 5_000,
    });
  },
);

test("a model that does not support the format is refused in the published words", async () => {
  const { status, body } = await create<Failure>({ model: MODEL });
  expect(status).toBe(400);
  expect(body).toEqual({
    type: "error",
    error: {
      type: "invalid_request_error",
      message: `model "${MODEL}" is not available on the anthropic API format (supported: openai); use POST /v1/chat/completions instead`,
      code: "invalid_body",
    },
    request_id: expect.any(String),
  });
});

test("the key may be sent as X-Api-Key; version and beta headers reach the provider, and no others", async () => {
  const seen: Readonly<Record<string, unknown>>[] = [];
  services().messages.onBody = (_body, headers) => void seen.push(headers);
  const headers = {
    "x-api-key": owner.secret,
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "tools-2024",
  };
  const { status } = await rest(stack().origin, "/v1/messages", undefined, {
    body: { model, max_tokens: 3, messages },
    headers: { ...headers, cookie: "a=b" },
  });
  expect(status).toBe(200);
  expect(seen[0]).toMatchObject({ "anthropic-version": "2023-06-01", "anthropic-beta": "tools-2024" });
  expect(seen[0]).not.toHaveProperty("cookie");
  expect(seen[0]).not.toHaveProperty("x-api-key");
  const malformed = await rest<Failure>(stack().origin, "/v1/messages", owner.secret, {
    body: { model, max_tokens: 3, messages },
    headers: { "anthropic-version": "latest" },
  });
  expect([malformed.status, malformed.body.error.type]).toEqual([400, "invalid_request_error"]);
});

test.each(["/v1/chat/completions", "/v1/files"])(
  "X-Api-Key is refused by its name at every other endpoint, such as %s",
  async (path) => {
    const { status, body } = await rest<Failure>(stack().origin, path, undefined, {
      ...(path === "/v1/files" ? { method: "GET" } : { body: { model, messages } }),
      headers: { "x-api-key": owner.secret },
    });
    expect(status).toBe(401);
    expect(body.error.code).toBe("missing_authorization");
    expect(body.error.message).toMatch(/X-Api-Key is read at \/v1\/messages/);
  },
);

test("an unknown path has an error that Anthropic's clients read", async () => {
  const { status, headers, body } = await rest<Failure>(stack().origin, "/v1/skills", undefined, {
    method: "GET",
    headers: { "x-api-key": owner.secret, "anthropic-version": "2023-06-01" },
  });
  expect(status).toBe(404);
  expect(body).toMatchObject({ type: "error", error: { type: "not_found_error" } });
  expect(headers.get("request-id")).toBe(headers.get("x-request-id"));
});

describe("failures have Anthropic's shape", () => {
  test.each([
    ["no key", { secret: undefined }, 401, "authentication_error", "missing_authorization"],
    ["a management key", { secret: "mk" }, 403, "permission_error", "insufficient_scope"],
    ["an unknown model", { fields: { model: "none" } }, 404, "not_found_error", "model_not_found"],
    ["no limit", { fields: { max_tokens: undefined } }, 400, "invalid_request_error", "invalid_body"],
    [
      "more than the balance",
      { fields: { max_tokens: 2_000_000 } },
      402,
      "billing_error",
      "insufficient_balance",
    ],
    [
      "a body that is too large",
      { fields: { system: "x".repeat(34_000_000) } },
      413,
      "request_too_large",
      "body_too_large",
    ],
    ["not JSON", { text: "{" }, 400, "invalid_request_error", "invalid_body"],
  ])(
    "%s",
    async (_what, given: {
      secret?: string | undefined;
      fields?: object;
      text?: string;
    }, status, type, code) => {
      const { secret: mk } = await stack().app.managementKeys.create(owner.account, `k${Math.random()}`, []);
      const secret = "secret" in given ? (given.secret === "mk" ? mk : undefined) : owner.secret;
      const body = given.text ?? { model, max_tokens: 3, messages, ...given.fields };
      const reply = await rest<Failure>(stack().origin, "/v1/messages", secret, { body });
      const { error } = reply.body;
      expect([reply.status, reply.body.type, error.type, error.code]).toEqual([status, "error", type, code]);
      expect(Object.keys(reply.body.error).toSorted()).toEqual(["code", "message", "type"]);
      expect(reply.headers.get("request-id")).toBe(reply.headers.get("x-request-id"));
    },
  );

  test("a revoked or expired key gets its specific code", async () => {
    const { app, origin } = stack();
    const revoked = await app.apiKeys.create(owner.account, "revoked");
    await app.apiKeys.revoke(owner.account, revoked.key.id);
    const expired = await app.apiKeys.create(owner.account, "expired");
    await app.database.rows("update api_key set expires_at = now() - interval '1 day' where id = $1::uuid", [
      expired.key.id,
    ]);
    for (const [{ secret }, code] of [
      [revoked, "api_key_revoked"],
      [expired, "api_key_expired"],
    ] as const) {
      const body = { model, max_tokens: 3, messages };
      const reply = await rest<Failure>(origin, "/v1/messages", secret, { body });
      expect([reply.status, reply.body.error]).toMatchObject([401, { type: "authentication_error", code }]);
    }
  });

  test("a failing provider is 502 before the first event, and an error event after it", async () => {
    services().messages.behaviour = { instead: { status: 500, contentType: "text/plain", body: "oops" } };
    const { status, body } = await create<Failure>({ stream: true });
    expect([status, body.error.type]).toEqual([502, "api_error"]);
    services().messages.behaviour = { breakAfterEvents: 6, chunkDelayMs: 5 };
    const text = await stream({});
    expect(text).toMatch(/event: error\ndata: {"type":"error","error":{"type":"api_error",.*}}\n\n$/);
    expect(text).not.toContain("message_stop");
    // Three of its words were delivered.
    await requireAvailable(stack().app, owner, {
      available: START - BigInt(PROMPT) * inputPrice - 3n * outputPrice,
    });
  });

  test("a provider's refusal is passed on with its reason", async () => {
    const error = { type: "error", error: { type: "invalid_request_error", message: "messages: too odd" } };
    services().messages.behaviour = {
      instead: { status: 400, contentType: "application/json", body: JSON.stringify(error) },
    };
    const { status, body } = await create<Failure>({});
    expect([status, body.error.type]).toEqual([400, "invalid_request_error"]);
    expect(body.error.message).toContain("messages: too odd");
  });
});

test("a client that disconnects pays for what it received", async () => {
  services().messages.behaviour = { chunkDelayMs: 50 };
  const leaving = new AbortController();
  const reply = await fetch(`${stack().origin}/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model, max_tokens: 60, messages, stream: true }),
    signal: leaving.signal,
  });
  await reply.body?.getReader().read();
  const { aborted } = services().messages;
  leaving.abort();
  await until(async () => expect(services().messages.aborted).toBe(aborted + 1));
  await until(async () => {
    const balance = await balanceAtRest(stack().app, owner.account);
    expect(balance?.held).toBe(0n);
    expect(balance?.available).toBeLessThan(START - BigInt(PROMPT) * inputPrice);
    expect(balance?.available).toBeGreaterThan(START - BigInt(PROMPT) * inputPrice - 60n * outputPrice);
  });
});

describe("POST /v1/messages/count_tokens", () => {
  const count = (fields: object = {}) =>
    rest<{ input_tokens: number }>(stack().origin, "/v1/messages/count_tokens", owner.secret, {
      body: { model, messages, ...fields },
    });

  test("is the provider's count, or our own where it has none, and not charged", async () => {
    expect((await count()).body).toEqual({ input_tokens: PROMPT });
    const instead = (status: number, body: string) => ({
      instead: { status, contentType: "application/json", body },
    });
    services().messages.behaviour = instead(200, '{"input_tokens":7}');
    expect((await count()).body).toEqual({ input_tokens: 7 });
    services().messages.behaviour = instead(404, '{"error":"Provider: no such endpoint"}');
    expect((await count()).body).toEqual({ input_tokens: PROMPT });
    await requireAvailable(stack().app, owner, { available: START });
  });

  test("is refused like a message", async () => {
    expect((await count({ messages: [] })).status).toBe(400);
  });

  test("of a model without the format is refused, and the error names no endpoint that counts nothing", async () => {
    const { status, body } = await count({ model: MODEL });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: {
        message: `model "${MODEL}" is not available on the anthropic API format (supported: openai); tokens are counted only on this format: use a model whose supported_formats in GET /v1/models include it`,
        code: "invalid_body",
      },
    });
  });
});

function create<T>(fields: object) {
  return rest<T>(stack().origin, "/v1/messages", owner.secret, {
    body: { model, max_tokens: 10, messages, ...fields },
  });
}

async function stream(fields: object): Promise<string> {
  const reply = await fetch(`${stack().origin}/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model, max_tokens: 10, messages, stream: true, ...fields }),
  });
  return reply.text();
}
