import { z } from "zod";
import type { Tags } from "../../accounts/tags/tags.ts";
import { lowerHex } from "../../kernel/text/hex.ts";
import { EVIDENCE_FLOORS, TRUST_FLOORS } from "../../keys/api-keys/key-settings.ts";
import { boundPrompt, type PromptBound } from "../billing/prompt-bound.ts";
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
import { MAX_FALLBACK_MODELS } from "../routing/fallback-models.ts";
import { hasText, quickList } from "../routing/quick-list.ts";
import {
  MAX_CACHE_KEY,
  MAX_LISTED_PROVIDERS,
  MAX_SESSION_ID,
  PROVIDER_SORTS,
  type PriceCaps,
  type RoutingPreferences,
  readUsd,
} from "../routing/routing-preferences.ts";

const MAX_CHOICES = 128;
const tokens = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

const anAddress = readText.regex(/^0x[0-9a-fA-F]{40}$/, "must be an address");
const addresses = z.array(anAddress).max(MAX_LISTED_PROVIDERS);

const PRICE = "must be an amount of dollars, such as 0.25";
/** A price in dollars, as a number or as a decimal. */
const maxPrice = z
  .union([z.number().nonnegative().transform(decimalOf), readText], PRICE)
  .refine((text) => readUsd(text) !== undefined, PRICE)
  .nullish();

/**
 * The `provider` object that every JSON inference request may contain: the deprecated way to control provider routing.
 * Headers take precedence field by field (facts 1.2). A field of another gateway's is refused: it would limit who may
 * answer, and must not be ignored. `max_price` is OpenRouter's.
 */
export const PROVIDER_OBJECT = z
  .strictObject({
    sort: z.enum(PROVIDER_SORTS).nullish(),
    address: anAddress.nullish(),
    order: addresses.nullish(),
    only: addresses.nullish(),
    ignore: addresses.nullish(),
    allow_fallbacks: z.boolean().nullish(),
    trust_mode: z.enum(TRUST_FLOORS).nullish(),
    evidence: z.enum(EVIDENCE_FLOORS).nullish(),
    max_price: z
      .strictObject({ prompt: maxPrice, completion: maxPrice, image: maxPrice })
      .nullish()
      .meta({ description: "The highest prices, in US dollars per million tokens, or per image." }),
  })
  .nullish()
  .meta({
    description: "Equivalent to the routing headers, which take precedence field by field. Deprecated.",
  });

/** The models of a request, in the order in which they are tried; after `model`, if that is sent too. */
export const FALLBACK_MODELS = z.array(shortText(256)).max(MAX_FALLBACK_MODELS).nullish().meta({
  description:
    "Models to fall back on, in this order: after `model`, if that is sent too. The request is billed at the prices of the one that answers.",
});

/** `models` of a request that is not a chat: like the header, it is refused rather than ignored. Null means none. */
export const NO_FALLBACK_MODELS = z
  .null("only a chat may fall back on another model")
  .optional()
  .meta({ description: "Only chats have fallback models." });

/** The conversation that a request belongs to, in OpenRouter's form. */
export const SESSION_ID = readText.max(MAX_SESSION_ID).nullish().meta({
  description:
    "The conversation that the request belongs to: its requests go to the provider that has their prompt cached, where that costs less and no routing preference says otherwise. Equivalent to the header `X-Session-Id`, over which it takes precedence. Not sent to the provider.",
});

const cacheKey = (description: string) => z.unknown().optional().meta({ description });
/** OpenAI's fields that name the conversation less specifically; the provider validates them. */
export const CACHE_KEYS = {
  prompt_cache_key: cacheKey(
    "The conversation, where `session_id` is not sent. The provider receives it too.",
  ),
  user: cacheKey("The conversation, where neither of the other two is sent. The provider receives it too."),
};

/** Whether a request names a model, alone or in a list. */
export function namesModel({
  model,
  models,
}: {
  readonly model?: string | undefined;
  readonly models?: readonly string[] | null | undefined;
}): boolean {
  return model !== undefined || (models ?? []).length > 0;
}
export const NO_MODEL = { path: ["model"], message: "required" };
/** The same in the published schema. */
export const NAMES_MODEL = {
  anyOf: [
    { type: "object", required: ["model"], properties: { model: { type: "string" } } },
    {
      type: "object",
      required: ["models"],
      properties: { models: { type: "array", items: { type: "string" }, minItems: 1 } },
    },
  ],
};

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
  return {
    ...modelsOf(fields),
    stream: fields.stream ?? false,
    wantsUsage: fields.stream_options?.include_usage ?? false,
    maxTokens: fields.max_completion_tokens ?? fields.max_tokens ?? undefined,
    choices: fields.n ?? 1,
    verifyTee: fields.verify_tee ?? false,
    tags: tagsOf(fields.metadata),
    prompt: boundPrompt(fields, bytes),
    bytes,
    fields,
    elided,
  };
}

/** The fields that say which model, which provider and which conversation is meant. */
type RoutingFields = {
  readonly model?: string | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly provider?: z.output<typeof PROVIDER_OBJECT>;
  readonly session_id?: string | null | undefined;
  readonly prompt_cache_key?: unknown;
  readonly user?: unknown;
};

/** The model of a request, and its preferences: those of the `provider` object, fallback models, and the conversation. */
export function modelsOf(fields: RoutingFields): {
  readonly model: string;
  readonly preferences: RoutingPreferences;
} {
  const { model, models, provider, session_id: sessionId } = fields;
  const [first = "", ...fallbackModels] = [...(model === undefined ? [] : [model]), ...(models ?? [])];
  const cacheKey = [fields.prompt_cache_key, fields.user].find(isKey);
  return {
    model: first,
    preferences: {
      ...providerPreferences(provider),
      ...(fallbackModels.length > 0 && { fallbackModels }),
      ...(sessionId && { sessionId }),
      ...(cacheKey !== undefined && { cacheKey: cacheKey.slice(0, MAX_CACHE_KEY) }),
    },
  };
}

function isKey(value: unknown): value is string {
  return typeof value === "string" && value !== "";
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

/** The routing preferences of a `provider` object. */
export function providerPreferences(stated: z.output<typeof PROVIDER_OBJECT>): RoutingPreferences {
  const { sort, address, order, only, ignore } = stated ?? {};
  const { allow_fallbacks: allowFallbacks, trust_mode: trustMode, evidence } = stated ?? {};
  const caps = stated?.max_price && capsOf(stated.max_price);
  return {
    ...(sort && { sort }),
    ...(address && { pin: lowerHex(address) }),
    ...(order && { order: order.map(lowerHex) }),
    ...(only && { only: only.map(lowerHex) }),
    ...(ignore && { ignore: ignore.map(lowerHex) }),
    ...(allowFallbacks != null && { allowFallbacks }),
    ...(trustMode && { trustMode }),
    ...(evidence && { evidence }),
    ...(caps && { caps }),
  };
}

/** The maximum prices of a `provider` object; undefined without one. */
function capsOf(
  stated: NonNullable<NonNullable<z.output<typeof PROVIDER_OBJECT>>["max_price"]>,
): PriceCaps | undefined {
  const caps = Object.entries(stated).flatMap(([kind, text]) =>
    text == null ? [] : [[kind, readUsd(text)]],
  );
  return caps.length > 0 ? Object.fromEntries(caps) : undefined;
}

/** A number as a decimal without an exponent. */
function decimalOf(value: number): string {
  const text = String(value);
  return /e/i.test(text) ? value.toFixed(18).replace(/\.?0+$/, "") : text;
}

/**
 * The body for the provider: the client's own bytes if nothing changes; with fields appended if they are only added
 * (numbers keep all their digits); serialized anew only if a field is removed.
 */
export function providerBody(
  request: ChatRequest,
  maxTokens: number,
  provider: Pick<Provider, "model" | "upstreamModel"> = request,
  { requestsUsage = true }: { readonly requestsUsage?: boolean } = {},
): Buffer {
  const { fields, stream } = request;
  const added: Record<string, unknown> = { ...candidateModel(request, provider) };
  if (stream && requestsUsage && !request.wantsUsage)
    added.stream_options = { ...(fields.stream_options as object), include_usage: true };
  if (request.maxTokens === undefined) added.max_tokens = maxTokens;
  return forwardedBody(request, added);
}
