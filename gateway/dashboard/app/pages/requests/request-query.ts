import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";

/** Everything that is stored of a request. */
export const REQUEST = graphql(`
  query Request($id: ID!) {
    request(id: $id) {
      requestId createdAt finishedAt status serviceType modelId inputTokens outputTokens cachedTokens
      cacheWriteTokens cacheWrite1hTokens usageEstimated errorCode cachedFrom
      tags { name value }
      prices { input output }
      cost { input output total cacheSaving }
      providerAddress
      provider {
        url trustMode verifiability onChain { inputPrice outputPrice teeSigner teeAcknowledged }
        attestation { passed quote failures checkedAt }
      }
      timing { receivedMs admittedMs firstByteMs durationMs }
      apiKey { name preview }
      routing {
        attempts { providerAddress modelId outcome reason status startMs durationMs }
        excluded { providerAddress modelId reason }
        cachedByAddress
      }
      evidence { verdict signer expectedSigner requestBound responseBound checkedAt }
    }
  }
`);

export type Request = NonNullable<ResultOf<typeof REQUEST>["request"]>;
export type Routing = NonNullable<Request["routing"]>;
