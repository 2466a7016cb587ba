import { z } from "zod";
import type { App } from "../../app.ts";
import {
  displayName,
  isAttested,
  isRoutable,
  type Provider,
  publicUrlOf,
  SERVICE_TYPES,
  type TrustMode,
  trustModeOf,
} from "../../inference/providers/provider.ts";
import type { Usd } from "../../inference/routing/routing-preferences.ts";
import { defineRoute, json, listOf } from "../route.ts";
import { address } from "../wire.ts";
import { PROFILE_FIELDS, viewProfile } from "./offer-view.ts";

const PROVIDER = z
  .strictObject({
    address,
    service_type: z.enum(SERVICE_TYPES),
    type: z.enum(SERVICE_TYPES),
    model_id: z.string(),
    canonical_id: z.string(),
    name: z.string(),
    is_healthy: z.boolean().nullable().meta({ description: "Null before the provider's first request." }),
    latency: z.number().nullable().meta({ description: "Average time to the first byte, in milliseconds." }),
    uptime: z.number().nullable().meta({ description: "Percentage of recent requests that succeeded." }),
    ...PROFILE_FIELDS,
    tee_acknowledged: z.boolean(),
    tee_attested: z.boolean(),
    trust_mode: z.enum(["standard", "verified", "private"] satisfies TrustMode[]),
    provider_name: z.string().optional(),
    provider_country: z.string().optional(),
    serving_domain: z.string().optional().meta({
      description: "The host of the provider's URL. Absent for a server from the operator's configuration.",
    }),
  })
  .meta({ id: "Provider" });

const PERCENT = 100;
const MAX_MODEL_ID_CHARACTERS = 256;
const modelId = z.string().max(MAX_MODEL_ID_CHARACTERS);

/** GET /v1/providers (facts 1.3): every offer. `model` and `model_id` are one filter. */
export const listProviders = defineRoute({
  method: "GET",
  url: "/v1/providers",
  summary: "List the providers",
  access: "public",
  query: z.object({
    service_type: z.enum(SERVICE_TYPES).optional(),
    model: modelId.optional(),
    model_id: modelId.optional(),
    canonical_id: modelId.optional(),
  }),
  answer: { json: z.strictObject(listOf(PROVIDER)) },
  async handle(app, { query }) {
    const models = [query.model, query.model_id, query.canonical_id].filter((id) => id !== undefined);
    const wanted = app.catalogue
      .providers()
      .filter((offer) => query.service_type === undefined || offer.serviceType === query.service_type)
      .filter((offer) => models.every((id) => offer.model === id));
    const tokenUsd = app.tokenPrice.known();
    return json({ object: "list", data: wanted.map((offer) => view(app, offer, tokenUsd)) });
  },
});

function view(app: App, offer: Provider, tokenUsd: Usd | undefined) {
  const { circuit, isResting, latencyMs, uptime } = app.health.of(offer);
  const isKnown = uptime !== undefined;
  return {
    address: offer.address,
    service_type: offer.serviceType,
    type: offer.serviceType,
    model_id: offer.model,
    canonical_id: offer.model,
    name: displayName(offer),
    is_healthy: !isRoutable(offer) ? false : isKnown ? circuit === "closed" && !isResting : null,
    latency: latencyMs === undefined ? null : Math.round(latencyMs),
    uptime: isKnown ? Math.round(uptime * PERCENT * PERCENT) / PERCENT : null,
    ...viewProfile(offer, tokenUsd),
    tee_acknowledged: offer.teeAcknowledged,
    tee_attested: isAttested(offer),
    trust_mode: trustModeOf(offer),
    provider_name: offer.profile.providerName,
    provider_country: offer.profile.providerCountry,
    serving_domain: URL.parse(publicUrlOf(offer) ?? "")?.hostname,
  };
}
