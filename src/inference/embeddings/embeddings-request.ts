import { z } from "zod";
import { boundPrompt, type PromptBound } from "../billing/prompt-bound.ts";
import { ElidedText, isText } from "../body/elided-text.ts";
import {
  forwardedBody,
  type RequestFields,
  readPromptFields,
  upstreamModel,
} from "../body/request-fields.ts";
import { shortText } from "../body/text-schema.ts";
import { inputsOf, isTokenList } from "../body/token-lists.ts";
import type { GuardedRequest } from "../guardrails/guarded-request.ts";
import type { Provider } from "../providers/provider.ts";
import { NO_FALLBACK_MODELS, PROVIDER_OBJECT, providerPreferences } from "../routing/routing-fields.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";

/** The limit of OpenAI's API on the inputs of one request. */
const MAX_INPUTS = 2_048;
const MAX_DIMENSIONS = 65_536;

/** The forms of a vector in JSON: a list of numbers, or base64 of little-endian 32-bit floats. */
const ENCODINGS = ["float", "base64"] as const;
export type Encoding = (typeof ENCODINGS)[number];

const token = { type: "integer", minimum: 0 } as const;
const listOf = (items: object) => ({ type: "array", items, minItems: 1, maxItems: MAX_INPUTS }) as const;
const INPUT = z
  .unknown()
  .refine(
    isInput,
    `must be a text, a list of tokens, or a list of at most ${MAX_INPUTS} of these, none of them empty`,
  )
  .meta({
    anyOf: [
      { type: "string", minLength: 1 },
      listOf({ type: "string", minLength: 1 }),
      { type: "array", items: token, minItems: 1 },
      listOf({ type: "array", items: token, minItems: 1 }),
    ],
  });

/** The fields that the router reads; the provider validates all others. OpenAPI publishes this schema. */
export const EMBEDDINGS_REQUEST = z
  .looseObject({
    model: shortText(256),
    models: NO_FALLBACK_MODELS,
    input: INPUT,
    encoding_format: z.enum(ENCODINGS).nullish(),
    dimensions: z.int().min(1).max(MAX_DIMENSIONS).nullish(),
    verify_tee: z.boolean().nullish(),
    provider: PROVIDER_OBJECT,
  })
  .meta({ id: "EmbeddingsRequest" });

/** A request for embeddings, reduced to what the router reads. */
export type EmbeddingsRequest = RequestFields & {
  readonly model: string;
  /** The number of texts, each of which gets one vector. */
  readonly inputs: number;
  readonly encoding: Encoding;
  /** The bound on the tokens of all inputs together. */
  readonly prompt: PromptBound;
  /** Whether to verify the provider's signature of the answer. */
  readonly verifyTee: boolean;
  /** The preferences of its `provider` object. */
  readonly preferences: RoutingPreferences;
  /** The client's own body, where `bytes` and `fields` are not that. */
  readonly client?: Pick<GuardedRequest, "sizeBytes" | "fields"> | undefined;
};

/** Reads a request for embeddings. Throws `invalid_body` naming the invalid field. */
export async function readEmbeddingsRequest(bytes: Buffer): Promise<EmbeddingsRequest> {
  const { fields, elided } = await readPromptFields(EMBEDDINGS_REQUEST, bytes, "input");
  const { model, input } = fields;
  return {
    model,
    inputs: inputsOf(input),
    encoding: fields.encoding_format ?? "float",
    prompt: boundPrompt({ messages: [] }, bytes),
    verifyTee: fields.verify_tee ?? false,
    preferences: providerPreferences(fields.provider),
    bytes,
    fields,
    elided,
  };
}

/** The body for this provider: the client's own bytes if nothing changes. */
export function embeddingsBody(request: EmbeddingsRequest, provider: Provider): Buffer {
  return forwardedBody(request, upstreamModel(provider));
}

function isInput(input: unknown): boolean {
  if (isFilledText(input) || isTokenList(input)) return true;
  if (!Array.isArray(input)) return false;
  if (input.length === 0 || input.length > MAX_INPUTS) return false;
  return input.every(isFilledText) || input.every(isTokenList);
}

function isFilledText(value: unknown): boolean {
  return value instanceof ElidedText || (isText(value) && value !== "");
}
