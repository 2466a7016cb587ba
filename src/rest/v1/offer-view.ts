import { z } from "zod";
import { API_FORMATS, type ApiFormat, type Profile } from "../../inference/providers/profile.ts";
import type { Provider, ServiceType } from "../../inference/providers/provider.ts";
import { inputModalities, outputModalities } from "../../inference/providers/service-types.ts";
import { priceInUsd, type Usd } from "../../inference/routing/routing-preferences.ts";
import { neuron } from "../wire.ts";

const names = z.array(z.string()).optional();
const usd = z.string().regex(/^\d+(\.\d+)?$/);
const priceOf = <T extends z.ZodType>(amount: T) =>
  z.strictObject({
    prompt: amount,
    completion: amount,
    image: amount.optional(),
    second: amount.optional(),
    character: amount.optional(),
    cached_prompt: amount.optional(),
    cache_write: amount.optional(),
    cache_write_1h: amount.optional(),
    tiered_pricing: z
      .array(
        z.strictObject({
          max_input_tokens: z.int(),
          prompt: amount,
          completion: amount,
          cached_prompt: amount.optional(),
        }),
      )
      .optional(),
  });

/** The fields of an offer, as far as its provider states them (facts 1.3). */
export const PROFILE_FIELDS = {
  description: z.string().optional(),
  context_length: z.int().optional(),
  max_completion_tokens: z.int().optional(),
  architecture: z.strictObject({
    modality: z.string(),
    input_modalities: z.array(z.string()),
    output_modalities: z.array(z.string()),
    tokenizer: z.string().optional(),
    instruct_type: z.string().optional(),
  }),
  supported_formats: z.array(z.enum(API_FORMATS)),
  supported_parameters: names,
  default_parameters: z.record(z.string(), z.unknown()).optional(),
  pricing: priceOf(neuron).meta({
    id: "Pricing",
    description: "Neuron per token, per image, per second of audio, or per character of speech.",
  }),
  pricing_usd: priceOf(usd)
    .optional()
    .meta({ id: "PricingUsd", description: "The same in US dollars, if the token's price is known." }),
  verifiability: z.string(),
  tee_type: z.string().optional(),
  tee_verifier: z.string().optional(),
  expiration_date: z.string().optional(),
};

/** The values of `PROFILE_FIELDS`; `formats` overrides those of the offer. */
export function viewProfile(
  offer: Provider,
  tokenUsd: Usd | undefined,
  formats: readonly ApiFormat[] = offer.profile.formats,
) {
  const { profile } = offer;
  const [input, output] = [inputModalities(offer), outputModalities(offer)];
  return {
    description: profile.description,
    context_length: profile.contextLength,
    max_completion_tokens: profile.maxCompletionTokens,
    architecture: {
      modality: `${input.join("+")}->${output.join("+")}`,
      input_modalities: input,
      output_modalities: output,
      tokenizer: profile.tokenizer,
      instruct_type: profile.instructType,
    },
    supported_formats: formats,
    supported_parameters: profile.supportedParameters,
    default_parameters: profile.defaultParameters,
    pricing: viewPrice(offer, String),
    ...(tokenUsd !== undefined && {
      pricing_usd: viewPrice(offer, (price) => priceInUsd(price, tokenUsd)),
    }),
    verifiability: offer.verifiability,
    tee_type: profile.teeType,
    tee_verifier: profile.teeVerifier,
    expiration_date: profile.expirationDate,
  };
}

/** Every parameter that any of these profiles supports. */
export function parametersOf(profiles: readonly Profile[]): ReadonlySet<string> {
  return new Set(profiles.flatMap(({ supportedParameters }) => supportedParameters ?? []));
}

function viewPrice(offer: Provider, show: (price: bigint) => string) {
  const { serviceType, inputPrice, outputPrice } = offer;
  if (serviceType === "chatbot")
    return { prompt: show(inputPrice), completion: show(outputPrice), ...viewFinerPrice(offer, show) };
  const unit = UNITS[serviceType];
  return { prompt: show(inputPrice), completion: show(0n), ...(unit && { [unit]: show(outputPrice) }) };
}

/** What the services are priced by that are not priced by tokens alone. */
const UNITS: Readonly<Partial<Record<ServiceType, "image" | "second" | "character">>> = {
  "text-to-image": "image",
  "image-editing": "image",
  "speech-to-text": "second",
  "text-to-speech": "character",
};

/** Prices that are undefined are omitted from JSON. */
function viewFinerPrice({ cachePrice, tiers }: Provider, show: (price: bigint) => string) {
  const shown = (price: bigint | undefined) => (price === undefined ? undefined : show(price));
  return {
    cached_prompt: shown(cachePrice?.read),
    cache_write: shown(cachePrice?.write),
    cache_write_1h: shown(cachePrice?.write1h),
    tiered_pricing: tiers?.map((tier) => ({
      max_input_tokens: tier.maxInputTokens,
      prompt: show(tier.inputPrice),
      completion: show(tier.outputPrice),
      cached_prompt: shown(tier.cacheReadPrice),
    })),
  };
}
