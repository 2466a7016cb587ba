import { z } from "zod";
import type { ServiceType } from "../../inference/providers/provider.ts";

/**
 * Members that OpenRouter's official client (`@openrouter/sdk` 1.3.19) requires in an answer, and which describe features
 * that do not exist here: without them, the client throws for the whole answer.
 */
const ALWAYS_NULL = "Always null: required by OpenRouter's clients.";
const nothing = z.null().meta({ description: ALWAYS_NULL });
const none = z.literal(0).meta({ description: "Always 0: required by OpenRouter's clients." });
const not = z.literal(false).meta({ description: "Always false: required by OpenRouter's clients." });

const GENERATION_NULLS = [
  ...["app_id", "external_user", "http_referer", "moderation_latency", "native_tokens_completion_images"],
  ...["native_tokens_reasoning", "num_fetches", "num_input_audio_prompt", "num_media_completion"],
  ...["num_media_prompt", "num_search_results", "preset_id", "provider_responses", "router", "service_tier"],
  ...["upstream_id", "upstream_inference_cost", "user_agent", "web_search_engine", "workspace_id"],
] as const;
type GenerationNull = (typeof GENERATION_NULLS)[number];

const API_TYPES = ["completions", "embeddings", "rerank", "tts", "stt", "image"] as const;
type ApiType = (typeof API_TYPES)[number];
const API_TYPE: Readonly<Record<ServiceType, ApiType>> & Readonly<Record<string, ApiType>> = {
  chatbot: "completions",
  embedding: "embeddings",
  rerank: "rerank",
  "text-to-speech": "tts",
  "speech-to-text": "stt",
  "text-to-image": "image",
  "image-editing": "image",
};

/** The members of a generation. */
export const GENERATION_MEMBERS = {
  api_type: z.enum(API_TYPES).meta({ description: "`service_type` in OpenRouter's words." }),
  provider_name: z.string().meta({ description: "The same as `provider`." }),
  data_region: z.literal("global").meta({ description: "Always `global`: regions are not limited." }),
  is_byok: not,
  origin: z.literal("").meta({ description: "Always empty: origins are not recorded." }),
  ...(Object.fromEntries(GENERATION_NULLS.map((name) => [name, nothing])) as Record<
    GenerationNull,
    typeof nothing
  >),
};

/** The values of `GENERATION_MEMBERS`. */
export function generationMembers(serviceType: string, provider: string) {
  return {
    api_type: API_TYPE[serviceType] ?? "completions",
    provider_name: provider,
    data_region: "global" as const,
    is_byok: false as const,
    origin: "" as const,
    ...(Object.fromEntries(GENERATION_NULLS.map((name) => [name, null])) as Record<GenerationNull, null>),
  };
}

/** The members of a key that have one value. */
export const KEY_MEMBERS = {
  allowed_data_regions: z
    .array(z.string())
    .max(0)
    .meta({ description: "Always empty: regions are not limited." }),
  byok_usage: none,
  byok_usage_daily: none,
  byok_usage_weekly: none,
  byok_usage_monthly: none,
  creator_user_id: nothing,
  free_model_daily_requests: z.strictObject({ limit: none, remaining: none, used: none }),
  include_byok_in_limit: not,
  is_free_tier: not,
  is_management_key: not,
  is_provisioning_key: not,
  organization_id: nothing,
  workspace_id: nothing,
};

/** The values of `KEY_MEMBERS`. */
export const KEY_VALUES: {
  readonly [Name in keyof typeof KEY_MEMBERS]: z.output<(typeof KEY_MEMBERS)[Name]>;
} = {
  allowed_data_regions: [],
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  creator_user_id: null,
  free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
  include_byok_in_limit: false,
  is_free_tier: false,
  is_management_key: false,
  is_provisioning_key: false,
  organization_id: null,
  workspace_id: null,
};

/** The members of a model. */
export const MODEL_MEMBERS = {
  canonical_slug: z.string().meta({ description: "The same as `id`." }),
  context_length: z.int().nullable(),
  default_parameters: z.record(z.string(), z.unknown()).nullable(),
  supported_parameters: z
    .array(z.string())
    .meta({ description: "Empty if the cheapest provider does not state any." }),
  per_request_limits: nothing,
  supported_voices: nothing,
  links: z.strictObject({ details: z.string() }).meta({ description: "The path of the model itself." }),
  top_provider: z
    .strictObject({
      context_length: z.int().nullable(),
      max_completion_tokens: z.int().nullable(),
      is_moderated: not,
    })
    .meta({ description: "The cheapest provider." }),
};

/** The values of `MODEL_MEMBERS`, from what the cheapest provider states. */
export function modelMembers(
  id: string,
  stated: {
    readonly context_length: number | undefined;
    readonly max_completion_tokens: number | undefined;
    readonly default_parameters: Readonly<Record<string, unknown>> | undefined;
    readonly supported_parameters: readonly string[] | undefined;
  },
) {
  const contextLength = stated.context_length ?? null;
  return {
    canonical_slug: id,
    context_length: contextLength,
    default_parameters: stated.default_parameters ?? null,
    supported_parameters: stated.supported_parameters ?? [],
    per_request_limits: null,
    supported_voices: null,
    links: { details: `/v1/models/${encodeURIComponent(id)}` },
    top_provider: {
      context_length: contextLength,
      max_completion_tokens: stated.max_completion_tokens ?? null,
      is_moderated: false as const,
    },
  };
}

/** The members of the list of models, which has one page. */
export const MODELS_MEMBERS = {
  total_count: z.int(),
  links: z.strictObject({ next: nothing }),
};
