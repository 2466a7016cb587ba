import { z } from "zod";
import { SERVICE_TYPES, type ServiceType } from "../../inference/providers/provider.ts";
import { defineRoute, json, listOf } from "../route.ts";

const LABELS: Readonly<Record<ServiceType, string>> = {
  chatbot: "Chat",
  "text-to-image": "Text to image",
  "image-editing": "Image editing",
  "speech-to-text": "Speech to text",
  embedding: "Embeddings",
};

/** GET /v1/service-types (facts 1.3): the types of service, and the number of providers of each. */
export const listServiceTypes = defineRoute({
  method: "GET",
  url: "/v1/service-types",
  summary: "List the service types",
  access: "public",
  answer: {
    json: z.strictObject(
      listOf(z.strictObject({ type: z.enum(SERVICE_TYPES), label: z.string(), provider_count: z.int() })),
    ),
  },
  async handle(app) {
    const providers = app.catalogue.providers();
    const data = SERVICE_TYPES.map((type) => ({
      type,
      label: LABELS[type],
      provider_count: providers.filter(({ serviceType }) => serviceType === type).length,
    }));
    return json({ object: "list", data });
  },
});
