import "../../shared/schema/reflect.ts";
import { Directive, Field, Int, ObjectType } from "type-graphql";
import type { ApiKey } from "../../../src/keys/api-keys/api-key.service.ts";
import type { EvidenceFloor, TrustFloor } from "../../../src/keys/api-keys/key-settings.ts";
import type { ResetPeriod } from "../../../src/keys/api-keys/reset-period.ts";
import { ProviderEvidence } from "../../shared/evidence-floor.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** The status of a key. */
export const KeyStatus = defineEnum<ApiKey["status"]>("KeyStatus", "The status of a key.", {
  active: "The key may be used.",
  revoked: "The key was revoked.",
  expired: "The key's `expiresAt` has passed.",
});

/** What a key may do. */
const KeyPermission = defineEnum<"inference">("KeyPermission", "What an `sk-` key may do.", {
  inference: "Run inference, which the account pays for.",
});

/** How often the spending of a key or a tag is reset. */
export const KeyResetPeriod = defineEnum<ResetPeriod>(
  "KeyResetPeriod",
  "How often the spending of a key, or of a tag with a budget, is reset.",
  {
    never: "Never.",
    daily: "Every day at midnight UTC.",
    weekly: "Every Monday at midnight UTC.",
    monthly: "On the first of every month at midnight UTC.",
  },
);

/** The lowest trust mode that a key accepts. */
export const KeyTrustMode = defineEnum<TrustFloor>(
  "KeyTrustMode",
  "The minimum trust mode that a key requires of a provider.",
  {
    verified: "Providers whose answers can be verified.",
    private: "Providers that are verified and keep requests readable only inside their enclave.",
  },
);

/** An `sk-` key, as its account sees it (SPEC 2.2). */
@Directive('@key(fields: "id")')
@ObjectType("ApiKey", {
  description: "An `sk-` key, which pays for inference from its account. Its secret cannot be read.",
  implements: NodeType,
  simpleResolvers: true,
})
export class ApiKeyType {
  @Field(() => String, { description: "The key's name." })
  name!: string;

  @Field(() => String, { description: "The beginning of the key's secret, to tell keys apart." })
  preview!: string;

  @Field(() => KeyStatus, { description: "The key's status." })
  status!: ApiKey["status"];

  @Field(() => KeyPermission, { description: "What the key may do." })
  permission!: string;

  @Field(() => DateTimeScalar, { description: "When the key was created." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, { nullable: true, description: "When the key was last used. Null if never." })
  lastUsedAt!: Date | null;

  @Field(() => DateTimeScalar, { nullable: true, description: "When the key expires. Null if never." })
  expiresAt!: Date | null;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "The most that the key may spend per period. Null for no limit.",
  })
  creditLimit!: bigint | null;

  @Field(() => NeuronScalar, {
    description:
      "The amount charged to the key in the current period. A charge counts in the period in which it is settled.",
  })
  used!: bigint;

  @Field(() => KeyResetPeriod, { description: "How often the key's spending is reset." })
  resetPeriod!: ResetPeriod;

  @Field(() => [String], {
    description: "The ids of the models that the key may use. An empty list allows all.",
  })
  allowedModels!: readonly string[];

  @Field(() => [AddressScalar], {
    description: "The addresses of the providers that the key may use. An empty list allows all.",
  })
  allowedProviders!: readonly string[];

  @Field(() => KeyTrustMode, {
    nullable: true,
    description: "The minimum trust mode that the key requires of a provider. Null accepts all.",
  })
  trustMode!: TrustFloor | null;

  @Field(() => ProviderEvidence, {
    nullable: true,
    description: "The proof that the key requires of a provider. Null requires none.",
  })
  providerEvidence!: EvidenceFloor | null;

  @Field(() => Int, {
    nullable: true,
    description: "The maximum number of prompt tokens, as counted by the router. Null for no limit.",
  })
  maxInputTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The maximum size of a request's body, in bytes. Null for no limit.",
  })
  maxInputBytes!: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "The maximum number of output tokens of a request, over all of its answers. Null for no limit.",
  })
  maxOutputTokens!: number | null;

  @Field(() => [String], {
    description: "The names of the tools that a request may offer to the model. An empty list allows all.",
  })
  allowedTools!: readonly string[];

  @Field(() => [String], {
    description: "The fields that a request may not contain, named as in the body of a REST request.",
  })
  blockedParameters!: readonly string[];

  @Field(() => Boolean, {
    description: "Whether the signature of every answer is verified.",
  })
  verifyTee!: boolean;
}

/** The global id of a key, and its raw id. */
export const ApiKeyNodeResolvers = defineNodeResolvers<ApiKey>(() => ApiKeyType, {
  name: "ApiKey",
  keyOf: ({ id }) => id,
  raw: { field: "keyId", description: "The key's id in the REST API: `key_id`." },
});

/** A list of keys. */
export const ApiKeyConnection = defineCountedConnection("ApiKey", () => ApiKeyType);
