import { z } from "zod";
import { answerLimitOf, CHAT_SIZE_FIELDS } from "../../../inference/chat/chat-request.ts";
import { plannedChat } from "../../../inference/chat/chat-size.ts";
import {
  endpointOf,
  type Provider,
  publicUrlOf,
  SERVICE_TYPES,
  type ServiceType,
} from "../../../inference/providers/provider.ts";
import {
  CACHE_KEYS,
  FALLBACK_MODELS,
  modelsOf,
  PROVIDER_OBJECT,
  SESSION_ID,
} from "../../../inference/routing/routing-fields.ts";
import { mergePreferences } from "../../../inference/routing/routing-preferences.ts";
import { shortString } from "../../../kernel/text/characters.ts";
import { permitSpender } from "../../../keys/auth/permissions.ts";
import { defineRoute, json } from "../../route.ts";
import { routingHeaders } from "../../routing-headers.ts";
import { address } from "../../wire.ts";

const ENDPOINT = z.string().nullable().meta({
  description: "The URL that is requested. Null for a server from the operator's configuration.",
});

/**
 * POST /v1/routing/preview (facts 1.2): the providers that would be tried, in the order of failover. Nothing is
 * requested or billed. With the `messages`, `max_tokens` and `n` of a chat, providers are ranked by the cost of that
 * chat; without them, by the cost of a typical completion.
 */
export const previewRouting = defineRoute({
  method: "POST",
  url: "/v1/routing/preview",
  summary: "Preview which providers a request would be routed to",
  access: "routing.preview",
  hasFallbackModels: true,
  headers: routingHeaders,
  body: z.object({
    service_type: z.enum(SERVICE_TYPES),
    model: shortString(256).optional(),
    models: FALLBACK_MODELS,
    provider: PROVIDER_OBJECT,
    session_id: SESSION_ID,
    ...CACHE_KEYS,
    ...CHAT_SIZE_FIELDS,
  }),
  answer: {
    json: z.strictObject({
      object: z.literal("routing.preview"),
      service_type: z.enum(SERVICE_TYPES),
      providers: z.array(
        z.strictObject({ address, endpoint: ENDPOINT, canonical_id: z.string(), model_id: z.string() }),
      ),
      refused: z.array(
        z.strictObject({
          provider: address,
          reason: z.string(),
          model: z
            .string()
            .optional()
            .meta({ description: "The model of the offer; absent unless the request named several models." }),
        }),
      ),
    }),
  },
  async handle(app, { principal, body, headers }) {
    const spender = permitSpender(principal, "routing.preview");
    const { service_type: serviceType, messages } = body;
    const { model, preferences: stated } = modelsOf(body);
    const preferences = mergePreferences(stated, headers);
    const chat = plannedChat({
      messages,
      maxTokens: answerLimitOf(body),
      choices: body.n ?? undefined,
    });
    const { providers, refused } = await app.routing.preview(
      { serviceType, model: model === "" ? undefined : model, chat, promptStart: { messages } },
      preferences,
      spender,
    );
    return json({
      object: "routing.preview",
      service_type: serviceType,
      providers: providers.map(view),
      refused,
    });
  },
});

const PATHS: Readonly<Record<ServiceType, `/${string}`>> = {
  chatbot: "/chat/completions",
  "text-to-image": "/images/generations",
  "image-editing": "/images/edits",
  "speech-to-text": "/audio/transcriptions",
  embedding: "/embeddings",
  "text-to-speech": "/audio/speech",
  rerank: "/rerank",
};

function view(offer: Provider) {
  return {
    address: offer.address,
    endpoint: publicUrlOf(offer) === null ? null : endpointOf(offer, PATHS[offer.serviceType]),
    canonical_id: offer.model,
    model_id: offer.model,
  };
}
