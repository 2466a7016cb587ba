import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { defineEnum } from "./enumeration.ts";

/** The type of a provider's service. */
export const ServiceType = defineEnum<Type>("ServiceType", "The type of a provider's service.", {
  chatbot: "Chat completion.",
  "text-to-image": "Image generation from text.",
  "image-editing": "Image editing from text.",
  "speech-to-text": "Audio transcription.",
  embedding: "Embeddings of texts.",
  "text-to-speech": "Speech from text.",
  rerank: "Ranking of documents by a query.",
});
