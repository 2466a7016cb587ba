import type { ResultOf } from "gql.tada";
import { client, graphql } from "../../data/query/graph.ts";

const MODELS = graphql(`
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

/** A catalogue of more models is cut: the page says so. */
const MAX_PAGES = 10;

/** All models, at most 500, page by page. Throws the error of the graph. */
export async function loadModels(): Promise<{ models: readonly CatalogueModel[]; isCut: boolean }> {
  const models: CatalogueModel[] = [];
  let after: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { data, error }: { data?: ResultOf<typeof MODELS>; error?: unknown } = await client
      .query(MODELS, { after }, { requestPolicy: "network-only" })
      .toPromise();
    if (!data?.models) throw error;
    models.push(...data.models.nodes);
    after = data.models.pageInfo.endCursor;
    if (!data.models.pageInfo.hasNextPage) return { models, isCut: false };
  }
  return { models, isCut: true };
}
