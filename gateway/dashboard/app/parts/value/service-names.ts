/** The types of services by their names, the same on every page. */
export const SERVICES = {
  CHATBOT: "Chat",
  TEXT_TO_IMAGE: "Images",
  IMAGE_EDITING: "Image editing",
  SPEECH_TO_TEXT: "Speech to text",
  TEXT_TO_SPEECH: "Text to speech",
  EMBEDDING: "Embeddings",
  RERANK: "Rerank",
} as const;

/** The name of a type of service; of one that this page does not know yet, the type itself. */
export function serviceText(serviceType: string): string {
  return Object.hasOwn(SERVICES, serviceType) ? SERVICES[serviceType as keyof typeof SERVICES] : serviceType;
}
