// @module-tag large
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { countPromptTokens, countTokens } from "../../../src/inference/billing/tokens.ts";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { formatToken } from "../../../src/kernel/text/amount.ts";
import { balanceAtRest } from "../../support/balance.ts";
import {
  nativeEvents,
  nativeResponse,
  RESPONSE_HEAD,
  RESPONSE_WORDS,
} from "../../support/inference/native-responses.ts";
import {
  breakOff,
  event,
  good,
  openStream,
  ROLE,
  type Script,
  sendJson,
  TEXT,
  trickle,
  USAGE,
  WORDS,
} from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

type Fields = Readonly<Record<string, unknown>>;
type Event = Fields & { readonly type: string; readonly sequence_number: number; readonly response?: Fields };

const BOTH = ["openai", "responses"];
const INPUT = "What is the sea?";
const PROMPT = countPromptTokens([{ role: "user", content: INPUT }]);
const START = 10_000_000n;

/** Which of the three providers have the format, by model. */
const MODELS: Readonly<Record<string, readonly boolean[]>> = {
  "native-first": [true, false],
  "chat-first": [false, true],
  only: [true],
  renamed: [true],
  cached: [true],
  cut: [true, true, true],
  continued: [false, true, false],
  chats: [false, false],
};

const router = await useRouter({
  models: [],
  count: 3,
  settings: { RESUME_STREAMS: "on" },
  more: (n) =>
    Object.entries(MODELS).flatMap(([id, natives]) => {
      const isNative = natives[n];
      if (isNative === undefined) return [];
      const { prompt, completion } = PRICES[n] ?? PRICES[0];
      const pricing = { prompt: `${prompt}`, completion: `${completion}` };
      return [
        {
          id,
          pricing: id === "cached" ? { ...pricing, prompt: "10", cached_prompt: "1" } : pricing,
          ...(isNative && { supported_formats: id === "only" ? ["responses"] : BOTH }),
          ...(id === "renamed" && { upstream_id: "theirs" }),
        },
      ];
    }),
});

/** Answers like a provider that has both formats. */
const sound: Script = (call, response, n) => {
  if (call.path.endsWith("/chat/completions")) return good(call, response, n);
  if (!call.body.stream) return sendJson(response, 200, nativeResponse());
  openStream(response).end(nativeEvents().join(""));
};
const down: Script = (_, response) => sendJson(response, 500, { error: { message: "down" } });

function set(model: string, ...scripts: readonly Script[]): void {
  for (const [n, script] of scripts.entries()) router().scripted[n]?.scripts.set(model, script);
}

function post(seeded: Seeded, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${router().origin}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}`, ...headers },
    body: JSON.stringify({ input: INPUT, ...body }),
  });
}

function eventsOf(text: string): readonly Event[] {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? "") as Event);
}

const deltasOf = (events: readonly Event[]) =>
  events.map(({ type, delta }) => (type === "response.output_text.delta" ? delta : "")).join("");

const costAt = (n: number, input = USAGE.prompt_tokens, output = USAGE.completion_tokens) =>
  BigInt(input) * (PRICES[n]?.prompt ?? 0n) + BigInt(output) * (PRICES[n]?.completion ?? 0n);

/** The last request of an account, ended, after checking that the ledger is consistent. */
async function requestOf({ account }: Seeded): Promise<InferenceRequest> {
  const { app } = router();
  const request = await until(async () => {
    const [row] = (await app.requests.list(account, { first: 10 })).rows;
    return row !== undefined && row.status !== "running" && row;
  });
  expect(await balanceAtRest(app, account)).toMatchObject({ held: 0n });
  return request;
}

describe("a provider that has the format", () => {
  test("is sent the client's own body, with store: false and a limit", async () => {
    set("only", sound);
    const seeded = await router().seed();
    const body = { model: "only", include: ["reasoning.encrypted_content"], temperature: 0.5 };
    const reply = await post(seeded, { ...body, verify_tee: false });
    expect(reply.status, await reply.clone().text()).toBe(200);
    const [call] = router().scripted[0]?.callsOf("only") ?? [];
    expect(call?.path).toBe("/v1/responses");
    expect(call?.body).toEqual({
      ...{ ...body, input: INPUT, store: false },
      max_output_tokens: expect.any(Number),
    });
  });

  test.each([false, true])("answers, with stream %s: its own bytes, with the bill", async (stream) => {
    const odd = '"custom":1.50,';
    set("only", (_, response) => {
      const whole = JSON.stringify(nativeResponse()).replace("{", `{${odd}`);
      const last = nativeEvents().at(-1)?.replace('"response":{', `"response":{${odd}`);
      if (!stream) response.writeHead(200, { "content-type": "application/json" }).end(whole);
      else openStream(response).end([...nativeEvents().slice(0, -1), last].join(""));
    });
    const seeded = await router().seed();
    const text = await (await post(seeded, { model: "only", stream })).text();
    expect(text).toContain(odd);
    const response = (stream ? eventsOf(text).at(-1)?.response : JSON.parse(text)) as Fields;
    expect(response).toMatchObject({
      ...nativeResponse(),
      usage: { input_tokens: 9, output_tokens: 8, total_tokens: 17, cost: Number(formatToken(costAt(0))) },
      x_0g_trace: { billing: { total_cost: String(costAt(0)) } },
    });
    if (stream) {
      expect(text.startsWith(nativeEvents().slice(0, -1).join(""))).toBe(true);
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    }
    expect(await requestOf(seeded)).toMatchObject({ status: "completed", cost: { total: costAt(0) } });
  });

  test.each([false, true])("is billed for cached tokens at their price, with stream %s", async (stream) => {
    const usage = {
      ...{ input_tokens: 100, input_tokens_details: { cached_tokens: 60 } },
      ...{ output_tokens: 8, output_tokens_details: { reasoning_tokens: 3 }, total_tokens: 108 },
    };
    set("cached", (_, response) => {
      if (!stream) sendJson(response, 200, nativeResponse({ usage }));
      else openStream(response).end(nativeEvents({ usage }).join(""));
    });
    const seeded = await router().seed();
    const text = await (await post(seeded, { model: "cached", stream, max_output_tokens: 50 })).text();
    const response = (stream ? eventsOf(text).at(-1)?.response : JSON.parse(text)) as Fields;
    const total = 40n * 10n + 60n + 8n * 3n;
    expect(response.usage).toMatchObject({ ...usage, cost: Number(formatToken(total)) });
    expect(await requestOf(seeded)).toMatchObject({
      ...{ inputTokens: 100, cachedTokens: 60, outputTokens: 8, usageEstimated: false },
      cost: { total, cacheSaving: 540n },
    });
  });

  test.each([false, true])("is named by its model's name for clients, with stream %s", async (stream) => {
    router().scripted[0]?.scripts.set("theirs", sound);
    const seeded = await router().seed();
    const text = await (await post(seeded, { model: "renamed", stream })).text();
    expect(router().scripted[0]?.callsOf("theirs").length).toBeGreaterThan(0);
    expect(text).not.toContain('"theirs"');
    const models = stream
      ? eventsOf(text).flatMap(({ response }) => (response ? [response.model] : []))
      : [JSON.parse(text).model];
    expect(models).toEqual(stream ? ["renamed", "renamed", "renamed"] : ["renamed"]);
  });

  test("without usage in a stream is paid by our own count, and the client sees that", async () => {
    set("only", (_, response) => void openStream(response).end(nativeEvents({ usage: null }).join("")));
    const seeded = await router().seed();
    const events = eventsOf(await (await post(seeded, { model: "only", stream: true })).text());
    const output = countTokens(TEXT);
    expect(events.at(-1)?.response?.usage).toMatchObject({ input_tokens: PROMPT, output_tokens: output });
    const request = await requestOf(seeded);
    expect(request).toMatchObject({ usageEstimated: true, cost: { total: costAt(0, PROMPT, output) } });
  });

  test("that sends only the last event is paid for its text", async () => {
    const only = nativeEvents({ usage: null }).slice(-1);
    set("only", (_, response) => void openStream(response).end(only.join("")));
    const seeded = await router().seed();
    const text = await (await post(seeded, { model: "only", stream: true })).text();
    expect(eventsOf(text)).toMatchObject([
      { type: "response.completed", response: nativeResponse({ usage: {} }) },
    ]);
    const total = costAt(0, PROMPT, countTokens(TEXT));
    expect(await requestOf(seeded)).toMatchObject({ usageEstimated: true, cost: { total } });
  });
});

describe("another provider of the model answers before the first content", () => {
  const dies: Script = async (call, response) => {
    if (!call.body.stream) return down(call, response, 0);
    openStream(response);
    await trickle(response, call.path.endsWith("/responses") ? RESPONSE_HEAD : [ROLE]);
    await breakOff(response);
  };

  test.each([
    ["native-first", false],
    ["native-first", true],
    ["chat-first", false],
    ["chat-first", true],
  ])("in its own form: %s, with stream %s", async (model, stream) => {
    set(model, dies, sound);
    const seeded = await router().seed();
    const text = await (await post(seeded, { model, stream })).text();
    const paths = router()
      .scripted.slice(0, 2)
      .map((provider) => provider.callsOf(model).at(-1)?.path);
    const expected = ["/v1/responses", "/v1/chat/completions"];
    expect(paths).toEqual(model === "native-first" ? expected : expected.toReversed());
    const events = stream ? eventsOf(text) : [];
    const response = (stream ? events.at(-1)?.response : JSON.parse(text)) as Fields;
    expect(response).toMatchObject({ status: "completed", output: [{ content: [{ text: TEXT }] }] });
    if (stream) {
      expect(events.filter(({ type }) => type === "response.created")).toHaveLength(1);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
    }
    expect(await requestOf(seeded)).toMatchObject({ status: "completed", cost: { total: costAt(1) } });
  });
});

describe("a stream that breaks after its first content", () => {
  test("ends with an error in the provider's own response, and the delivered part is charged", async () => {
    const cut: Script = async (_, response) => {
      openStream(response);
      await trickle(response, [...RESPONSE_HEAD, ...RESPONSE_WORDS.slice(0, 3)]);
      await breakOff(response);
    };
    set("cut", cut, sound, sound);
    const seeded = await router().seed();
    const text = await (await post(seeded, { model: "cut", stream: true })).text();
    const events = eventsOf(text);
    const delivered = WORDS.slice(0, 3).join("");
    expect(deltasOf(events)).toBe(delivered);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
    expect(events.slice(-2)).toMatchObject([
      { type: "error", code: "upstream_error", error: { type: "api_error", code: "upstream_error" } },
      { type: "response.failed", response: { id: "resp_theirs", status: "failed" } },
    ]);
    expect(text).not.toContain("[DONE]");
    const total = costAt(0, PROMPT, countTokens(delivered));
    expect(await requestOf(seeded)).toMatchObject({ status: "failed", cost: { total } });
    expect(router().scripted[1]?.callsOf("cut")).toEqual([]);
  });

  test("of a chat is continued by the next chat, not by a provider with events of its own", async () => {
    const cut: Script = async (_, response) => {
      openStream(response);
      await trickle(response, [ROLE, ...WORDS.slice(0, 3).map((content) => event({ delta: { content } }))]);
      await breakOff(response);
    };
    set("continued", cut, sound, sound);
    const seeded = await router().seed();
    const events = eventsOf(await (await post(seeded, { model: "continued", stream: true })).text());
    expect(deltasOf(events)).toBe(TEXT);
    expect(router().scripted[1]?.callsOf("continued")).toEqual([]);
    expect(await requestOf(seeded)).toMatchObject({ status: "completed", cost: { total: costAt(2) } });
  });
});

test("long instructions are streamed by a chat, and do not count against the provider", async () => {
  const long: Script = (call, response, n) => {
    if (!call.path.endsWith("/responses")) return good(call, response, n);
    const [created = "", progress = "", ...rest] = nativeEvents();
    const repeating = [created, progress].map((text) =>
      text.replace('"output":[]', `"output":[],"instructions":${JSON.stringify(call.body.instructions)}`),
    );
    openStream(response).end([...repeating, ...rest].join(""));
  };
  set("native-first", long, down);
  const seeded = await router().seed();
  const paths: unknown[] = [];
  for (const length of [390_000, 400_000]) {
    const body = { model: "native-first", stream: true, instructions: "a".repeat(length) };
    expect(deltasOf(eventsOf(await (await post(seeded, body)).text()))).toBe(TEXT);
    paths.push(router().scripted[0]?.callsOf("native-first").at(-1)?.path);
  }
  expect(paths).toEqual(["/v1/responses", "/v1/chat/completions"]);
});

describe("what a chat cannot express", () => {
  const tools = [{ type: "custom", name: "patch" }];

  test("goes to the provider that has the format, though another one is cheaper", async () => {
    set("chat-first", down, sound);
    const seeded = await router().seed();
    const calls = router().scripted[0]?.callsOf("chat-first").length;
    expect((await post(seeded, { model: "chat-first", tools })).status).toBe(200);
    expect(router().scripted[0]?.callsOf("chat-first")).toHaveLength(calls ?? 0);
    const { routing, cost } = await requestOf(seeded);
    expect(routing?.refused).toMatchObject([{ reason: "format_not_supported" }]);
    expect(cost?.total).toBe(costAt(1));
  });

  test("is refused by the name of its field where no provider has it", async () => {
    const seeded = await router().seed();
    const reply = await post(seeded, { model: "chats", tools });
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      { error: { code: "invalid_body", param: "tools.0.type" } },
    ]);
  });

  test.each<[string, object]>([
    ["tools.0.type", { tools: [{ type: "web_search" }] }],
    ["tools.0.type", { tools: [{ type: "mcp", server_url: "https://example.com" }] }],
    ["input.0", { input: [{ type: "item_reference", id: "msg_1" }] }],
    ["store", { store: true }],
    ["background", { background: true }],
    ["conversation", { conversation: "conv_1" }],
    ["prompt", { prompt: { id: "p" } }],
  ])("is refused everywhere if it needs more than an answer: %s", async (param, body) => {
    const seeded = await router().seed();
    const reply = await post(seeded, { model: "only", ...body });
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param } }]);
  });
});

test("a model whose providers have only this format names it to clients of others", async () => {
  const seeded = await router().seed();
  const reply = await router().chat(seeded, { model: "only" });
  expect([reply.status, await reply.json()]).toMatchObject([
    400,
    { error: { message: expect.stringContaining("use POST /v1/responses instead"), param: "model" } },
  ]);
});

test.each([false, true])(
  "is repeated for its Idempotency-Key, with stream %s, and charged once",
  async (stream) => {
    set("only", sound);
    const seeded = await router().seed();
    const key = { "idempotency-key": randomUUID() };
    const first = await (await post(seeded, { model: "only", stream }, key)).text();
    const again = await until(async () => {
      const reply = await post(seeded, { model: "only", stream }, key);
      return reply.status !== 409 && reply;
    });
    expect(await again.text()).toBe(first);
    expect((await requestOf(seeded)).cost?.total).toBe(costAt(0));
    expect(await balanceAtRest(router().app, seeded.account)).toMatchObject({ total: START - costAt(0) });
  },
);

test.each([false, true])("is stored for an equal request, with stream %s", async (stream) => {
  set("only", sound);
  const seeded = await router().seed();
  const cached = { "x-0g-cache": "60" };
  const body = { model: "only", stream, instructions: "Be short." };
  const first = await post(seeded, body, cached);
  expect([first.headers.get("x-0g-cache"), deltasOrText(await first.text(), stream)]).toEqual(["miss", TEXT]);
  const again = await until(async () => {
    const reply = await post(seeded, body, cached);
    return reply.headers.get("x-0g-cache") === "hit" && reply;
  });
  const text = await again.text();
  expect(deltasOrText(text, stream)).toBe(TEXT);
  expect(text).toContain('"cached_from":"req-');
});

test("an answer that is stored in one form is not repeated in another", async () => {
  const { offer, seed } = router();
  const pricing = { prompt: "2", completion: "3" };
  await offer(0, { id: "changing", pricing, supported_formats: BOTH });
  set("changing", sound);
  const seeded = await seed();
  const ask = () => post(seeded, { model: "changing" }, { "x-0g-cache": "60" });
  await until(async () => (await ask()).headers.get("x-0g-cache") === "hit");
  await offer(0, { id: "changing", pricing });
  const reply = await ask();
  expect([reply.status, reply.headers.get("x-0g-cache")]).toEqual([200, "miss"]);
  expect(deltasOrText(await reply.text(), false)).toBe(TEXT);
});

function deltasOrText(text: string, isStream: boolean): unknown {
  return isStream ? deltasOf(eventsOf(text)) : JSON.parse(text).output[0].content[0].text;
}
