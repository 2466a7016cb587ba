import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  completion,
  event,
  events,
  openStream,
  sendJson,
  USAGE,
} from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

// What @openrouter/ai-sdk-provider 2.10.0 demands of `usage`: it refuses the whole answer, or chunk, otherwise.
const details = (name: string) => z.looseObject({ [name]: z.number() }).nullish();
const CHAT_USAGE = z.looseObject({
  prompt_tokens: z.number(),
  prompt_tokens_details: details("cached_tokens"),
  completion_tokens: z.number(),
  completion_tokens_details: details("reasoning_tokens"),
  total_tokens: z.number(),
  cost: z.number(),
});
const EMBEDDING_USAGE = z.looseObject({
  prompt_tokens: z.number(),
  total_tokens: z.number(),
  cost: z.number(),
});

const [{ prompt: promptPrice, completion: completionPrice }] = PRICES;
const VECTORS = { id: "vectors", pricing: { prompt: "5" }, service_type: "embedding" };
const TEXTS = {
  id: "texts",
  supported_formats: ["completions"],
  pricing: { prompt: String(promptPrice), completion: String(completionPrice) },
};
/** Nine tokens of prompt and eight of the answer: 42 neuron, and at three dollars a token 126 * 10^-18. */
const COST = '"cost":0.000000000000000042,"cost_usd":0.000000000000000126';
const router = await useRouter({
  models: ["chat"],
  count: 1,
  settings: { TOKEN_USD: "3" },
  more: () => [VECTORS, TEXTS],
});

async function request(path: string, body: object, secret?: string): Promise<string> {
  const { origin, seed } = router();
  const key = secret ?? (await seed()).secret;
  const reply = await fetch(`${origin}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  return text;
}

async function read(path: string, secret: string): Promise<string> {
  const reply = await fetch(`${router().origin}${path}`, { headers: { authorization: `Bearer ${secret}` } });
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  return text;
}

/** The usage of the last chunk that has one. */
function usageOf(stream: string): unknown {
  const [chunk = ""] = stream.split("\n\n").filter((one) => one.includes('"usage":{'));
  return JSON.parse(chunk.slice("data: ".length)).usage;
}

describe("the cost of an answer is a JSON number, whose text has every digit", () => {
  const messages = [{ role: "user", content: "Hello" }];

  test.each(["as the provider states it", "as it is billed"])("of a chat, with the usage %s", async (how) => {
    const stated =
      how === "as it is billed" ? { ...USAGE, prompt_tokens_details: { cached_tokens: "many" } } : USAGE;
    router().scripted[0]?.scripts.set("chat", (call, response) => {
      if (!call.body.stream) return sendJson(response, 200, completion({ usage: stated }));
      const last = event(undefined, { usage: stated });
      openStream(response).end([...events().slice(0, -2), last, "data: [DONE]\n\n"].join(""));
    });
    const whole = await request("/v1/chat/completions", { model: "chat", messages });
    expect(whole).toContain(COST);
    CHAT_USAGE.parse(JSON.parse(whole).usage);
    const options = { stream: true, stream_options: { include_usage: true } };
    const stream = await request("/v1/chat/completions", { model: "chat", messages, ...options });
    expect(stream).toContain(COST);
    CHAT_USAGE.parse(usageOf(stream));
  });

  test("of a stream whose client requests it as OpenRouter's does, without an option for the provider", async () => {
    const [provider] = router().scripted;
    provider?.scripts.clear();
    const body = { model: "chat", messages, stream: true, usage: { include: true } };
    const stream = await request("/v1/chat/completions", body);
    expect(stream).toContain(COST);
    CHAT_USAGE.parse(usageOf(stream));
    expect(provider?.calls.at(-1)?.body).toMatchObject({ stream_options: { include_usage: true } });
    expect(provider?.calls.at(-1)?.body).not.toHaveProperty("usage");
  });

  test("of a text completion", async () => {
    const choices = [{ index: 0, text: "The sea", logprobs: null, finish_reason: "stop" }];
    const answer = { id: "c", object: "text_completion", created: 1, model: "texts", choices, usage: USAGE };
    router().scripted[0]?.scripts.set("texts", (_call, response) => sendJson(response, 200, answer));
    const text = await request("/v1/completions", { model: "texts", prompt: "Hello" });
    expect(text).toContain(COST);
    CHAT_USAGE.parse(JSON.parse(text).usage);
  });

  test("of embeddings", async () => {
    router().scripted[0]?.scripts.set("vectors", (_call, response) =>
      sendJson(response, 200, {
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [1] }],
        usage: { prompt_tokens: 4, total_tokens: 4 },
      }),
    );
    const text = await request("/v1/embeddings", { model: "vectors", input: "a sea" });
    expect(text).toContain('"cost":0.00000000000000002,"cost_usd":0.00000000000000006');
    EMBEDDING_USAGE.parse(JSON.parse(text).usage);
  });
});

test("amounts of a generation, of a key and of an account are JSON numbers with every digit", async () => {
  router().scripted[0]?.scripts.clear();
  const { account, secret } = await router().seed(10n ** 18n);
  const { key, secret: limited } = await router().app.apiKeys.create(account, "limited", {
    creditLimit: 10n ** 17n,
  });
  const answer = await request(
    "/v1/chat/completions",
    { model: "chat", messages: [{ role: "user", content: "Hello" }] },
    limited,
  );
  const { request_id: id } = JSON.parse(answer).x_0g_trace;
  const generation = await read(`/v1/generation?id=${id}`, limited);
  expect(generation).toContain(
    '"total_cost":0.000000000000000042,"cache_discount":0,"usage":0.000000000000000042',
  );
  expect(key.creditLimit).toBe(10n ** 17n);
  await until(async () =>
    expect(await read("/v1/key", limited)).toContain(
      '"usage":0.000000000000000042,"limit":0.1,"limit_remaining":0.099999999999999958',
    ),
  );
  await until(async () =>
    expect(await read("/v1/credits", secret)).toBe(
      '{"data":{"total_credits":1,"total_usage":0.000000000000000042}}',
    ),
  );
});

// What @openrouter/sdk 1.3.19 demands of these answers: it throws ResponseValidationError otherwise.
const maybe = <T extends z.ZodType>(type: T) => z.nullable(type);
const nullsOf = (names: string) =>
  Object.fromEntries(names.split(" ").map((name) => [name, z.nullable(z.unknown())]));
const GENERATION = z.object({
  ...nullsOf("app_id cache_discount external_user finish_reason generation_time http_referer latency"),
  ...nullsOf("moderation_latency native_finish_reason native_tokens_cached native_tokens_completion"),
  ...nullsOf("native_tokens_completion_images native_tokens_prompt native_tokens_reasoning num_fetches"),
  ...nullsOf("num_input_audio_prompt num_media_completion num_media_prompt num_search_results preset_id"),
  ...nullsOf("provider_responses router service_tier streamed tokens_completion tokens_prompt upstream_id"),
  ...nullsOf("upstream_inference_cost user_agent web_search_engine workspace_id"),
  ...{ api_type: z.literal("completions"), provider_name: z.string(), data_region: z.string() },
  ...{ id: z.string(), model: z.string(), created_at: z.string(), origin: z.string() },
  ...{ cancelled: maybe(z.boolean()), is_byok: z.boolean(), total_cost: z.number(), usage: z.number() },
});
const amounts = (names: string) => Object.fromEntries(names.split(" ").map((name) => [name, z.number()]));
const KEY = z.object({
  ...amounts("usage usage_daily usage_weekly usage_monthly"),
  ...amounts("byok_usage byok_usage_daily byok_usage_weekly byok_usage_monthly"),
  ...nullsOf("creator_user_id organization_id workspace_id limit limit_remaining limit_reset"),
  allowed_data_regions: z.array(z.string()),
  free_model_daily_requests: z.object(amounts("limit remaining used")),
  ...Object.fromEntries(
    ["include_byok_in_limit", "is_free_tier", "is_management_key", "is_provisioning_key"].map((name) => [
      name,
      z.boolean(),
    ]),
  ),
  label: z.string(),
  rate_limit: z.object({ interval: z.string(), note: z.string(), requests: z.int() }),
});
const length = maybe(z.int());
const MODELS = z.object({
  data: z.array(
    z.object({
      ...{ id: z.string(), name: z.string(), canonical_slug: z.string(), created: z.int() },
      ...{ context_length: length, links: z.object({ details: z.string() }) },
      ...nullsOf("default_parameters per_request_limits supported_voices"),
      supported_parameters: z.array(z.string()),
      pricing: z.looseObject({ prompt: z.string(), completion: z.string() }),
      top_provider: z.object({
        context_length: length,
        max_completion_tokens: length,
        is_moderated: z.boolean(),
      }),
    }),
  ),
  links: z.object({ next: z.null() }),
  total_count: z.int(),
});

test("a generation, a key and the models have every member that OpenRouter's official SDK requires", async () => {
  router().scripted[0]?.scripts.clear();
  const { secret } = await router().seed();
  const answer = await request(
    "/v1/chat/completions",
    { model: "chat", messages: [{ role: "user", content: "Hello" }] },
    secret,
  );
  const { request_id: id } = JSON.parse(answer).x_0g_trace;
  GENERATION.parse(JSON.parse(await read(`/v1/generation?id=${id}`, secret)).data);
  const models = MODELS.parse(JSON.parse(await read("/v1/models", secret)));
  expect(models.total_count).toBe(models.data.length);
  for (const { links } of models.data) await read(links.details, secret);
  await until(async () => {
    const key = await read("/v1/key", secret);
    KEY.parse(JSON.parse(key).data);
    const spent = "0.000000000000000042";
    expect(key).toContain(`"usage":${spent},`);
    expect(key).toContain(`"usage_daily":${spent},"usage_weekly":${spent},"usage_monthly":${spent}`);
  });
});
