import { keccak256, stringToBytes } from "viem";
import { z } from "zod";
import { faultOf } from "../../../kernel/address-guard.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { isAscending, MAX_TIERS } from "../../billing/finer-price.ts";
import type { Price } from "../../billing/pricing.ts";
import { API_FORMATS } from "../profile.ts";
import { type Provider, SERVICE_TYPES } from "../provider.ts";

const ZERO_ADDRESS: Hex = "0x0000000000000000000000000000000000000000";
const neuron = z.string().regex(/^(0|[1-9]\d{0,30})$/, "must be whole neuron as a string");
const text = z.string().min(1).max(2_000);
const length = z.int().min(1).max(100_000_000);
const names = z.array(z.string().min(1).max(100)).max(100);

const Tier = z.strictObject({
  max_input_tokens: length,
  prompt: neuron,
  completion: neuron,
  cached_prompt: neuron.optional(),
});

/** Neuron: `prompt` and `completion` per token, `image` per image, `second` per second of audio, `character` of speech. */
const Pricing = z.strictObject({
  prompt: neuron.optional(),
  completion: neuron.optional(),
  image: neuron.optional(),
  second: neuron.optional(),
  character: neuron.optional(),
  cached_prompt: neuron.optional(),
  cache_write: neuron.optional(),
  cache_write_1h: neuron.optional(),
  tiered_pricing: z
    .array(Tier)
    .min(1)
    .max(MAX_TIERS)
    .refine(
      (tiers) => isAscending(tiers.map((tier) => ({ maxInputTokens: tier.max_input_tokens }))),
      "each tier must be longer than the one before",
    )
    .optional(),
});

const Offer = z
  .strictObject({
    /** The model's name for clients, and the server's own name if it differs. */
    id: z.string().min(1).max(256),
    upstream_id: z.string().min(1).max(256).optional(),
    service_type: z.enum(SERVICE_TYPES).default("chatbot"),
    supported_formats: z.array(z.enum(API_FORMATS)).min(1).default(["openai"]),
    keeps_responses: z.boolean().optional(),
    pricing: Pricing,
    name: text.optional(),
    description: text.optional(),
    context_length: length.optional(),
    max_completion_tokens: length.optional(),
    input_modalities: names.optional(),
    output_modalities: names.optional(),
    tokenizer: text.optional(),
    instruct_type: text.optional(),
    supported_parameters: names.optional(),
    default_parameters: z.record(z.string(), z.unknown()).optional(),
    expiration_date: text.optional(),
  })
  .superRefine(({ service_type, pricing }, context) => {
    const required: readonly string[] = PRICED_BY[service_type];
    const finer: readonly string[] = service_type === "chatbot" ? FINER : [];
    const priced = Object.keys(pricing).filter((name) => !finer.includes(name));
    if (priced.toSorted().join() !== required.toSorted().join())
      context.addIssue({
        code: "custom",
        path: ["pricing"],
        message: `must have exactly ${required.join(" and ")}`,
      });
  });

const PRICED_BY = {
  chatbot: ["prompt", "completion"],
  "text-to-image": ["image"],
  "image-editing": ["image"],
  "speech-to-text": ["second"],
  embedding: ["prompt"],
  "text-to-speech": ["character"],
  rerank: ["prompt"],
} as const;

/** Optional members of a chat's pricing. */
const FINER = ["cached_prompt", "cache_write", "cache_write_1h", "tiered_pricing"] as const;

const ProvidersFile = z.strictObject({
  providers: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(100),
        /** The base of its API, such as `http://127.0.0.1:11434/v1`, without credentials, which `api_key_env` is for. */
        url: text.superRefine((url, context) => {
          const fault = faultOf(url, { allowsPrivate: true });
          if (fault !== undefined)
            context.addIssue({ code: "custom", message: `this URL cannot be used: ${fault}` });
        }),
        /** The environment variable that contains its API key; if absent, no key is sent. */
        api_key_env: z
          .string()
          .regex(/^[A-Z_][A-Z0-9_]*$/)
          .optional(),
        country: text.optional(),
        models: z.array(Offer).min(1).max(1_000),
      }),
    )
    .max(1_000),
});

type Given = z.infer<typeof ProvidersFile>["providers"][number];

/** A server of the file: its offers, and the environment variable of its API key. */
export type FileServer = { readonly keyVariable: string | undefined; readonly offers: readonly Provider[] };

/**
 * Parses PROVIDERS_FILE: servers with OpenAI's API, their offers and prices. An offer's address is derived from its
 * server's name and its model, so that it is stable. Throws an `Error` with a one-line description of the problem.
 */
export function readProvidersFile(json: string, updatedAt: Date): readonly FileServer[] {
  const result = ProvidersFile.safeParse(parse(json));
  if (!result.success) {
    const [issue] = result.error.issues;
    throw new Error(`${issue?.path.join(".") || "the file"}: ${issue?.message ?? "malformed"}`);
  }
  const servers = result.data.providers.map((server) => ({
    keyVariable: server.api_key_env,
    offers: server.models.map((offer) => toProvider(server, offer, updatedAt)),
  }));
  const addresses = servers.flatMap(({ offers }) => offers.map(({ address }) => address));
  if (new Set(addresses).size < addresses.length)
    throw new Error("providers: a server offers the same model twice, or two servers have the same name");
  return servers;
}

function toProvider(server: Given, offer: Given["models"][number], updatedAt: Date): Provider {
  const { prompt, completion, image, second, character } = offer.pricing;
  return {
    address: addressOf(server.name, offer.id),
    source: "file",
    serviceType: offer.service_type,
    url: server.url.replace(/\/+$/, ""),
    model: offer.id,
    upstreamModel: offer.upstream_id,
    verifiability: "",
    inputPrice: BigInt(prompt ?? 0),
    outputPrice: BigInt(completion ?? image ?? second ?? character ?? 0),
    ...toFinerPrice(offer.pricing),
    teeSigner: ZERO_ADDRESS,
    teeAcknowledged: false,
    isCentralized: true,
    updatedAt,
    profile: {
      formats: offer.supported_formats,
      keepsResponses: offer.keeps_responses,
      name: offer.name,
      description: offer.description,
      contextLength: offer.context_length,
      maxCompletionTokens: offer.max_completion_tokens,
      inputModalities: offer.input_modalities,
      outputModalities: offer.output_modalities,
      tokenizer: offer.tokenizer,
      instructType: offer.instruct_type,
      supportedParameters: offer.supported_parameters,
      defaultParameters: offer.default_parameters,
      providerName: server.name,
      providerCountry: server.country,
      expirationDate: offer.expiration_date,
    },
  };
}

function toFinerPrice(pricing: z.infer<typeof Pricing>): Pick<Price, "cachePrice" | "tiers"> {
  const { cached_prompt, cache_write, cache_write_1h, tiered_pricing } = pricing;
  const cachePrice = {
    read: toNeuron(cached_prompt),
    write: toNeuron(cache_write),
    write1h: toNeuron(cache_write_1h),
  };
  return {
    ...(Object.values(cachePrice).some((price) => price !== undefined) && { cachePrice }),
    ...(tiered_pricing && {
      tiers: tiered_pricing.map(({ max_input_tokens, prompt, completion, cached_prompt }) => ({
        maxInputTokens: max_input_tokens,
        inputPrice: BigInt(prompt),
        outputPrice: BigInt(completion),
        cacheReadPrice: toNeuron(cached_prompt),
      })),
    }),
  };
}

function toNeuron(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : BigInt(text);
}

function addressOf(server: string, model: string): Hex {
  return lowerHex(`0x${keccak256(stringToBytes(`provider\n${server}\n${model}`)).slice(-40)}`);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Error("it is not valid JSON");
  }
}
