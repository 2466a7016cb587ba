// @module-tag large
import OpenAI from "openai";
import { beforeEach, describe, expect, test } from "vitest";
import { ReplayKey } from "../../../src/idempotency/replay-key.ts";
import { openAnswer, sealAnswer } from "../../../src/idempotency/sealed-answer.ts";
import { routes } from "../../../src/rest/routes.ts";
import { MODEL } from "../../support/chain/network.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { sendBilled } from "../../support/inference/billed-routes.ts";
import {
  CACHE,
  chat,
  chatBody,
  readAnswer,
  rowsOf,
  stored,
  useOf,
} from "../../support/inference/cached-chat.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { SERVICES, useServices } from "../../support/services.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const RICH = 10n ** 15n;
/** Every route whose answers may be stored, and those of them that stream. */
const CACHED = routes.filter(({ isCached }) => isCached).map(({ method, url }) => `${method} ${url}`);
const STREAMED = routes
  .filter(({ isCached, answer }) => isCached && answer?.media?.["text/event-stream"])
  .map(({ method, url }) => `${method} ${url}`);
const withoutBill = (text: string) =>
  text
    .replaceAll(/"x_0g_trace":\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g, "")
    .replaceAll(/"cost":[\d.]+/g, "")
    .replaceAll(/(?:resp|msg|rs|fc)_[\w-]+/g, "")
    .replaceAll(/"(?:created_at|completed_at)":\d+/g, "");

describe("a stored answer, free of charge", () => {
  const stack = useStack();
  const services = useServices(stack, ["messages", "embeddings", "rerank"]);
  let owner: Seeded;
  beforeEach(async () => {
    owner = await seedAccount(stack().app.database, RICH);
  });
  const asked = () =>
    stack().provider.requests + Object.values(services()).reduce((sum, { requests }) => sum + requests, 0);

  test.each(CACHED)("is that of an equal request, with a bill of its own: %s", async (route) => {
    const send = () => sendBilled(stack().origin, owner, route, {}, CACHE);
    const first = await send();
    expect([first.status, useOf(first)]).toEqual([200, "miss"]);
    const text = await first.text();
    const before = asked();
    const second = await send();
    expect([second.status, useOf(second)]).toEqual([200, "hit"]);
    expect(Number(second.headers.get("x-0g-cache-age"))).toBeLessThan(60);
    const again = await second.text();
    expect(asked()).toBe(before);
    expect(withoutBill(again)).toBe(withoutBill(text));
    const [original, hit] = await rowsOf(stack(), owner);
    expect(second.headers.get("x-0g-cached-from")).toBe(original?.id);
    const { x_0g_trace: trace } = JSON.parse(again);
    expect(trace).toEqual({
      request_id: hit?.id,
      provider: original?.provider,
      billing: { input_cost: "0", output_cost: "0", total_cost: "0" },
      cached_from: original?.id,
    });
    expect(hit).toMatchObject({
      status: "completed",
      cost: { total: 0n },
      inputTokens: original?.inputTokens,
      outputTokens: original?.outputTokens,
      routing: { attempts: [], cachedFrom: original?.id },
    });
    await requireAvailable(stack().app, owner, { available: RICH - (original?.cost?.total ?? 0n) });
  });

  test.each(STREAMED)("is streamed to a streamed request, event by event: %s", async (route) => {
    const send = () => sendBilled(stack().origin, owner, route, { stream: true }, CACHE);
    const text = await (await send()).text();
    await until(async () => expect(await stored(stack(), owner)).toHaveLength(1));
    const before = asked();
    const second = await send();
    expect(useOf(second)).toBe("hit");
    expect(second.headers.get("content-type")).toContain("text/event-stream");
    const again = await second.text();
    expect(asked()).toBe(before);
    const eventsOf = (all: string) =>
      all
        .split("\n\n")
        .filter((event) => !event.startsWith(":"))
        .map(withoutBill);
    expect(eventsOf(again)).toEqual(eventsOf(text));
    const [original, hit] = await rowsOf(stack(), owner);
    expect(again).toContain(`"cached_from":"${original?.id}"`);
    expect(hit).toMatchObject({ status: "completed", cost: { total: 0n } });
  });

  test("is read by the official client, whole and streamed", async () => {
    const client = new OpenAI({
      ...{ apiKey: owner.secret, baseURL: `${stack().origin}/v1`, maxRetries: 0 },
      defaultHeaders: CACHE,
    });
    const ask = async () => {
      const stream = await client.chat.completions.create({
        ...(chatBody() as OpenAI.ChatCompletionCreateParamsStreaming),
        ...{ stream: true, stream_options: { include_usage: true } },
      });
      let text = "";
      let usage: unknown;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? "";
        usage = chunk.usage ?? usage;
      }
      return { text, usage: usage as { completion_tokens: number; cost: number } };
    };
    const first = await ask();
    await until(async () => expect(await stored(stack(), owner)).toHaveLength(1));
    const second = await ask();
    expect(second.text).toBe(first.text);
    expect(second.usage).toMatchObject({ completion_tokens: first.usage.completion_tokens, cost: 0 });
    const { data, response } = await client.chat.completions
      .create(chatBody() as OpenAI.ChatCompletionCreateParamsNonStreaming)
      .withResponse();
    expect(useOf(response)).toBe("miss");
    const repeated = await client.chat.completions
      .create(chatBody() as OpenAI.ChatCompletionCreateParamsNonStreaming)
      .withResponse();
    expect(useOf(repeated.response)).toBe("hit");
    expect(repeated.data.choices).toEqual(data.choices);
  });

  test("is not given to a request that differs, or that does not ask for one", async () => {
    expect(useOf(await chat(stack(), owner))).toBe("miss");
    for (const fields of [
      { temperature: 0.1 },
      { seed: 9_007_199_254_740 },
      { max_tokens: 11 },
      { messages: [{ role: "user", content: "What is the sea? " }] },
      { n: 2 },
      { user: "another" },
      { unknown: null },
    ])
      expect(useOf(await chat(stack(), owner, fields)), JSON.stringify(fields)).toBe("miss");
    const big = (seed: string) => `${JSON.stringify(chatBody()).slice(0, -1)},"seed":${seed}}`;
    expect(useOf(await chat(stack(), owner, big("9007199254740993")))).toBe("miss");
    expect(useOf(await chat(stack(), owner, big("9007199254740992")))).toBe("miss");
    const plain = await chat(stack(), owner, {}, {});
    expect([plain.status, useOf(plain)]).toEqual([200, null]);
    expect((await readAnswer(plain)).x_0g_trace).not.toHaveProperty("cached_from");
    const pinned = await chat(stack(), owner, {}, { ...CACHE, "X-0G-Provider-Allow-Fallbacks": "false" });
    expect(useOf(pinned)).toBe("miss");
    const { model, ...rest } = chatBody();
    expect(useOf(await chat(stack(), owner, JSON.stringify({ ...rest, model }, null, 2)))).toBe("hit");
  });

  test("belongs to one key: neither another account nor another key of the account gets it", async () => {
    expect(useOf(await chat(stack(), owner))).toBe("miss");
    const other = await seedAccount(stack().app.database, RICH);
    expect(useOf(await chat(stack(), other))).toBe("miss");
    const { secret } = await stack().app.apiKeys.create(owner.account, "second", {});
    expect(useOf(await chat(stack(), { secret }))).toBe("miss");
    expect(useOf(await chat(stack(), owner))).toBe("hit");
    const rows = await stored(stack(), owner);
    expect(rows).toHaveLength(2);
    for (const { sealed } of rows)
      expect(Buffer.from(sealed, "base64").toString("latin1")).not.toMatch(/choices|role/);
    // A row that is moved to another account or name cannot be read.
    await stack().app.database.rows(
      "update cached_answer set sealed = (select sealed from cached_answer where account = $1::text and name = $2::text) where account = $1::text and name = $3::text returning 1",
      [owner.account, rows[0]?.name, rows[1]?.name],
    );
    expect(useOf(await chat(stack(), { secret }))).toBe("miss");
  });

  test("ends with its time, and is not older than a request accepts", async () => {
    const age = (seconds: number) =>
      stack().app.database.rows(
        `update cached_answer set created_at = created_at - make_interval(secs => $2::int),
           expires_at = expires_at - make_interval(secs => $2::int) where account = $1::text returning 1`,
        [owner.account, seconds],
      );
    await chat(stack(), owner);
    await age(100);
    expect(useOf(await chat(stack(), owner, {}, { "X-0G-Cache": "99" }))).toBe("miss");
    await age(100);
    const aged = await chat(stack(), owner, {}, { "x-platform-cache": "86400" });
    expect(useOf(aged)).toBe("miss");
    expect(useOf(await chat(stack(), owner))).toBe("hit");
    await age(86_401);
    expect(useOf(await chat(stack(), owner, {}, { "X-0G-Cache": "86400" }))).toBe("miss");
    await age(86_401);
    await until(async () => {
      await stack().app.answerCache.sweep();
      expect(await stored(stack(), owner)).toHaveLength(0);
    });
  });

  test.each(["0", "-1", "86401", "1.5", "600s", "", "1e3", " ", "99999999999999999999"])(
    "is not requested with the value %j",
    async (value) => {
      const reply = await chat(stack(), owner, {}, { "X-0G-Cache": value });
      const { error } = await readAnswer(reply);
      expect([reply.status, error.code]).toEqual([400, "invalid_parameter"]);
      expect(error.param.toLowerCase()).toBe("x-0g-cache");
    },
  );

  test.each([
    ["whole", false, "{}", "application/json"],
    ["streamed", true, "data: [DONE]\n\n", "text/event-stream"],
  ])("is replaced if it can no longer be read: %s", async (_, stream, content, contentType) => {
    await (await chat(stack(), owner, { stream })).text();
    await until(async () => expect(await stored(stack(), owner)).toHaveLength(1));
    await replaceContent(owner, content, contentType);
    const reply = await chat(stack(), owner, { stream });
    expect([reply.status, useOf(reply)]).toEqual([200, "miss"]);
    expect(await reply.text()).not.toContain("cached_from");
    expect((await rowsOf(stack(), owner)).at(-1)).toMatchObject({
      status: "completed",
      routing: { attempts: [{ outcome: "answered" }] },
    });
    await until(async () => expect(useOf(await chat(stack(), owner, { stream }))).toBe("hit"));
  });

  test("fails one stream at most if its end can no longer be read", async () => {
    const text = await (await chat(stack(), owner, { stream: true })).text();
    await until(async () => expect(await stored(stack(), owner)).toHaveLength(1));
    const [first = ""] = text.split("\n\n").filter((event) => /"content":"[^"]/.test(event));
    await replaceContent(owner, `${first}\n\ndata: {"choices":7}\n\n`, "text/event-stream");
    expect(await (await chat(stack(), owner, { stream: true })).text()).toContain('"error"');
    expect(useOf(await chat(stack(), owner, { stream: true }))).toBe("miss");
  });

  async function replaceContent({ account, secret }: Seeded, content: string, contentType: string) {
    const key = ReplayKey.ofAuthorization(`Bearer ${secret}`);
    const [row] = await stored(stack(), { account } as Seeded);
    if (!key || !row) throw new Error("no answer is stored");
    const context = { scopeName: "cached answer", bodyName: row.name };
    const { headers, ...rest } = openAnswer(key, Buffer.from(row.sealed, "base64"), context);
    const changed = { ...rest, headers: { ...headers, contentType }, body: Buffer.from(content) };
    await stack().app.database.rows(
      "update cached_answer set sealed = decode($2::text, 'base64') where account = $1::text returning 1",
      [account, sealAnswer(key, changed, context).toString("base64")],
    );
  }

  test("is not one of a failure, of a refusal, or of an answer that was cut off or left", async () => {
    for (const behaviour of [
      { instead: { status: 500, contentType: "application/json", body: "{}" } },
      { breakAfterEvents: 3 },
    ]) {
      stack().provider.behaviour = behaviour;
      for (const stream of [false, true]) await (await chat(stack(), owner, { stream })).text();
    }
    stack().provider.behaviour = {};
    expect((await chat(stack(), owner, { messages: [] })).status).toBe(400);
    stack().provider.behaviour = { chunkDelayMs: 30 };
    const left = new AbortController();
    const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${owner.secret}`, ...CACHE },
      body: JSON.stringify(chatBody({ stream: true })),
      signal: left.signal,
    });
    await reply.body?.getReader().read();
    left.abort();
    stack().provider.behaviour = {};
    await until(async () => expect((await rowsOf(stack(), owner)).at(-1)?.status).toBe("aborted"));
    expect((await rowsOf(stack(), owner)).map(({ status }) => status)).not.toContain("completed");
    expect(await stored(stack(), owner)).toEqual([]);
  });

  test.each([
    ["an idempotent request", false],
    ["an idempotent stream", true],
  ])("is given to %s once, which then has its own repetition", async (_, stream) => {
    await (await chat(stack(), owner, { stream })).text();
    // The answer of a stream is stored once its end was sent.
    await until(async () => (await stored(stack(), owner)).length > 0);
    const keyed = { ...CACHE, "Idempotency-Key": "one" };
    const first = await chat(stack(), owner, { stream }, keyed);
    const text = await first.text();
    const again = await until(async () => {
      const reply = await chat(stack(), owner, { stream }, keyed);
      return reply.status !== 409 && reply;
    });
    expect(useOf(first)).toBe("hit");
    for (const name of ["x-0g-cache", "x-0g-cache-age", "x-0g-cached-from"])
      expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.text()).toBe(text);
    expect(await rowsOf(stack(), owner)).toHaveLength(2);
  });

  test("is never verified, and is not given to a request that requires proof", async () => {
    const first = await chat(stack(), owner, { verify_tee: true });
    expect((await readAnswer(first)).x_0g_trace.tee_verified).toBe(true);
    const second = await chat(stack(), owner, { verify_tee: true });
    expect(useOf(second)).toBe("hit");
    const { x_0g_trace: trace } = await readAnswer(second);
    expect(trace.tee_verified).toBe(false);
    expect(trace).not.toHaveProperty("tee_evidence");
    const proven = await chat(stack(), owner, {}, { ...CACHE, "X-0G-Provider-Evidence": "bound" });
    expect([proven.status, useOf(proven)]).toEqual([200, "bypass"]);
  });

  test("is given to the graph by an argument, and is shown in every history", async () => {
    const { origin, app } = stack();
    const complete = (input: object) =>
      ask(
        origin,
        owner.secret,
        `mutation ($input: CompleteChatInput!) { completeChat(input: $input) {
          completion { choices { text } bill { requestId cachedFrom cost { total } } } userErrors { code field } } }`,
        { input: { model: MODEL, messages: [{ role: "user", content: "hi" }], maxTokens: 4, ...input } },
      );
    const first = (await complete({ cacheSeconds: 60 })).data.completeChat.completion;
    const second = (await complete({ cacheSeconds: 60 })).data.completeChat.completion;
    expect(first.bill.cachedFrom).toBeNull();
    expect(second.choices).toEqual(first.choices);
    expect(second.bill).toMatchObject({ cachedFrom: first.bill.requestId, cost: { total: "0" } });
    expect(
      (await complete({ cacheSeconds: 60, maxTokens: 5 })).data.completeChat.completion.bill.cachedFrom,
    ).toBeNull();
    expect((await complete({})).data.completeChat.completion.bill.cachedFrom).toBeNull();
    for (const cacheSeconds of [0, -1, 86_401])
      expect((await complete({ cacheSeconds })).data.completeChat.userErrors).toEqual([
        { code: "invalid_body", field: "cacheSeconds" },
      ]);
    const embed = (cacheSeconds: number) =>
      ask(
        origin,
        owner.secret,
        `mutation ($input: CreateEmbeddingsInput!) { createEmbeddings(input: $input) {
          embeddings { vectors bill { cachedFrom } } } }`,
        { input: { model: SERVICES.embeddings.model, texts: ["a sea"], cacheSeconds } },
      );
    const vectors = (await embed(60)).data.createEmbeddings.embeddings;
    const again = (await embed(60)).data.createEmbeddings.embeddings;
    expect([again.vectors, vectors.bill.cachedFrom]).toEqual([vectors.vectors, null]);
    expect(again.bill.cachedFrom).toMatch(/^req-/);
    const id = second.bill.requestId;
    const from = first.bill.requestId;
    const { secret } = await app.managementKeys.create(owner.account, "reader", ["account:read"]);
    const { data } = await ask(
      origin,
      secret,
      `{ request(id: "${id}") { cachedFrom evidence { verdict } } }`,
    );
    expect(data.request).toEqual({ cachedFrom: from, evidence: null });
    const get = async (path: string, by: string) =>
      (await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${by}` } })).json();
    expect(await get(`/v1/generation?id=${id}`, owner.secret)).toMatchObject({ data: { cached_from: from } });
    const history = JSON.stringify(await get("/v1/account/usage/history", secret));
    expect(history).toContain(`"cached_from":"${from}"`);
  });

  test("needs a key that is active, its guardrails, its models, and the balance of its request", async () => {
    await chat(stack(), owner);
    await stack().app.apiKeys.update(owner.account, owner.keyId, { maxOutputTokens: 5 });
    expect((await chat(stack(), owner)).status).toBe(403);
    await stack().app.apiKeys.update(owner.account, owner.keyId, {
      maxOutputTokens: null,
      allowedModels: ["x"],
    });
    expect((await chat(stack(), owner)).status).toBe(403);
    await stack().app.apiKeys.update(owner.account, owner.keyId, { allowedModels: [], creditLimit: 1n });
    expect((await chat(stack(), owner)).status).toBe(402);
    await stack().app.apiKeys.update(owner.account, owner.keyId, { creditLimit: null });
    expect(useOf(await chat(stack(), owner))).toBe("hit");
    await stack().app.apiKeys.revoke(owner.account, owner.keyId);
    expect((await chat(stack(), owner)).status).toBe(401);
    expect(await rowsOf(stack(), owner)).toHaveLength(2);
  });

  test("depends on the limit that the key gives to the answer", async () => {
    const body = { model: MODEL, messages: [{ role: "user", content: "What is the sea?" }] };
    const ask = async (maxOutputTokens: number | null) => {
      await stack().app.apiKeys.update(owner.account, owner.keyId, { maxOutputTokens });
      const reply = await fetch(`${stack().origin}/v1/chat/completions`, {
        method: "POST",
        headers: { ...CACHE, "content-type": "application/json", authorization: `Bearer ${owner.secret}` },
        body: JSON.stringify(body),
      });
      const { usage } = (await reply.json()) as { usage: { completion_tokens: number } };
      return [reply.headers.get("x-0g-cache"), usage.completion_tokens];
    };
    const [, all] = await ask(null);
    expect(all).toBeGreaterThan(5);
    expect(await ask(5)).toEqual(["miss", 5]);
    expect(await ask(5)).toEqual(["hit", 5]);
    expect(await ask(3)).toEqual(["miss", 3]);
    expect(await ask(null)).toEqual(["hit", all]);
  });

  test("50 equal requests at once are each charged for what they got, and one answer is stored", async () => {
    const replies = await Promise.all(Array.from({ length: 50 }, () => chat(stack(), owner)));
    let charged = 0n;
    for (const reply of replies) {
      expect(reply.status).toBe(200);
      const { x_0g_trace: trace } = await readAnswer(reply);
      expect("cached_from" in trace).toBe(useOf(reply) === "hit");
      if (useOf(reply) === "hit") expect(trace.billing.total_cost).toBe("0");
      charged += BigInt(trace.billing.total_cost);
    }
    await requireAvailable(stack().app, owner, { available: RICH - charged });
    expect(await rowsOf(stack(), owner)).toHaveLength(50);
    expect(await stored(stack(), owner)).toHaveLength(1);
    expect(useOf(await chat(stack(), owner))).toBe("hit");
  });
});

test("the routes of texts are cached, and those of their streams", () => {
  expect([CACHED.length, STREAMED.length]).toEqual([6, 4]);
});
