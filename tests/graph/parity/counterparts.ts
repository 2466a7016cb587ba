/** Why the graph has no counterpart of a part of REST. */
export type Reason = { readonly reason: string };

/** The counterpart of a member: a coordinate of the graph such as `Model.name`, or the reason that there is none. */
export type Counterpart = string | Reason;

/** What the graph has of an endpoint of REST. */
export type Parity =
  | Reason
  | {
      /** The root fields, or fields of an entity, that do what the endpoint does. */
      readonly fields: readonly string[];
      /** Types and inputs in which members have their REST name in camel case. */
      readonly types?: readonly string[];
      /** Members with other names, by their dotted path, of requests and answers. */
      readonly members?: Readonly<Record<string, Counterpart>>;
    };

/** Names the reason that the graph lacks something. */
export function no(reason: string): Reason {
  return { reason };
}

/** Members that are in REST only because OpenRouter's clients require them. */
export function openRouterOnly(names: readonly string[]): Readonly<Record<string, Reason>> {
  return Object.fromEntries(names.map((name) => [name, no("required by OpenRouter's clients")]));
}

/** The members of a page of a list of the graph. */
export const page = (list: string) => ({
  limit: `${list}(first)`,
  cursor: `${list}(after)`,
  next_cursor: "PageInfo.endCursor",
});
/** Members of the envelope around every answer of the storage endpoints. */
export const ENVELOPE = {
  code: no("the envelope of storage nodes; the graph has data and errors"),
  message: no("the envelope of storage nodes; the graph has data and errors"),
};

/** Members that mean the same at every endpoint. A path with dots is one member, a name alone any member so named. */
export const EVERYWHERE: Readonly<Record<string, Counterpart>> = {
  "x_0g_trace.request_id": "InferenceBill.requestId",
  "x_0g_trace.provider": "InferenceBill.providerAddress",
  "x_0g_trace.model": "InferenceBill.modelId",
  models: "RoutingInput.fallbackModels",
  session_id: "RoutingInput.sessionId",
  "x_0g_trace.billing.input_cost": "Cost.input",
  "x_0g_trace.billing.output_cost": "Cost.output",
  "x_0g_trace.billing.total_cost": "Cost.total",
  "x_0g_trace.billing.cache_saving": "Cost.cacheSaving",
  "x_0g_trace.cached_from": "InferenceBill.cachedFrom",
  "x_0g_trace.tee_verified": "InferenceBill.teeVerified",
  "x_0g_trace.tee_evidence.verdict": "TeeEvidence.verdict",
  "x_0g_trace.tee_evidence.form": "TeeEvidence.form",
  "x_0g_trace.tee_evidence.request_bound": "TeeEvidence.requestBound",
  "x_0g_trace.tee_evidence.response_bound": "TeeEvidence.responseBound",
  "x_0g_trace.error.message": "InferenceBill.unproven",
  "x_0g_trace.error.code": no("always evidence_missing, which `unproven` implies"),
  "x_0g_trace.error.type": no("always the type of evidence_missing"),
  "usage.cost": "Cost.total",
  "usage.cost_usd": no("the same at the price of the token; amounts of the graph are in neuron"),
  "provider.sort": "RoutingInput.sort",
  "provider.address": "RoutingInput.provider",
  "provider.order": "RoutingInput.order",
  "provider.only": "RoutingInput.only",
  "provider.ignore": "RoutingInput.ignore",
  "provider.allow_fallbacks": "RoutingInput.allowFallbacks",
  "provider.trust_mode": "RoutingInput.trustMode",
  "provider.evidence": "RoutingInput.evidence",
  "provider.max_price.prompt": "RoutingInput.maxPriceUsdPrompt",
  "provider.max_price.completion": "RoutingInput.maxPriceUsdCompletion",
  "provider.max_price.image": "RoutingInput.maxPriceUsdImage",
  object: no("names the kind of a JSON object; the graph has types"),
  currency: no("amounts of the graph are in neuron"),
  canonical_id: no("always equal to model_id"),
};

/** Headers of REST, by name in lower case; routing headers begin with `x-0g-provider-`. */
export const HEADERS: Readonly<Record<string, Counterpart>> = {
  "idempotency-key": "CompleteChatInput.idempotencyKey",
  "x-0g-cache": "CompleteChatInput.cacheSeconds",
  "anthropic-version": no("the shape of Anthropic's clients, which have no GraphQL"),
  "x-request-id": no("the router generates the id of each request, and the bill names it"),
  "x-tag": "CompleteChatInput.tags",
  "x-0g-provider-sort": "RoutingInput.sort",
  "x-0g-provider-address": "RoutingInput.provider",
  "x-0g-provider-order": "RoutingInput.order",
  "x-0g-provider-only": "RoutingInput.only",
  "x-0g-provider-ignore": "RoutingInput.ignore",
  "x-0g-provider-trust-mode": "RoutingInput.trustMode",
  "x-0g-provider-evidence": "RoutingInput.evidence",
  "x-0g-provider-allow-fallbacks": "RoutingInput.allowFallbacks",
  "x-0g-provider-fallback-models": "RoutingInput.fallbackModels",
  "x-0g-provider-max-price-usd-prompt": "RoutingInput.maxPriceUsdPrompt",
  "x-0g-provider-max-price-usd-completion": "RoutingInput.maxPriceUsdCompletion",
  "x-0g-provider-max-price-usd-image": "RoutingInput.maxPriceUsdImage",
  "x-session-id": "RoutingInput.sessionId",
};
