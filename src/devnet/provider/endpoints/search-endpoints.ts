import { randomUUID } from "node:crypto";
import { embed, readEmbeddingsRequest, textOf } from "./embeddings.ts";
import { type Endpoint, notServed, type Offer, parseJson, refused, whole } from "./endpoint.ts";
import { documentsText, rank, readRankingRequest } from "./ranking.ts";

/** Embeddings of texts. */
export function embeddingsOf(offer: Offer): Endpoint {
  return async ({ body, usageJson }) => {
    const request = readEmbeddingsRequest(parseJson(body));
    if (!request) return refused("not a request for embeddings");
    if (request.model !== offer.model) return notServed(request.model);
    const tokens = await offer.countTokens([{ content: textOf(request) }]);
    return whole(
      await embed(request, usageJson ?? JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens })),
    );
  };
}

/** Documents ranked by a query. */
export function rankingOf(offer: Offer): Endpoint {
  return async ({ body, usageJson }) => {
    const request = readRankingRequest(parseJson(body));
    if (!request) return refused("not a request to rank documents");
    if (request.model !== offer.model) return notServed(request.model);
    const { query, documents } = request;
    // A model reads the query again with each document.
    const tokens =
      documents.length * (await offer.countTokens([{ content: query }])) +
      (await offer.countTokens([{ content: documentsText(request) }]));
    const usage = usageJson ?? JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens });
    const ranking = { id: `rerank-${randomUUID()}`, model: request.model, results: rank(request) };
    return whole(`${JSON.stringify(ranking).slice(0, -1)},"usage":${usage}}`);
  };
}
