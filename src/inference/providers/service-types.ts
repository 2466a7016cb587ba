import { type Provider, SERVICE_TYPES, type ServiceType } from "./provider.ts";

/** A type of service, its name for people, and the number of registered providers that offer it. */
export type ServiceTypeCount = {
  readonly type: ServiceType;
  readonly label: string;
  readonly providerCount: number;
};

const LABELS: Readonly<Record<ServiceType, string>> = {
  chatbot: "Chat",
  "text-to-image": "Text to image",
  "image-editing": "Image editing",
  "speech-to-text": "Speech to text",
  embedding: "Embeddings",
  "text-to-speech": "Text to speech",
  rerank: "Reranking",
};

/** The modalities of a service whose provider does not state any. */
const MODALITIES: Readonly<Record<ServiceType, { readonly input: string[]; readonly output: string[] }>> = {
  chatbot: { input: ["text"], output: ["text"] },
  "text-to-image": { input: ["text"], output: ["image"] },
  "image-editing": { input: ["text", "image"], output: ["image"] },
  "speech-to-text": { input: ["audio"], output: ["text"] },
  embedding: { input: ["text"], output: ["embedding"] },
  "text-to-speech": { input: ["text"], output: ["audio"] },
  rerank: { input: ["text"], output: ["ranking"] },
};

/** Every type of service, in the order of the registry, with the number of its providers among these. */
export function countServiceTypes(providers: readonly Provider[]): readonly ServiceTypeCount[] {
  return SERVICE_TYPES.map((type) => ({
    type,
    label: LABELS[type],
    providerCount: providers.filter(({ serviceType }) => serviceType === type).length,
  }));
}

/** The input modalities of an offer: those that its provider states, otherwise those of its service. */
export function inputModalities({ profile, serviceType }: Provider): readonly string[] {
  return profile.inputModalities ?? MODALITIES[serviceType].input;
}

/** Whether an offer accepts all of these input modalities. */
export function acceptsInput(offer: Provider, modalities: readonly string[]): boolean {
  const known = inputModalities(offer);
  return modalities.every((modality) => known.includes(modality));
}

/** The output modalities of an offer, like `inputModalities`. */
export function outputModalities({ profile, serviceType }: Provider): readonly string[] {
  return profile.outputModalities ?? MODALITIES[serviceType].output;
}
