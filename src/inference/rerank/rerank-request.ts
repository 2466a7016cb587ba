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
import type { Provider } from "../providers/provider.ts";
import { NO_FALLBACK_MODELS, PROVIDER_OBJECT, providerPreferences } from "../routing/routing-fields.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";

/** The most that Cohere recommends for one request. */
const MAX_DOCUMENTS = 1_000;

const filledText = z
  .unknown()
  .refine(isFilledText, "must be a text that is not empty")
  .meta({ type: "string", minLength: 1 });
const DOCUMENT = z
  .unknown()
  .refine(isDocument, "must be a text, or an object with a `text`")
  .meta({
    anyOf: [
      { type: "string", minLength: 1 },
      { type: "object", properties: { text: { type: "string", minLength: 1 } }, required: ["text"] },
    ],
  });

/** The fields that the router reads; the provider validates all others. OpenAPI publishes this schema. */
export const RERANK_REQUEST = z
  .looseObject({
    model: shortText(256),
    models: NO_FALLBACK_MODELS,
    query: filledText,
    documents: z.array(DOCUMENT).min(1).max(MAX_DOCUMENTS),
    top_n: z.int().min(1).nullish(),
    return_documents: z.boolean().nullish(),
    verify_tee: z.boolean().nullish(),
    provider: PROVIDER_OBJECT,
  })
  .meta({ id: "RerankRequest" });

/** A request to rank documents, reduced to what the router reads. */
export type RerankRequest = RequestFields & {
  readonly model: string;
  readonly documents: number;
  /** The number of results that the provider must return. */
  readonly results: number;
  /** The bound on the tokens of all documents, each with the query. */
  readonly prompt: PromptBound;
  /** Whether to verify the provider's signature of the answer. */
  readonly verifyTee: boolean;
  /** The preferences of its `provider` object. */
  readonly preferences: RoutingPreferences;
};

/** Reads a request to rank documents. Throws `invalid_body` naming the invalid field. */
export async function readRerankRequest(bytes: Buffer): Promise<RerankRequest> {
  const { fields, elided } = await readPromptFields(RERANK_REQUEST, bytes);
  const documents = fields.documents.length;
  return {
    model: fields.model,
    documents,
    results: Math.min(fields.top_n ?? documents, documents),
    prompt: withQueries(boundPrompt({ messages: [] }, bytes), lengthOf(fields.query), documents),
    verifyTee: fields.verify_tee ?? false,
    preferences: providerPreferences(fields.provider),
    bytes,
    fields,
    elided,
  };
}

/** The body for this provider: the client's own bytes if nothing changes. */
export function rerankBody(request: RerankRequest, provider: Provider): Buffer {
  return forwardedBody(request, upstreamModel(provider));
}

/** A model reads the query again with each document, and a token has at least one byte. */
function withQueries(body: PromptBound, queryBytes: number, documents: number): PromptBound {
  const repeated = queryBytes * (documents - 1);
  return {
    ...body,
    maxTokens: body.maxTokens + repeated,
    likelyTokens: body.likelyTokens + Math.ceil((repeated * body.likelyTokens) / body.maxTokens),
  };
}

function lengthOf(text: unknown): number {
  return text instanceof ElidedText ? text.length : Buffer.byteLength(String(text));
}

function isDocument(value: unknown): boolean {
  if (isFilledText(value)) return true;
  return typeof value === "object" && value !== null && "text" in value && isFilledText(value.text);
}

function isFilledText(value: unknown): boolean {
  return value instanceof ElidedText || (isText(value) && value !== "");
}
