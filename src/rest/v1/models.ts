import type { Model } from "../../inference/provider.ts";
import { defineRoute, json } from "../route.ts";

/** GET /v1/models (SPEC 4.1, facts 1.3): every model on offer, priced by its cheapest provider. */
export const listModels = defineRoute({
  method: "GET",
  url: "/v1/models",
  summary: "List the models",
  access: "public",
  async handle(app) {
    return json({ object: "list", data: app.catalogue.models().map(view) });
  },
});

function view(model: Model) {
  const cheapest = model.providers[0];
  const newest = Math.max(...model.providers.map(({ updatedAt }) => updatedAt.getTime()));
  return {
    id: model.id,
    object: "model",
    created: Math.floor(newest / 1_000),
    owned_by: "0G Foundation",
    name: model.id,
    type: model.serviceType,
    supported_formats: ["openai"],
    pricing: {
      prompt: String(cheapest?.inputPrice ?? 0n),
      completion: String(cheapest?.outputPrice ?? 0n),
    },
    provider_count: model.providers.length,
    verifiability: cheapest?.verifiability ?? "",
  };
}
