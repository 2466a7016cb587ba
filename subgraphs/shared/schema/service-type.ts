import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { defineEnum } from "./enumeration.ts";

/** What a provider's service does. */
export const ServiceType = defineEnum<Type>("ServiceType", "What a provider's service does.", {
  chatbot: "Answers chats with text.",
  "text-to-image": "Makes images out of text.",
  "image-editing": "Changes images by text.",
  "speech-to-text": "Writes down what is said.",
});
