import { z } from "zod";
import { EMBEDDINGS_REQUEST, readEmbeddingsRequest } from "../../inference/embeddings/embeddings-request.ts";
import { callerOf, inferenceBytes } from "../inference-call.ts";
import { defineRoute } from "../route.ts";
import { routingHeaders } from "../routing-headers.ts";
import { count, trace, usageCost } from "../wire.ts";

const EMBEDDINGS = z
  .looseObject({
    object: z.literal("list").optional(),
    model: z.string().optional(),
    data: z.array(z.looseObject({ embedding: z.union([z.array(z.number()), z.string()]) })),
    usage: z.looseObject({ prompt_tokens: count, ...usageCost }),
    x_0g_trace: trace,
  })
  .meta({ id: "Embeddings" });

/** POST /v1/embeddings: OpenAI's embeddings, one vector for each input. Beyond SPEC (schema/choices.md). */
export const createEmbeddings = defineRoute({
  method: "POST",
  url: "/v1/embeddings",
  summary: "Create embeddings",
  access: "inference.run",
  isAdmitted: true,
  isCached: true,
  headers: routingHeaders,
  body: "bytes",
  bodies: { "application/json": EMBEDDINGS_REQUEST },
  answer: { json: EMBEDDINGS },
  takesPrompt: true,
  repetition: "billed",
  async handle(app, call) {
    const { body, signal, headers: preferences } = call;
    const caller = callerOf(call);
    const request = await readEmbeddingsRequest(body);
    return inferenceBytes(await app.embeddings.create(request, caller, { signal, preferences }));
  },
});
