import { defineEntity, p } from "@mikro-orm/core";
import type { Tags } from "../../accounts/tags/tags.ts";
import { NeuronType } from "../../db/neuron.type.ts";
import type { Routing } from "../billing/ending.ts";

const neuron = () => p.type(NeuronType).$type<bigint>();

const schema = defineEntity({
  name: "InferenceRequest",
  tableName: "inference_request",
  properties: {
    id: p.text().primary(),
    account: p.text(),
    apiKeyId: p.uuid().nullable(),
    model: p.text(),
    provider: p.text(),
    serviceType: p.text(),
    status: p.text().$type<"running" | "completed" | "failed" | "aborted">(),
    inputPrice: neuron(),
    outputPrice: neuron(),
    inputTokens: p.bigint("number").nullable(),
    outputTokens: p.bigint("number").nullable(),
    cachedTokens: p.bigint("number"),
    cacheWriteTokens: p.bigint("number"),
    cacheWrite1hTokens: p.bigint("number").fieldName("cache_write_1h_tokens"),
    usageEstimated: p.boolean(),
    inputCost: neuron().nullable(),
    outputCost: neuron().nullable(),
    totalCost: neuron().nullable(),
    units: p.bigint("number").nullable(),
    routing: p.json<Routing>().nullable(),
    tags: p.json<Tags>().nullable(),
    errorCode: p.text().nullable(),
    firstByteMs: p.integer().nullable(),
    durationMs: p.integer().nullable(),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
  },
});

/**
 * An admitted request and its outcome. Written only by the statements of `src/accounts/allotments`,
 * `holds.store.ts` and `settlements.store.ts`.
 */
export class InferenceRequestRow extends schema.class {}
schema.setClass(InferenceRequestRow);
