import { z } from "zod";
import type { Tags } from "../../accounts/tags/tags.ts";
import { boundPrompt, type PromptBound } from "../billing/prompt-bound.ts";
import type { Fields } from "../body/fields.ts";
import { refuseHosted } from "../body/hosted-tools.ts";
import { invalidField } from "../body/invalid-field.ts";
import { METADATA, tagsOf } from "../body/metadata.ts";
import {
  candidateModel,
  forwardedBody,
  type RequestFields,
  readPromptFields,
} from "../body/request-fields.ts";
import { readText, shortText } from "../body/text-schema.ts";
import type { GuardedRequest } from "../guardrails/guarded-request.ts";
import type { Provider } from "../providers/provider.ts";
import { hasText, quickList } from "../routing/quick-list.ts";
import {
  CACHE_KEYS,
  FALLBACK_MODELS,
  modelsOf,
  NAMES_MODEL,
  NO_MODEL,
  namesModel,
  PROVIDER_OBJECT,
  SESSION_ID,
} from "../routing/routing-fields.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";

const MAX_CHOICES = 128;
const tokens = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

/** OpenRouter's form of `stream_options.include_usage`, which the provider does not receive. */
export const USAGE_OPTION = z.looseObject({ include: z.boolean().nullish() }).nullish().meta({
  description: "The same as `stream_options.include_usage`, which takes precedence.",
});

/** The fields that the router reads; the provider validates all others (facts 1.2). OpenAPI publishes this schema. */
export const CHAT_REQUEST = z
  .looseObject({
    model: shortText(256).optional(),
    models: FALLBACK_MODELS,
    messages: quickList(z.looseObject({ role: readText }), (message) => hasText(message, "role"), {
      min: 1,
      max: 10_000,
    }),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    usage: USAGE_OPTION,
    max_tokens: tokens.nullish(),
    max_completion_tokens: tokens.nullish(),
    n: z.int().min(1).max(MAX_CHOICES).nullish(),
    metadata: METADATA,
    verify_tee: z.boolean().nullish(),
    session_id: SESSION_ID,
    ...CACHE_KEYS,
    provider: PROVIDER_OBJECT,
  })
  .refine(namesModel, NO_MODEL)
  .meta({ id: "ChatRequest", ...NAMES_MODEL });

/** The fields of a chat that are used to rank providers. */
export const CHAT_SIZE_FIELDS = {
  messages: CHAT_REQUEST.shape.messages.optional(),
  max_tokens: CHAT_REQUEST.shape.max_tokens,
  max_completion_tokens: CHAT_REQUEST.shape.max_completion_tokens,
  n: CHAT_REQUEST.shape.n,
};

/**
 * The client's limit on the tokens of an answer: the greater, if it sends both fields, since some servers read only one
 * of them.
 */
export function answerLimitOf({
  max_tokens: limit,
  max_completion_tokens: completionLimit,
}: {
  readonly max_tokens?: number | null | undefined;
  readonly max_completion_tokens?: number | null | undefined;
}): number | undefined {
  return Math.max(limit ?? 0, completionLimit ?? 0) || undefined;
}

/** A chat request, reduced to what the router reads. */
export type ChatRequest = RequestFields & {
  readonly model: string;
  readonly stream: boolean;
  /** Whether the client requested the usage chunk at the end of a stream. */
  readonly wantsUsage: boolean;
  readonly maxTokens: number | undefined;
  /** Whether the client's body has no limit, and `maxTokens` is the default of its format. */
  readonly isLimitDefault?: boolean;
  readonly choices: number;
  /** The number of separate prompts, by default 1. */
  readonly prompts?: number;
  /** Whether to verify the provider's signature of the answer. */
  readonly verifyTee?: boolean;
  /** The bound on the tokens of the prompt. */
  readonly prompt: PromptBound;
  /** The preferences of its `provider` object. */
  readonly preferences: RoutingPreferences;
  /** The client's own body, where `bytes` and `fields` are not that. */
  readonly client?: Pick<GuardedRequest, "sizeBytes" | "fields" | "translated"> | undefined;
  /** The tags in its `metadata`. */
  readonly tags?: Tags | undefined;
};

/**
 * Reads a chat request. Throws `invalid_body` naming the invalid field; a body that would touch a prototype is invalid.
 */
export async function readChatRequest(bytes: Buffer): Promise<ChatRequest> {
  const { fields, elided } = await readPromptFields(CHAT_REQUEST, bytes);
  refuseHosted(fields);
  refuseUnshown(fields);
  return {
    ...modelsOf(fields),
    stream: fields.stream ?? false,
    wantsUsage: fields.stream_options?.include_usage ?? fields.usage?.include ?? false,
    maxTokens: answerLimitOf(fields),
    choices: fields.n ?? 1,
    verifyTee: fields.verify_tee ?? false,
    tags: tagsOf(fields.metadata),
    prompt: boundPrompt(fields, bytes),
    bytes,
    fields,
    elided,
  };
}

/** Throws `invalid_body` for more answers than are returned: some servers make them, and they would be billed. */
function refuseUnshown({ n, best_of: bestOf }: Fields & { readonly n?: number | null | undefined }): void {
  if (bestOf != null && !(typeof bestOf === "number" && bestOf <= (n ?? 1)))
    throw invalidField("best_of", "must not be more than n");
}

/** Whether the client's own body has the option that requests usage from the provider. */
function requestsStreamUsage({ fields }: RequestFields): boolean {
  const options = fields.stream_options as { readonly include_usage?: unknown } | null | undefined;
  return options?.include_usage === true;
}

/** What the guardrails of a key are compared with. */
export function guardedChat(request: ChatRequest): GuardedRequest {
  const { bytes, fields, choices, maxTokens, isLimitDefault, prompt } = request;
  const { client = { sizeBytes: bytes.length, fields } } = request;
  return {
    ...client,
    prompt: { bytes, maxTokens: prompt.maxTokens },
    answer: { choices, maxTokens: isLimitDefault ? undefined : maxTokens },
  };
}

/** A request in which the default limit of its format is at most `tokens`. */
export function withDefaultLimit<Request extends RequestFields & { readonly maxTokens?: number | undefined }>(
  request: Request,
  tokens: number,
): Request {
  const { maxTokens } = request;
  if (maxTokens === undefined || maxTokens <= tokens) return request;
  const limit = { max_tokens: tokens };
  return {
    ...request,
    maxTokens: tokens,
    bytes: forwardedBody(request, limit),
    fields: { ...request.fields, ...limit },
  };
}

/**
 * The limit of an answer under the name that a provider lists, if it lists only the older one: a server that ignored the
 * limit would answer for longer than is charged.
 */
function readLimit({ fields, maxTokens }: ChatRequest, profile: Provider["profile"] | undefined) {
  const { max_tokens: limit, max_completion_tokens: completionLimit } = fields;
  const listed = profile?.supportedParameters ?? [];
  const isRead = !listed.includes("max_tokens") || listed.includes("max_completion_tokens");
  if (isRead || limit != null || completionLimit == null) return {};
  return { max_tokens: maxTokens, max_completion_tokens: undefined };
}

/**
 * The body for the provider: the client's own bytes if nothing changes; with fields appended if they are only added
 * (numbers keep all their digits); serialized anew only if a field is removed.
 */
export function providerBody(
  request: ChatRequest,
  maxTokens: number,
  provider: Pick<Provider, "model" | "upstreamModel"> & Partial<Pick<Provider, "profile">> = request,
  { requestsUsage = true }: { readonly requestsUsage?: boolean } = {},
): Buffer {
  const { fields, stream } = request;
  const added: Record<string, unknown> = {
    ...candidateModel(request, provider),
    ...readLimit(request, provider.profile),
  };
  if (stream && !requestsUsage && Object.hasOwn(fields, "stream_options")) added.stream_options = undefined;
  if (stream && requestsUsage && !requestsStreamUsage(request))
    added.stream_options = { ...(fields.stream_options as object), include_usage: true };
  if (request.maxTokens === undefined) added.max_tokens = maxTokens;
  return forwardedBody(request, added);
}
