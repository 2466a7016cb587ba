// @module-tag large
import { describe, expect, test } from "vitest";
import { formatToken } from "../../src/kernel/text/amount.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import type { Scope } from "../../src/keys/auth/principal.ts";
import { openSession } from "../support/callers.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../support/chain/network.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const BALANCE = 10n ** 18n;
const stack = useStack({ RATE_LIMIT_PER_KEY: "5000" });

type Answer = {
  readonly usage: { readonly cost: number; readonly prompt_tokens: number };
  readonly x_0g_trace: { readonly request_id: string; readonly provider: string };
};

function seed(): Promise<Seeded> {
  return seedAccount(stack().app.database, BALANCE);
}

async function managementKey(account: string, ...scopes: Scope[]): Promise<string> {
  return (await stack().app.managementKeys.create(account, newId(), scopes)).secret;
}

async function chat(secret: string): Promise<Answer> {
  const body = { model: MODEL, messages: [{ role: "user", content: "Hello" }], max_tokens: 3 };
  const reply = await rest<Answer>(stack().origin, "/v1/chat/completions", secret, { body });
  expect(reply.status).toBe(200);
  return reply.body;
}

async function get<T>(path: string, secret?: string): Promise<T> {
  const { status, body } = await rest<{ data: T }>(stack().origin, path, secret);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

async function failureOf(path: string, secret?: string) {
  const { status, body } = await rest<RestFailure>(stack().origin, path, secret);
  return [status, body.error.code, body.error.param];
}

describe("GET /v1/generation", () => {
  const pathOf = (id: string) => `/v1/generation?id=${encodeURIComponent(id)}`;

  test("is the request as it was billed, for its key, the account's reader and its wallet", async () => {
    const { account, secret, keyId } = await seed();
    const { usage, x_0g_trace: trace } = await chat(secret);
    const path = pathOf(trace.request_id);
    const own = await get<Record<string, unknown>>(path, secret);
    expect(own).toMatchObject({
      id: trace.request_id,
      model: MODEL,
      provider: trace.provider,
      service_type: "chatbot",
      api_key_id: keyId,
      status: "completed",
      cancelled: false,
      error_code: null,
      tokens_prompt: usage.prompt_tokens,
      tokens_completion: 3,
      native_tokens_cached: 0,
      usage_estimated: false,
      total_cost: usage.cost,
      usage: Number(formatToken(BigInt(usage.prompt_tokens) * INPUT_PRICE + 3n * OUTPUT_PRICE)),
    });
    const { latency, first_byte_latency, generation_time } = own as Record<string, number>;
    expect(latency).toBe((first_byte_latency ?? 0) + (generation_time ?? 0));
    expect(Date.parse(String(own.finished_at))).toBeGreaterThanOrEqual(Date.parse(String(own.created_at)));
    expect(await get(path, await managementKey(account, "account:read"))).toEqual(own);
    expect(await get(path, await openSession(stack().app, account))).toEqual(own);
  });

  test("does not exist for another key of the account, nor for another account", async () => {
    const { account, secret } = await seed();
    const { request_id: id } = (await chat(secret)).x_0g_trace;
    const sibling = await stack().app.apiKeys.create(account, "sibling");
    const stranger = await seed();
    const absent = [404, "generation_not_found", "id"];
    const reader = await managementKey(stranger.account, "account:read");
    for (const credential of [sibling.secret, stranger.secret, reader])
      expect(await failureOf(pathOf(id), credential)).toEqual(absent);
    expect(await failureOf(pathOf("none"), secret)).toEqual(absent);
  });

  test("requires an id, and a credential that may read it", async () => {
    const { account, secret } = await seed();
    expect(await failureOf("/v1/generation", secret)).toEqual([400, "invalid_parameter", "id"]);
    expect(await failureOf(pathOf("\u0000"), secret)).toEqual([400, "invalid_parameter", "id"]);
    expect(await failureOf(pathOf(""), secret)).toEqual([400, "invalid_parameter", "id"]);
    expect(await failureOf(pathOf("x".repeat(257)), secret)).toEqual([400, "invalid_parameter", "id"]);
    expect(await failureOf(`${pathOf("x")}&format=csv`, secret)).toEqual([
      400,
      "invalid_parameter",
      "format",
    ]);
    expect(await failureOf(pathOf("x"))).toEqual([401, "missing_authorization", null]);
    const reader = await managementKey(account, "keys:read");
    expect(await failureOf(pathOf("x"), reader)).toEqual([403, "insufficient_scope", null]);
  });
});

describe("GET /v1/key", () => {
  test("is the key in use: its limit, what it spent and what remains", async () => {
    const { account } = await seed();
    const created = await stack().app.apiKeys.create(account, "weekend", {
      creditLimit: 10n ** 17n,
      resetPeriod: "daily",
      allowedModels: [MODEL],
    });
    const { usage } = await chat(created.secret);
    const key = await get<Record<string, unknown>>("/v1/key", created.secret);
    expect(key).toMatchObject({
      label: "weekend",
      key_id: created.key.id,
      key_preview: created.key.preview,
      expires_at: null,
      usage: usage.cost,
      limit: 0.1,
      limit_reset: "daily",
      rate_limit: { requests: 5_000, interval: "60s" },
      allowed_models: [MODEL],
      allowed_providers: [],
    });
    const charged = (await stack().app.requests.list(account, { first: 1 })).rows[0]?.cost?.total ?? 0n;
    expect(key.limit_remaining).toBe(Number(formatToken(10n ** 17n - charged)));
  });

  test("has no remainder without a limit, and none below zero once the limit is lowered", async () => {
    const { account, secret, keyId } = await seed();
    await chat(secret);
    expect(await get("/v1/key", secret)).toMatchObject({ limit: null, limit_remaining: null });
    await stack().app.apiKeys.update(account, keyId, { creditLimit: 1n });
    expect(await get("/v1/key", secret)).toMatchObject({
      limit: 1e-18,
      limit_remaining: 0,
    });
  });

  test("is only for sk- keys that may be used", async () => {
    const { account, secret, keyId } = await seed();
    const all = await managementKey(account, "account:read", "keys:read", "keys:create", "keys:manage");
    expect(await failureOf("/v1/key", all)).toEqual([403, "insufficient_scope", null]);
    const session = await openSession(stack().app, account);
    expect(await failureOf("/v1/key", session)).toEqual([403, "insufficient_scope", null]);
    expect(await failureOf("/v1/key")).toEqual([401, "missing_authorization", null]);
    await stack().app.apiKeys.revoke(account, keyId);
    expect(await failureOf("/v1/key", secret)).toEqual([401, "api_key_revoked", null]);
  });
});

describe("GET /v1/credits", () => {
  type Credits = { readonly total_credits: number; readonly total_usage: number };

  test("is what the account ever had and used, for each of its keys; an allotment is not usage", async () => {
    const { account, secret } = await seed();
    expect(await get<Credits>("/v1/credits", secret)).toEqual({ total_credits: 1, total_usage: 0 });
    await chat(secret);
    const other = await stack().app.apiKeys.create(account, "other");
    await chat(other.secret);
    const { rows } = await stack().app.requests.list(account, { first: 2 });
    const used = rows.reduce((sum, { cost }) => sum + (cost?.total ?? 0n), 0n);
    const credits = { total_credits: 1, total_usage: Number(formatToken(used)) };
    const reader = await managementKey(account, "account:read");
    for (const credential of [secret, other.secret, reader, await openSession(stack().app, account)])
      expect(await get<Credits>("/v1/credits", credential)).toEqual(credits);
    await until(async () => (await stack().app.balances.byAccount(account)).total === BALANCE - used);
  });

  test("never differs by a request that is settled meanwhile", async () => {
    const { secret } = await seed();
    const chats = Array.from({ length: 20 }, () => chat(secret));
    let isDone = false;
    const all = Promise.all(chats).finally(() => {
      isDone = true;
    });
    while (!isDone) expect((await get<Credits>("/v1/credits", secret)).total_credits).toBe(1);
    await all;
  });

  test("requires a credential of the account that may read it", async () => {
    const { account } = await seed();
    expect(await failureOf("/v1/credits")).toEqual([401, "missing_authorization", null]);
    const reader = await managementKey(account, "keys:read");
    expect(await failureOf("/v1/credits", reader)).toEqual([403, "insufficient_scope", null]);
  });
});
