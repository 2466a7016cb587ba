import { describe, expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { formatToken } from "../../src/kernel/text/amount.ts";
import { ask as askGraph } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import {
  breakOff,
  completion,
  DONE,
  event,
  events,
  FINISH,
  good,
  openStream,
  type Script,
  sendJson,
  trickle,
} from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";
import type { Seeded } from "../support/seed.ts";

const CACHED = {
  id: "cached",
  pricing: { prompt: "10", completion: "20", cached_prompt: "1", cache_write: "12", cache_write_1h: "30" },
};
const MESSAGES = { ...CACHED, id: "claude", supported_formats: ["openai", "anthropic"] };
const TIERED = {
  id: "tiered",
  pricing: {
    prompt: "10",
    completion: "20",
    tiered_pricing: [
      { max_input_tokens: 40, prompt: "2", completion: "3", cached_prompt: "1" },
      { max_input_tokens: 400, prompt: "5", completion: "7" },
    ],
  },
};
/** The prices of the second provider: higher for short prompts, lower for long ones. */
const FLAT = { id: "tiered", pricing: { prompt: "4", completion: "6" } };
/** The first has a low price for prompts, the second for answers. */
const SIZED = { id: "sized", supported_formats: ["openai", "anthropic"] };
const sized = (n: number) => ({
  ...SIZED,
  pricing: n === 0 ? { prompt: "1", completion: "100" } : { prompt: "20", completion: "5" },
});
const RISING = { id: "rising", pricing: { prompt: "2", completion: "3" } };

const DETAILED = {
  id: "detailed",
  supported_formats: ["openai", "completions"],
  pricing: { prompt: "2", completion: "3" },
};
const RENAMED = { ...DETAILED, id: "renamed", upstream_id: "theirs" };

const router = await useRouter({
  models: [],
  more: (n) => [sized(n), ...(n === 0 ? [CACHED, MESSAGES, TIERED, RISING, DETAILED, RENAMED] : [FLAT])],
});

const QUESTION = [{ role: "user", content: "What is the sea?" }];
const LONG = [{ role: "user", content: "What is the sea like there? ".repeat(20) }];
const PROMPT = countPromptTokens(QUESTION);

const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "wide" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 9, output_tokens: 1 },
};

type Bill = {
  readonly x_0g_trace: {
    readonly request_id: string;
    readonly provider: string;
    readonly billing: { readonly input_cost: string; readonly total_cost: string };
  };
};

/** A provider that reports this usage, whole or in a stream. */
const stating =
  (usage: object): Script =>
  (call, response) => {
    if (!call.body.stream) return sendJson(response, 200, completion({ usage }));
    openStream(response).end(
      [...events().slice(0, -2), event(undefined, { usage }), "data: [DONE]\n\n"].join(""),
    );
  };

function set(model: string, script: Script): void {
  for (const provider of router().scripted) provider.scripts.set(model, script);
}

async function billOf(seeded: Seeded, body: object): Promise<Bill["x_0g_trace"]> {
  const reply = await router().chat(seeded, body);
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  const [, traced] = /^: x_0g_trace (.*)$/m.exec(text) ?? [];
  return traced === undefined ? (JSON.parse(text) as Bill).x_0g_trace : JSON.parse(traced);
}

async function readerOf({ account }: Seeded): Promise<string> {
  return (await router().app.managementKeys.create(account, "reader", ["account:read"])).secret;
}

describe("tokens read from or written to the provider's cache", () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 8,
    total_tokens: 108,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 20, cache_write_1h_tokens: 5 },
  };
  // 15 uncached ones, 60 read, 20 and 5 written.
  const input = 15n * 10n + 60n * 1n + 20n * 12n + 5n * 30n;

  test.each([false, true])(
    "are charged at the provider's prices, to the neuron (streamed: %s)",
    async (stream) => {
      const { app, origin, seed } = router();
      set(CACHED.id, stating(usage));
      const seeded = await seed();
      const bill = await billOf(seeded, { model: CACHED.id, max_tokens: 100, stream });
      const total = input + 8n * 20n;
      const saving = String(1_000n - input);
      expect(bill.billing).toEqual({
        input_cost: String(input),
        output_cost: String(8n * 20n),
        total_cost: String(total),
        cache_saving: saving,
      });
      await requireAvailable(app, seeded, { available: 10_000_000n - total });
      const reader = await readerOf(seeded);
      const history = await rest<{ data: object[] }>(origin, "/v1/account/usage/history", reader);
      expect(history.body.data[0]).toMatchObject({
        input_tokens: 100,
        cached_tokens: 60,
        cache_write_tokens: 20,
        cache_write_1h_tokens: 5,
        cost: String(total),
        cache_saving: saving,
      });
      const generation = await rest<{ data: object }>(
        origin,
        `/v1/generation?id=${bill.request_id}`,
        seeded.secret,
      );
      expect(generation.body.data).toMatchObject({ cache_discount: Number(formatToken(BigInt(saving))) });
      const query = `{ request(id: "${bill.request_id}") { inputTokens cachedTokens cacheWriteTokens cacheWrite1hTokens cost { input cacheSaving } } }`;
      expect((await askGraph(origin, reader, query)).data.request).toEqual({
        inputTokens: 100,
        cachedTokens: 60,
        cacheWriteTokens: 20,
        cacheWrite1hTokens: 5,
        cost: { input: String(input), cacheSaving: saving },
      });
    },
  );

  test("are counted the same in Anthropic's format", async () => {
    const { app, origin, seed } = router();
    const message = {
      ...MESSAGE,
      usage: {
        input_tokens: 15,
        output_tokens: 8,
        cache_read_input_tokens: 60,
        cache_creation_input_tokens: 25,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 5 },
      },
    };
    set(MESSAGES.id, (_, response) => sendJson(response, 200, message));
    const seeded = await seed();
    const body = { model: MESSAGES.id, max_tokens: 100, messages: QUESTION };
    const reply = await rest<Bill>(origin, "/v1/messages", seeded.secret, { body });
    expect(reply.body.x_0g_trace.billing.input_cost).toBe(String(input));
    await requireAvailable(app, seeded, { available: 10_000_000n - input - 8n * 20n });
  });

  test("are capped at the tokens of the prompt", async () => {
    const { seed } = router();
    set(CACHED.id, stating({ ...usage, prompt_tokens_details: { cached_tokens: 101 } }));
    const bill = await billOf(await seed(), { model: CACHED.id, max_tokens: 100 });
    expect(bill.billing.input_cost).toBe("1000");
  });

  test.each([
    [{ cached_tokens: 11 }],
    [{ cached_tokens: 10, cache_write_tokens: 10 }],
    [{ cached_tokens: -5 }],
    ["none"],
  ])("are shown as charged, whatever is reported: %j", async (prompt_tokens_details) => {
    const { chat, seed } = router();
    const seeded = await seed();
    set(CACHED.id, stating({ prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details }));
    const ask = async (stream: boolean) => {
      const options = stream ? { stream, stream_options: { include_usage: true } } : {};
      return (await chat(seeded, { model: CACHED.id, max_tokens: 100, ...options })).text();
    };
    const shown = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
    const check = (usage: { prompt_tokens_details?: object }) => {
      expect(usage).toMatchObject(shown);
      expect(usage.prompt_tokens_details ?? { cached_tokens: 0 }).toEqual({ cached_tokens: 0 });
    };
    check(JSON.parse(await ask(false)).usage);
    const [, last] = /data: (.*)\n\ndata: \[DONE\]/.exec(await ask(true)) ?? [];
    check(JSON.parse(last ?? "").usage);
  });

  test("are shown as charged in Anthropic's format", async () => {
    const { origin, seed } = router();
    const usage = { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: -5 };
    const start = { type: "message_start", message: { ...MESSAGE, content: [], usage } };
    const text = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "wide" } };
    const end = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage };
    set(MESSAGES.id, (call, response) => {
      if (!call.body.stream) return sendJson(response, 200, { ...MESSAGE, usage });
      const events = [start, text, end, { type: "message_stop" }];
      openStream(response).end(
        events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(""),
      );
    });
    const { secret } = await seed();
    const body = { model: MESSAGES.id, max_tokens: 100, messages: QUESTION };
    const whole = await rest<{ usage: object }>(origin, "/v1/messages", secret, { body });
    const cost = Number(formatToken(9n * 10n + 20n));
    expect(whole.body.usage).toEqual({ input_tokens: 9, output_tokens: 1, cost });
    const reply = await fetch(`${origin}/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ ...body, stream: true }),
    });
    const streamed = await reply.text();
    expect(streamed).toContain("message_stop");
    expect(streamed).not.toContain('_tokens":-');
  });

  test("are held for at the highest of their prices", async () => {
    const { app, chat, seed } = router();
    set(CACHED.id, stating({ prompt_tokens: PROMPT, completion_tokens: 1 }));
    const most = BigInt(PROMPT) * 30n + 20n;
    const poor = await seed(most - 1n);
    expect((await chat(poor, { model: CACHED.id, max_tokens: 1 })).status).toBe(402);
    const enough = await seed(most);
    await billOf(enough, { model: CACHED.id, max_tokens: 1 });
    await requireAvailable(app, enough, { available: most - BigInt(PROMPT) * 10n - 20n });
  });
});

test.each([
  ["a file by its URL", { type: "file", file: { file_data: "https://example.com/sea.pdf" } }],
  ["a video by its URL", { type: "video_url", video_url: { url: "https://example.com/sea.mp4" } }],
  ["audio by its URL", { type: "audio_url", audio_url: { url: "https://example.com/sea.mp3" } }],
  ["text that the provider's tokenizer splits finer", { type: "text", text: "海".repeat(40) }],
])("a prompt of %s is charged as the provider counts it, whatever was held", async (_what, part) => {
  const { app, seed } = router();
  for (const prompt_tokens of [100, 20_000, 200_000]) {
    set(CACHED.id, stating({ prompt_tokens, completion_tokens: 3 }));
    const seeded = await seed();
    const bill = await billOf(seeded, {
      model: CACHED.id,
      max_tokens: 5,
      messages: [{ role: "user", content: [part] }],
    });
    const [input, output] = [BigInt(prompt_tokens) * 10n, 60n];
    expect(bill.billing).toEqual({
      input_cost: String(input),
      output_cost: String(output),
      total_cost: String(input + output),
    });
    await requireAvailable(app, seeded, { available: 10_000_000n - input - output });
  }
});

test("the provider that is cheapest for this prompt and this limit is tried first", async () => {
  const { origin, seed, scripted } = router();
  const seeded = await seed();
  set(SIZED.id, (call, response, n) =>
    call.path.endsWith("/messages") ? sendJson(response, 200, MESSAGE) : good(call, response, n),
  );
  const asked = () => scripted.map((provider) => provider.callsOf(SIZED.id).length);
  const ask = (messages: object, fields: object) =>
    billOf(seeded, { model: SIZED.id, messages, provider: { sort: "price" }, ...fields });
  await ask(LONG, { max_tokens: 1 });
  expect(asked()).toEqual([1, 0]);
  await ask(QUESTION, { max_tokens: 1_000 });
  expect(asked()).toEqual([1, 1]);
  await ask(QUESTION, {});
  expect(asked()).toEqual([1, 2]);
  await ask(LONG, { max_tokens: 1, n: 100 });
  expect(asked()).toEqual([1, 3]);
  for (const [messages, max_tokens] of [
    [LONG, 1],
    [QUESTION, 1_000],
  ] as const)
    await rest(origin, "/v1/messages", seeded.secret, { body: { model: SIZED.id, messages, max_tokens } });
  expect(asked()).toEqual([2, 4]);
});

describe("usage that a stream reports before its end", () => {
  const usage = (completion_tokens: number) => ({
    usage: { prompt_tokens: 1_000, completion_tokens, prompt_tokens_details: { cached_tokens: 900 } },
  });
  const word = (content: string, stated: object = {}) => event({ delta: { content } }, stated);
  const input = 100n * 10n + 900n * 1n;

  test.each([
    ["with its first words, and breaks", [word("The", usage(1)), word(" sea"), word(" is")], 3],
    ["with each word, and breaks", [word("The", usage(5)), word(" sea", usage(9))], 9],
    ["in a separate chunk, and breaks", [word("The"), event(undefined, usage(4)), word(" sea")], 5],
    ["with invalid numbers for the answer, and breaks", [word("The", usage(9e15)), word(" sea")], 2],
    ["first, then with invalid numbers, and breaks", [word("The", usage(4)), word(" sea", usage(-1))], 5],
    [
      "only before its words, and ends",
      [event(undefined, usage(0)), word("The"), word(" sea"), FINISH, DONE],
      2,
    ],
    ["with each word, and ends", [word("The", usage(5)), word(" sea", usage(9)), FINISH, DONE], 9],
  ])("is charged when it is reported %s", async (_when, pieces, outputTokens) => {
    const { app, chat, seed } = router();
    set(CACHED.id, async (_, response) => {
      await trickle(openStream(response), pieces);
      await breakOff(response);
    });
    const seeded = await seed();
    const stream_options = { include_usage: true };
    const reply = await chat(seeded, { model: CACHED.id, max_tokens: 100, stream: true, stream_options });
    const text = await reply.text();
    await requireAvailable(app, seeded, { available: 10_000_000n - input - BigInt(outputTokens) * 20n });
    const [request] = (await app.requests.list(seeded.account, { first: 1 })).rows;
    expect(request).toMatchObject({ inputTokens: 1_000, cachedTokens: 900, outputTokens });
    if (!text.includes(DONE)) return;
    const [, shown] = /data: (.*)\n\ndata: \[DONE\]/.exec(text) ?? [];
    expect(JSON.parse(shown ?? "").usage).toMatchObject({
      prompt_tokens: 1_000,
      completion_tokens: outputTokens,
    });
  });
});

describe("prices by the length of the prompt", () => {
  test("are those of the tier of the provider's count, for all of a request", async () => {
    const { app, seed } = router();
    const seeded = await seed();
    const pin = app.catalogue.providers().find(({ model, tiers }) => model === TIERED.id && tiers)?.address;
    const ask = async (prompt_tokens: number, cached_tokens = 0) => {
      set(
        TIERED.id,
        stating({ prompt_tokens, completion_tokens: 8, prompt_tokens_details: { cached_tokens } }),
      );
      const bill = await billOf(seeded, { model: TIERED.id, max_tokens: 5_000, provider: { address: pin } });
      return BigInt(bill.billing.total_cost);
    };
    expect(await ask(40)).toBe(40n * 2n + 8n * 3n);
    expect(await ask(40, 30)).toBe(10n * 2n + 30n * 1n + 8n * 3n);
    expect(await ask(41)).toBe(41n * 5n + 8n * 7n);
    expect(await ask(41, 30)).toBe(41n * 5n + 8n * 7n);
    expect(await ask(401)).toBe(401n * 10n + 8n * 20n);
    const [request] = (await app.requests.list(seeded.account, { first: 1 })).rows;
    type Row = { input: string; output: string };
    const [row] = await app.database.rows<Row>(
      "select input_price::text as input, output_price::text as output from inference_request where id = $1::text",
      [request?.id],
    );
    expect(row).toEqual({ input: "10", output: "20" });
  });

  test("decide the order: the cheapest for a prompt of this length is tried first", async () => {
    const { seed, scripted } = router();
    const seeded = await seed();
    for (const provider of scripted) provider.scripts.delete(TIERED.id);
    const [first, second] = scripted.map((provider) => () => provider.callsOf(TIERED.id).length);
    const before = [first?.() ?? 0, second?.() ?? 0];
    await billOf(seeded, { model: TIERED.id, max_tokens: 20 });
    expect([first?.(), second?.()]).toEqual([(before[0] ?? 0) + 1, before[1]]);
    await billOf(seeded, { model: TIERED.id, max_tokens: 20, messages: LONG });
    expect([first?.(), second?.()]).toEqual([(before[0] ?? 0) + 1, (before[1] ?? 0) + 1]);
  });

  test("are listed with the model, over REST and GraphQL", async () => {
    const { app, origin } = router();
    type Model = { readonly pricing: object };
    const model = (id: string) => rest<Model>(origin, `/v1/models/${id}`).then(({ body }) => body.pricing);
    expect(await model(CACHED.id)).toEqual(CACHED.pricing);
    const offer = app.catalogue.providers().find(({ model, tiers }) => model === TIERED.id && tiers);
    const listed = await rest<{ data: { address: string; pricing: object }[] }>(
      origin,
      `/v1/providers?model=${TIERED.id}`,
    );
    expect(listed.body.data.find(({ address }) => address === offer?.address)?.pricing).toEqual(
      TIERED.pricing,
    );
    const query = `{
      cached: model(id: "cached") { pricing { cachedInput cacheWrite cacheWrite1h tiers { maxInputTokens } } }
      provider(address: "${offer?.address}") { pricing { cachedInput tiers { maxInputTokens input output cachedInput } } }
    }`;
    const { data } = await askGraph(origin, undefined, query);
    expect(data.cached.pricing).toEqual({
      cachedInput: "1",
      cacheWrite: "12",
      cacheWrite1h: "30",
      tiers: [],
    });
    expect(data.provider.pricing).toEqual({
      cachedInput: null,
      tiers: [
        { maxInputTokens: 40, input: "2", output: "3", cachedInput: "1" },
        { maxInputTokens: 400, input: "5", output: "7", cachedInput: null },
      ],
    });
  });
});

test.each([false, true])(
  "a price that rises during a request applies to the next one: the quoted price is charged (streamed: %s)",
  async (stream) => {
    const { app, offer, seed } = router();
    const seeded = await seed(10_000n);
    const usage = { prompt_tokens: PROMPT, completion_tokens: 8 };
    await offer(0, RISING);
    set(RISING.id, async (call, response, n) => {
      await offer(0, { ...RISING, pricing: { prompt: "200", completion: "300" } });
      await stating(usage)(call, response, n);
    });
    const bill = await billOf(seeded, { model: RISING.id, max_tokens: 8, stream });
    const due = BigInt(PROMPT) * 2n + 8n * 3n;
    expect(bill.billing.total_cost).toBe(String(due));
    const next = await billOf(seeded, { model: RISING.id, max_tokens: 8, stream });
    const dearer = BigInt(PROMPT) * 200n + 8n * 300n;
    expect(next.billing.total_cost).toBe(String(dearer));
    await requireAvailable(app, seeded, { available: 10_000n - due - dearer });
  },
);

test.each([false, true])(
  "reasoning that a provider counts apart from the answer is charged and shown with it (streamed: %s)",
  async (stream) => {
    const completion_tokens_details = { reasoning_tokens: 30 };
    const usage = { prompt_tokens: 10, completion_tokens: 8, total_tokens: 48, completion_tokens_details };
    set(CACHED.id, stating(usage));
    const seeded = await router().seed();
    const body = { model: CACHED.id, max_tokens: 100, stream, stream_options: { include_usage: true } };
    const reply = await router().chat(seeded, stream ? body : { ...body, stream_options: undefined });
    const text = await reply.text();
    const shown = stream
      ? (text
          .split("\n")
          .find((line) => line.includes('"usage"'))
          ?.slice(6) ?? "")
      : text;
    expect(JSON.parse(shown)).toMatchObject({
      usage: { prompt_tokens: 10, completion_tokens: 38, total_tokens: 48, completion_tokens_details },
      x_0g_trace: { billing: { output_cost: String(38n * 20n) } },
    });
  },
);

describe("a provider's details of its usage are the same in a stream as in a whole answer", () => {
  const usage = {
    ...{ prompt_tokens: 50, completion_tokens: 20, total_tokens: 70, num_sources_used: 1 },
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 5, accepted_prediction_tokens: 1 },
    // Its own price is not what the client pays.
    ...{ cost: 0.5, cost_usd: 7, cost_details: { upstream: 0.1 } },
  };
  const chunks = {
    apart: [event({ delta: { content: "a" }, finish_reason: "stop" }), event(undefined, { usage })],
    "with the last choice": [event({ delta: { content: "a" }, finish_reason: "stop" }, { usage })],
    "with each choice": [
      event({ delta: { content: "a" } }, { usage: { ...usage, completion_tokens: 1, total_tokens: 51 } }),
      event({ delta: {}, finish_reason: "stop" }, { usage }),
    ],
  };
  const cases = Object.entries(chunks).flatMap(([place, parts]) =>
    [DETAILED.id, RENAMED.id].flatMap((model) =>
      ["chat/completions", "completions"].map((path) => ({ place, parts, model, path })),
    ),
  );

  test.each(cases)("$model, /v1/$path, usage $place", async ({ parts, model, path }) => {
    const isText = path === "completions";
    const [choice] = [{ index: 0, finish_reason: "stop" }];
    const whole = isText
      ? { object: "text_completion", choices: [{ ...choice, text: "a" }] }
      : { choices: [{ ...choice, message: { role: "assistant", content: "a" } }] };
    const asText = (part: string) => (isText ? part.replace('"delta":{"content":"a"}', '"text":"a"') : part);
    set(model === RENAMED.id ? RENAMED.upstream_id : model, ({ body }, response) => {
      if (!body.stream) return sendJson(response, 200, completion({ ...whole, usage }));
      openStream(response).end([...parts.map(asText), DONE].join(""));
    });
    const { secret } = await router().seed();
    const ask = (fields: object) =>
      fetch(`${router().origin}/v1/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
        body: JSON.stringify({
          ...{ model, max_tokens: 100, ...(isText ? { prompt: "a" } : { messages: QUESTION }) },
          ...fields,
        }),
      });
    const answer = (await (await ask({})).json()) as { readonly usage: { readonly cost: number } };
    const stream = await (await ask({ stream: true, stream_options: { include_usage: true } })).text();
    const shown = stream.split("\n").filter((line) => line.includes('"usage"'));
    expect(shown).toHaveLength(1);
    const { usage: streamed } = JSON.parse(shown[0]?.slice(6) ?? "");
    const { cost: _, cost_usd: __, ...details } = usage;
    expect(streamed).toEqual(answer.usage);
    expect(streamed).toMatchObject(details);
    expect(streamed.cost).not.toBe(usage.cost);
    expect(streamed.cost_usd).not.toBe(usage.cost_usd);
  });
});

test("in the end the ledger is consistent and no hold is open", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});
