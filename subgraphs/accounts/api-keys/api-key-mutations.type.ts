import "../../shared/schema/reflect.ts";
import { Field, ID, InputType, Int, ObjectType } from "type-graphql";
import type { ApiKey } from "../../../src/keys/api-keys/api-key.service.ts";
import type { EvidenceFloor, TrustFloor } from "../../../src/keys/api-keys/key-settings.ts";
import type { ResetPeriod } from "../../../src/keys/api-keys/reset-period.ts";
import { ProviderEvidence } from "../../shared/evidence-floor.ts";
import { SECRET_IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { ApiKeyType, KeyResetPeriod, KeyTrustMode } from "./api-key.type.ts";

/** A limit of a key that can be removed. */
export type KeyLimit =
  | "creditLimit"
  | "expiresAt"
  | "trustMode"
  | "providerEvidence"
  | "maxInputTokens"
  | "maxInputBytes"
  | "maxOutputTokens";

/** The limits of a key that can be removed. */
export const KeyLimitType = defineEnum<KeyLimit>("KeyLimit", "A limit of a key that can be removed.", {
  creditLimit: "The key's credit limit.",
  expiresAt: "The key's expiry.",
  trustMode: "The minimum trust mode that the key requires.",
  providerEvidence: "The proof that the key requires of a provider.",
  maxInputTokens: "The maximum number of prompt tokens.",
  maxInputBytes: "The maximum size of a request's body, in bytes.",
  maxOutputTokens: "The maximum number of output tokens of a request, over all of its answers.",
});

/** The settings of a key. Amounts and timestamps arrive as text. */
@InputType("KeySettingsInput", { description: "The settings of an `sk-` key." })
export abstract class KeySettingsInput {
  @Field(() => DateTimeScalar, { nullable: true, description: "When the key expires." })
  expiresAt?: string | null;

  @Field(() => NeuronScalar, { nullable: true, description: "The most that the key may spend per period." })
  creditLimit?: string | null;

  @Field(() => KeyResetPeriod, { nullable: true, description: "How often the key's spending is reset." })
  resetPeriod?: ResetPeriod | null;

  @Field(() => [String], {
    nullable: true,
    description: "The ids of the models that the key may use. An empty list allows all.",
  })
  allowedModels?: readonly string[] | null;

  @Field(() => [AddressScalar], {
    nullable: true,
    description: "The addresses of the providers that the key may use. An empty list allows all.",
  })
  allowedProviders?: readonly string[] | null;

  @Field(() => KeyTrustMode, {
    nullable: true,
    description: "The minimum trust mode that the key requires of a provider.",
  })
  trustMode?: TrustFloor | null;

  @Field(() => ProviderEvidence, {
    nullable: true,
    description: "The proof that the key requires of a provider.",
  })
  providerEvidence?: EvidenceFloor | null;

  @Field(() => Int, {
    nullable: true,
    description: "The maximum number of prompt tokens, as counted by the router.",
  })
  maxInputTokens?: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The maximum size of a request's body, in bytes.",
  })
  maxInputBytes?: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "The maximum number of output tokens of a request, over all of its answers. A request that asks for more is refused. A request without a limit of its own gets this one.",
  })
  maxOutputTokens?: number | null;

  @Field(() => [String], {
    nullable: true,
    description: "The names of the tools that a request may offer to the model. An empty list allows all.",
  })
  allowedTools?: readonly string[] | null;

  @Field(() => [String], {
    nullable: true,
    description:
      "The fields that a request may not contain, named as in the body of a REST request. An empty list blocks none.",
  })
  blockedParameters?: readonly string[] | null;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the signature of every answer is verified, even if the request does not ask for it.",
  })
  verifyTee?: boolean | null;
}

/** A key to create. */
@InputType("CreateApiKeyInput", {
  description: "An `sk-` key to create. A limit that is omitted is not set.",
})
export class CreateApiKeyInput extends KeySettingsInput {
  @Field(() => String, { description: "The key's name, unique among the account's active `sk-` keys." })
  name!: string;

  @Field(() => String, { nullable: true, description: SECRET_IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** Changes of a key. */
@InputType("UpdateApiKeyInput", {
  description:
    "Changes to an `sk-` key. A field that is null or omitted is left unchanged; `clear` removes a limit.",
})
export class UpdateApiKeyInput extends KeySettingsInput {
  @Field(() => ID, { description: "The key's id." })
  id!: string;

  @Field(() => String, { nullable: true, description: "The new name." })
  name?: string | null;

  @Field(() => [KeyLimitType], {
    nullable: true,
    description: "The limits to remove. None of them can be set by the same mutation.",
  })
  clear?: readonly KeyLimit[] | null;
}

/** A key to revoke. */
@InputType("RevokeApiKeyInput", { description: "An `sk-` key to revoke." })
export class RevokeApiKeyInput {
  @Field(() => ID, { description: "The key's id." })
  id!: string;
}

/** A newly created key. */
@ObjectType("CreateApiKeyPayload", {
  description: "The result of `createApiKey`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CreateApiKeyPayload extends PayloadType {
  @Field(() => String, {
    nullable: true,
    description: "The `sk-` secret. Returned only once: only its hash is stored.",
  })
  secret?: string | null;

  @Field(() => ApiKeyType, { nullable: true, description: "The created key." })
  apiKey?: ApiKey | null;
}

/** A changed key. */
@ObjectType("UpdateApiKeyPayload", {
  description: "The result of `updateApiKey`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class UpdateApiKeyPayload extends PayloadType {
  @Field(() => ApiKeyType, { nullable: true, description: "The key with its changes." })
  apiKey?: ApiKey | null;
}

/** A revoked key. */
@ObjectType("RevokeApiKeyPayload", {
  description: "The result of `revokeApiKey`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class RevokeApiKeyPayload extends PayloadType {
  @Field(() => ApiKeyType, { nullable: true, description: "The revoked key." })
  apiKey?: ApiKey | null;
}
