import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";

/** A page of the models. */
export const MODELS = graphql(`
  query Models($after: Cursor) {
    models(first: 50, after: $after) {
      nodes {
        modelId name serviceType pricing { input output }
        profile { contextLength description inputModalities outputModalities }
        recentHealth { requestCount failedCount p50Ms }
        providers {
          id address trustMode verifiability attestation { passed } health { latencyMs uptimePercent }
        }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

export const MODEL = graphql(`
  query Model($id: ID!) {
    model(id: $id) {
      modelId name serviceType supportedFormats updatedAt pricing { input output }
      recentHealth { requestCount failedCount p50Ms }
      profile { contextLength maxCompletionTokens description inputModalities outputModalities supportedParameters }
      providers {
        id address trustMode verifiability attestation { passed } routable pricing { input output cachedInput }
        health { circuit latencyMs uptimePercent inFlight }
        recentHealth { requestCount failedCount p50Ms }
        healthHistory { startsAt requestCount failedCount }
      }
    }
  }
`);

export type CatalogueModel = NonNullable<ResultOf<typeof MODELS>["models"]>["nodes"][number];
export type ModelDetails = NonNullable<ResultOf<typeof MODEL>["model"]>;
