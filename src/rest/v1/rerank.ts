import { z } from "zod";
import { RERANK_REQUEST, readRerankRequest } from "../../inference/rerank/rerank-request.ts";
import { callerOf, inferenceBytes } from "../inference-call.ts";
import { defineRoute } from "../route.ts";
import { routingHeaders } from "../routing-headers.ts";
import { count, trace, usageCost } from "../wire.ts";

const RANKING = z
  .looseObject({
    id: z.string().optional(),
    model: z.string().optional(),
    results: z.array(z.looseObject({ index: count, relevance_score: z.number() })),
    usage: z
      .looseObject({ prompt_tokens: count.optional(), total_tokens: count.optional(), ...usageCost })
      .optional(),
    x_0g_trace: trace,
  })
  .meta({ id: "Ranking" });

/** POST /v1/rerank: documents by their relevance to a query, in Cohere's shape. Beyond SPEC (schema/choices.md). */
export const rerankDocuments = defineRoute({
  method: "POST",
  url: "/v1/rerank",
  summary: "Rank documents by a query",
  access: "inference.run",
  isAdmitted: true,
  isCached: true,
  headers: routingHeaders,
  body: "bytes",
  bodies: { "application/json": RERANK_REQUEST },
  answer: { json: RANKING },
  takesPrompt: true,
  repetition: "billed",
  async handle(app, call) {
    const { body, signal, headers: preferences } = call;
    const caller = callerOf(call);
    const request = await readRerankRequest(body);
    return inferenceBytes(await app.rerank.rank(request, caller, { signal, preferences }));
  },
});
