import { defineEntity, p } from "@mikro-orm/core";
import { NeuronType } from "../../db/neuron.type.ts";
import { keyProperties } from "../shared/key.row.ts";
import type { EvidenceFloor, TrustFloor } from "./key-settings.ts";
import type { ResetPeriod } from "./reset-period.ts";

const neuron = () => p.type(NeuronType).$type<bigint>();

const schema = defineEntity({
  name: "ApiKey",
  tableName: "api_key",
  properties: {
    ...keyProperties(),
    permission: p.text(),
    expiresAt: p.datetime().nullable(),
    creditLimit: neuron().nullable(),
    resetPeriod: p.text().$type<ResetPeriod>(),
    allowedModels: p.json<readonly string[]>(),
    allowedProviders: p.json<readonly string[]>(),
    trustMode: p.text().$type<TrustFloor>().nullable(),
    providerEvidence: p.text().$type<EvidenceFloor>().nullable(),
    maxInputTokens: p.integer().nullable(),
    maxInputBytes: p.integer().nullable(),
    maxOutputTokens: p.integer().nullable(),
    allowedTools: p.json<readonly string[]>(),
    blockedParameters: p.json<readonly string[]>(),
    verifyTee: p.boolean(),
    termsVersion: p.integer(),
    used: neuron(),
    spentAt: p.datetime().nullable(),
  },
});

/** A stored `sk-` key, with only the SHA-256 of its secret (SPEC 2.2). The ledger writes `used` and `spentAt`. */
export class ApiKeyRow extends schema.class {}
schema.setClass(ApiKeyRow);
