import { describe, expect, test } from "vitest";
import { PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../support/chain/network.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

type Entry = Readonly<Record<string, unknown>> & { readonly id: string };
type List = { readonly object: string; readonly data: readonly Entry[] };

const stack = useStack({ TOKEN_USD: "2.5" });
useServices(stack, ["messages", "images", "speech"]);
const CLAUDE = SERVICES.messages.model;
const IMAGE = SERVICES.images.model;
const SPEECH = SERVICES.speech.model;

const get = <T = List>(path: string) => rest<T>(stack().origin, path);
const ids = async (query: string) =>
  (await get(`/v1/models?${query}`)).body.data.map(({ id }) => id).toSorted();

describe("GET /v1/models", () => {
  test("lists everything the provider publishes about its model, with its price in neuron and in dollars", async () => {
    const { body } = await get("/v1/models");
    expect(body.object).toBe("list");
    const claude = body.data.find(({ id }) => id === CLAUDE);
    expect(claude).toEqual({
      id: CLAUDE,
      object: "model",
      created: expect.any(Number),
      owned_by: "0G Foundation",
      name: "Test Claude",
      type: "chatbot",
      context_length: 200_000,
      max_completion_tokens: 32_000,
      canonical_slug: CLAUDE,
      default_parameters: null,
      per_request_limits: null,
      supported_voices: null,
      links: { details: `/v1/models/${CLAUDE}` },
      top_provider: { context_length: 200_000, max_completion_tokens: 32_000, is_moderated: false },
      architecture: {
        modality: "text+image->text",
        input_modalities: ["text", "image"],
        output_modalities: ["text"],
      },
      supported_formats: ["openai", "anthropic", "completions"],
      supported_parameters: ["tools", "max_tokens"],
      pricing: { prompt: "7", completion: "11" },
      pricing_usd: { prompt: "0.0000000000000000175", completion: "0.0000000000000000275" },
      provider_count: 1,
      verifiability: "TeeML",
      tee_attested: true,
    });
    expect(body.data.find(({ id }) => id === IMAGE)).toMatchObject({
      type: "text-to-image",
      pricing: { prompt: "0", completion: "0", image: "1000" },
      architecture: { modality: "text->image" },
      supported_formats: ["openai"],
    });
    expect(body.data.find(({ id }) => id === SPEECH)).toMatchObject({ pricing: { second: "30" } });
  });

  test("is filtered by provider (any), modality (all) and parameter (all), in both spellings", async () => {
    const [chat, claude] = [PROVIDER.address, SERVICES.messages.account.address];
    expect(await ids(`provider_address=${chat}`)).toEqual([MODEL]);
    expect(await ids(`provider_address=${chat}&provider_address=${claude}`)).toEqual(
      [MODEL, CLAUDE].toSorted(),
    );
    expect(await ids(`provider_address[]=${chat.toLowerCase()}&provider_address[]=${claude}`)).toHaveLength(
      2,
    );
    expect(await ids("input_modality=audio")).toEqual([SPEECH]);
    expect(await ids("input_modality=text&input_modality=image")).toEqual([CLAUDE]);
    expect(await ids("input_modality[]=text&input_modality[]=audio")).toEqual([]);
    expect(await ids("supported_parameter=tools&supported_parameter=max_tokens")).toEqual([CLAUDE]);
    expect(await ids("supported_parameter=tools&supported_parameter=seed")).toEqual([]);
    expect(await ids(`supported_parameter=tools&provider_address=${chat}`)).toEqual([]);
    expect(await ids("pricing=usd&legacy=true")).toHaveLength(4);
  });

  test("has no pages, and for Anthropic's clients no prices, as each shape has its own parameters", async () => {
    const refused = async (query: string, headers: Record<string, string> = {}) => {
      const reply = await fetch(`${stack().origin}/v1/models${query}`, { headers });
      return [reply.status, await reply.json()];
    };
    const known = (param: string) => ({
      error: { message: `${param}: is not known here`, code: "invalid_parameter", param },
    });
    for (const [param, value] of Object.entries({ limit: "5", after_id: "a", before_id: "a", beta: "true" }))
      expect(await refused(`?${param}=${value}`)).toMatchObject([400, known(param)]);
    expect(await refused(`/${MODEL}?beta=true`)).toMatchObject([400, known("beta")]);
    const version = { "anthropic-version": "2023-06-01" };
    const failure = { type: "error", error: { type: "invalid_request_error", code: "invalid_parameter" } };
    for (const query of ["?pricing=usd", "?legacy=true", "?limits=5", "?limit=x", `/${MODEL}?limit=1`])
      expect(await refused(query, version), query).toMatchObject([400, failure]);
    expect(await refused("?input_modality=audio&beta=true", version)).toMatchObject([
      200,
      { data: [{ type: "model", id: SPEECH }], has_more: false, first_id: SPEECH, last_id: SPEECH },
    ]);
  });

  test("refuses malformed filters", async () => {
    for (const query of ["provider_address=0x1", "pricing=eur", "legacy=yes", "input_modality="])
      expect((await get<RestFailure>(`/v1/models?${query}`)).body.error.code, query).toBe(
        "invalid_parameter",
      );
  });

  test("one model is fetched by its id", async () => {
    expect((await get<Entry>(`/v1/models/${CLAUDE}`)).body.name).toBe("Test Claude");
    const none = await get<RestFailure>("/v1/models/a%2Fb");
    expect([none.status, none.body.error.code]).toEqual([404, "model_not_found"]);
  });
});

describe("GET /v1/providers", () => {
  test("lists what is known of every offer, and its health after the first request", async () => {
    const { body } = await get(`/v1/providers?model=${MODEL}`);
    expect(body.data).toEqual([
      {
        address: PROVIDER.address.toLowerCase(),
        service_type: "chatbot",
        type: "chatbot",
        model_id: MODEL,
        canonical_id: MODEL,
        name: MODEL,
        is_healthy: null,
        latency: null,
        uptime: null,
        architecture: { modality: "text->text", input_modalities: ["text"], output_modalities: ["text"] },
        supported_formats: ["openai"],
        pricing: { prompt: String(INPUT_PRICE), completion: String(OUTPUT_PRICE) },
        pricing_usd: expect.any(Object),
        verifiability: "TeeML",
        tee_acknowledged: true,
        tee_attested: true,
        trust_mode: "private",
        serving_domain: "127.0.0.1",
      },
    ]);
    const { secret } = await seedAccount(stack().app.database, 10_000n);
    const messages = [{ role: "user", content: "x" }];
    await rest(stack().origin, "/v1/chat/completions", secret, {
      body: { model: MODEL, messages, max_tokens: 1 },
    });
    const asked = await get(`/v1/providers?model=${MODEL}`);
    expect(asked.body.data[0]).toMatchObject({ is_healthy: true, latency: expect.any(Number), uptime: 100 });
  });

  test("is filtered by service and by model under each of its names", async () => {
    const found = async (query: string) =>
      (await get(`/v1/providers?${query}`)).body.data.map((one) => one.model_id);
    expect(await found("service_type=speech-to-text")).toEqual([SPEECH]);
    expect(await found("service_type=image-editing")).toEqual([]);
    for (const name of ["model", "model_id", "canonical_id"])
      expect(await found(`${name}=${IMAGE}`), name).toEqual([IMAGE]);
    expect(await found(`model=${IMAGE}&model_id=${MODEL}`)).toEqual([]);
    expect((await get("/v1/providers?service_type=magic")).status).toBe(400);
  });
});

test("GET /v1/service-types counts the offers of each type", async () => {
  expect((await get("/v1/service-types")).body).toEqual({
    object: "list",
    data: [
      { type: "chatbot", label: "Chat", provider_count: 2 },
      { type: "text-to-image", label: "Text to image", provider_count: 1 },
      { type: "image-editing", label: "Image editing", provider_count: 0 },
      { type: "speech-to-text", label: "Speech to text", provider_count: 1 },
      { type: "embedding", label: "Embeddings", provider_count: 0 },
      { type: "text-to-speech", label: "Text to speech", provider_count: 0 },
      { type: "rerank", label: "Reranking", provider_count: 0 },
    ],
  });
});
