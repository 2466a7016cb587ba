import { z } from "zod";
import { SERVICE_TYPES } from "../../inference/providers/provider.ts";
import { FINISH_REASONS, nameFinishReason } from "../../inference/requests/finish-reason.ts";
import type { InferenceRequest } from "../../inference/requests/requests.service.ts";
import { AppError } from "../../kernel/errors.ts";
import { exactToken } from "../../kernel/text/amount.ts";
import { defineRoute, json } from "../route.ts";
import { address, count, timestamp, tokenNumber } from "../wire.ts";
import { GENERATION_MEMBERS, generationMembers } from "./openrouter-members.ts";

const MAX_ID_LENGTH = 256;
const milliseconds = count.nullable();

const GENERATION = z
  .strictObject({
    id: z.string(),
    model: z.string(),
    provider: address,
    service_type: z.enum(SERVICE_TYPES),
    api_key_id: z.uuid().nullable(),
    status: z.enum(["running", "completed", "failed", "aborted"]),
    cancelled: z.boolean().meta({ description: "Whether the client disconnected." }),
    streamed: z.boolean().nullable().meta({
      description:
        "Whether the answer was sent as a stream; null while the request runs, and if it is not known.",
    }),
    finish_reason: z.enum(FINISH_REASONS).nullable().meta({
      description:
        "Why the answer ended, in OpenRouter's terms, even if the provider uses others. Null for an unknown reason, and for a request that was not completed or has no text.",
    }),
    native_finish_reason: z
      .string()
      .nullable()
      .meta({ description: "The reason as the provider stated it, up to 64 characters." }),
    error_code: z.string().nullable(),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
    tokens_prompt: count.nullable(),
    tokens_completion: count.nullable(),
    native_tokens_prompt: count.nullable().meta({ description: "The same as `tokens_prompt`." }),
    native_tokens_completion: count.nullable().meta({ description: "The same as `tokens_completion`." }),
    native_tokens_cached: count
      .nullable()
      .meta({ description: "Prompt tokens that the provider read from its cache." }),
    usage_estimated: z.boolean().meta({
      description: "Whether the router counted the tokens, because the provider did not report them.",
    }),
    total_cost: tokenNumber
      .nullable()
      .meta({ description: "The amount charged; null while the request runs." }),
    cache_discount: tokenNumber.nullable().meta({
      description:
        "What the provider's cache saved of the cost: 0 if no tokens were cached or writing to it cost more; null while the request runs, if tokens were cached and the balance did not cover the whole cost, and for a stored answer.",
    }),
    usage: tokenNumber.nullable().meta({ description: "The same as `total_cost`." }),
    cached_from: z.string().nullable().meta({
      description:
        "The earlier request whose stored answer, with its evidence, was returned; null if a provider answered.",
    }),
    latency: milliseconds.meta({ description: "Milliseconds from the admission to the end." }),
    first_byte_latency: milliseconds.meta({
      description: "Milliseconds from the admission to the provider's first byte.",
    }),
    tags: z.record(z.string(), z.string()).optional(),
    ...GENERATION_MEMBERS,
    generation_time: milliseconds.meta({ description: "Milliseconds from the first byte to the end." }),
  })
  .meta({ id: "Generation", description: "One billed request." });

/** GET /v1/generation: one request by its id, in OpenRouter's shape. Beyond SPEC (schema/choices.md). */
export const getGeneration = defineRoute({
  method: "GET",
  url: "/v1/generation",
  summary: "Retrieve a request and its cost",
  access: "generation.read",
  query: z.strictObject({
    id: z.string("required: the request_id of an answer's x_0g_trace").min(1).max(MAX_ID_LENGTH),
  }),
  answer: { json: z.strictObject({ data: GENERATION }) },
  async handle(app, { reach, query: { id } }) {
    const request = await app.requests.find(reach, id);
    if (!request)
      throw new AppError("generation_not_found", "There is no request with this id.", { param: "id" });
    return json({ data: view(request) });
  },
});

function view(request: InferenceRequest) {
  const { status, inputTokens, outputTokens, cost, firstByteMs, durationMs } = request;
  const charged = cost && exactToken(cost.total);
  const saving = cost?.cacheSaving ?? null;
  return {
    id: request.id,
    model: request.model,
    provider: request.provider,
    service_type: request.serviceType,
    api_key_id: request.apiKeyId,
    status,
    cancelled: status === "aborted",
    streamed: request.routing?.streamed ?? null,
    finish_reason: nameFinishReason(request.routing?.finishReason) ?? null,
    native_finish_reason: request.routing?.finishReason ?? null,
    error_code: request.errorCode,
    created_at: request.createdAt.toISOString(),
    finished_at: request.finishedAt?.toISOString() ?? null,
    tokens_prompt: inputTokens,
    tokens_completion: outputTokens,
    native_tokens_prompt: inputTokens,
    native_tokens_completion: outputTokens,
    native_tokens_cached: request.cachedTokens,
    usage_estimated: request.usageEstimated,
    total_cost: charged,
    cache_discount: saving === null ? null : exactToken(saving),
    usage: charged,
    cached_from: request.routing?.cachedFrom ?? null,
    latency: durationMs,
    first_byte_latency: firstByteMs,
    ...(Object.keys(request.tags).length > 0 && { tags: request.tags }),
    ...generationMembers(request.serviceType, request.provider),
    generation_time:
      durationMs === null || firstByteMs === null ? null : Math.max(0, durationMs - firstByteMs),
  };
}
