import type { ServiceType } from "../../../inference/providers/provider.ts";
import { chatOf, completionsOf, messagesOf, responsesOf, tokenCountOf } from "./chat-endpoints.ts";
import type { Endpoint, Offer } from "./endpoint.ts";
import { editsOf, imagesOf, speechOf, transcriptionsOf } from "./media-endpoints.ts";
import { embeddingsOf, rankingOf } from "./search-endpoints.ts";

/** The endpoints of a provider of this service type, by their path. */
export function endpointsOf(
  offer: Offer & { readonly serviceType: ServiceType },
): ReadonlyMap<string, Endpoint> {
  const served: Readonly<Record<ServiceType, Readonly<Record<string, Endpoint>>>> = {
    chatbot: {
      "/v1/proxy/chat/completions": chatOf(offer),
      "/v1/proxy/completions": completionsOf(offer),
      "/v1/proxy/messages": messagesOf(offer),
      "/v1/proxy/messages/count_tokens": tokenCountOf(offer),
      "/v1/proxy/responses": responsesOf(offer),
    },
    "text-to-image": { "/v1/proxy/images/generations": imagesOf(offer) },
    "image-editing": { "/v1/proxy/images/edits": editsOf(offer) },
    "speech-to-text": { "/v1/proxy/audio/transcriptions": transcriptionsOf(offer) },
    embedding: { "/v1/proxy/embeddings": embeddingsOf(offer) },
    "text-to-speech": { "/v1/proxy/audio/speech": speechOf(offer) },
    rerank: { "/v1/proxy/rerank": rankingOf(offer) },
  };
  return new Map(Object.entries(served[offer.serviceType]));
}
