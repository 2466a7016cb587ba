import { z } from "zod";
import { type Provider, SERVICE_TYPES, trustModeOf } from "../../inference/provider.ts";
import { defineRoute, json } from "../route.ts";

/** GET /v1/providers (facts 1.3): every offer, by its on-chain row. `model` and `model_id` are one filter. */
export const listProviders = defineRoute({
  method: "GET",
  url: "/v1/providers",
  summary: "List the providers",
  access: "public",
  query: z.object({
    service_type: z.enum(SERVICE_TYPES).optional(),
    model: z.string().optional(),
    model_id: z.string().optional(),
    canonical_id: z.string().optional(),
  }),
  async handle(app, { query }) {
    const model = query.model ?? query.model_id ?? query.canonical_id;
    const wanted = app.catalogue
      .providers()
      .filter((offer) => query.service_type === undefined || offer.serviceType === query.service_type)
      .filter((offer) => model === undefined || offer.model === model);
    return json({ object: "list", data: wanted.map(view) });
  },
});

function view(offer: Provider) {
  return {
    address: offer.address,
    service_type: offer.serviceType,
    model_id: offer.model,
    canonical_id: offer.model,
    name: offer.model,
    is_healthy: null,
    latency: null,
    uptime: null,
    pricing: { prompt: String(offer.inputPrice), completion: String(offer.outputPrice) },
    supported_formats: ["openai"],
    tee_acknowledged: offer.teeAcknowledged,
    verifiability: offer.verifiability,
    trust_mode: trustModeOf(offer),
  };
}
