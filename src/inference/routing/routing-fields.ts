import { z } from "zod";
import { withAtMost } from "../../kernel/text/characters.ts";
import { lowerHex } from "../../kernel/text/hex.ts";
import { EVIDENCE_FLOORS, TRUST_FLOORS } from "../../keys/api-keys/key-settings.ts";
import { readText, shortText } from "../body/text-schema.ts";
import { MAX_FALLBACK_MODELS } from "./fallback-models.ts";
import {
  MAX_CACHE_KEY,
  MAX_LISTED_PROVIDERS,
  MAX_SESSION_ID,
  PROVIDER_SORTS,
  type PriceCaps,
  type RoutingPreferences,
  readUsd,
  USD_PATTERN,
} from "./routing-preferences.ts";

const anAddress = readText.regex(/^0x[0-9a-fA-F]{40}$/, "must be an address");
const addresses = z.array(anAddress).max(MAX_LISTED_PROVIDERS);

const PRICE = "must be an amount of dollars, such as 0.25";
/** A price in dollars, as a number or as a decimal. */
const maxPrice = z
  .union(
    [z.number().nonnegative().lt(1e12).transform(decimalOf), readText.meta({ pattern: USD_PATTERN })],
    PRICE,
  )
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
    "Models to try in this order, after `model` if it is sent too. The request is billed at the prices of the model that answers.",
});

/** `models` of a request that is not a chat: like the header, it is refused rather than ignored. Null means none. */
export const NO_FALLBACK_MODELS = z
  .null("only a chat may fall back on another model")
  .optional()
  .meta({ description: "Only chats have fallback models." });

/** The conversation that a request belongs to, in OpenRouter's form. */
export const SESSION_ID = withAtMost(readText, MAX_SESSION_ID).nullish().meta({
  description:
    "An identifier of the conversation that the request belongs to. Requests of a conversation go to the provider that has their prompt cached if that costs less and no routing preference says otherwise. Equivalent to the header `X-Session-Id`, and takes precedence over it. Not sent to the provider.",
});

const cacheKey = (description: string) => z.unknown().optional().meta({ description });
/** OpenAI's fields that name the conversation less specifically; the provider validates them. */
export const CACHE_KEYS = {
  prompt_cache_key: cacheKey(
    "Identifies the conversation if `session_id` is not sent. The provider receives it too.",
  ),
  user: cacheKey(
    "Identifies the conversation if neither `session_id` nor `prompt_cache_key` is sent. The provider receives it too.",
  ),
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
