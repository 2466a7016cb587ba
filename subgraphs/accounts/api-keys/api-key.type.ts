import "../../shared/schema/reflect.ts";
import { ArgsType, Directive, Field, ID, ObjectType } from "type-graphql";
import type { ApiKey } from "../../../src/keys/api-keys/api-key.service.ts";
import type { TrustFloor } from "../../../src/keys/api-keys/key-settings.ts";
import type { ResetPeriod } from "../../../src/keys/api-keys/reset-period.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** Whether a key may be used. */
export const KeyStatus = defineEnum<ApiKey["status"]>("KeyStatus", "Whether a key may be used.", {
  active: "It may be used.",
  revoked: "It was ended for good.",
  expired: "Its time is over.",
});

/** How often a key's spending starts from nothing. */
const KeyResetPeriod = defineEnum<ResetPeriod>(
  "KeyResetPeriod",
  "How often a key's spending starts from nothing.",
  {
    never: "Not at all.",
    daily: "At midnight, UTC.",
    weekly: "On Monday at midnight, UTC.",
    monthly: "On the first of the month at midnight, UTC.",
  },
);

/** The least trust that a key asks of providers. */
const KeyTrustMode = defineEnum<TrustFloor>("KeyTrustMode", "The least trust that a key asks of providers.", {
  verified: "Their answers can be verified.",
  private: "What is sent to them is private to their enclave, too.",
});

/** A limit of a key that can be taken away. */
export type KeyLimit = "creditLimit" | "expiresAt" | "trustMode";

/** The limits of a key that can be taken away. */
export const KeyLimitType = defineEnum<KeyLimit>("KeyLimit", "A limit of a key that can be taken away.", {
  creditLimit: "How much it may spend.",
  expiresAt: "How long it may be used.",
  trustMode: "How far its providers must be trusted.",
});

/** An `sk-` key, as its account sees it (SPEC 2.2). */
@Directive('@key(fields: "id")')
@ObjectType("ApiKey", {
  description: "An `sk-` key, which pays for inference out of its account. Its secret is never readable.",
  simpleResolvers: true,
})
export class ApiKeyType {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => String, { description: "What its holder calls it." })
  name!: string;

  @Field(() => String, { description: "The beginning of its secret, to tell keys apart." })
  preview!: string;

  @Field(() => KeyStatus, { description: "Whether it may be used." })
  status!: ApiKey["status"];

  @Field(() => String, { description: "What it may be used for: `inference`." })
  permission!: string;

  @Field(() => DateTimeScalar, { description: "When it was made." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, { nullable: true, description: "When it was last used, null if never." })
  lastUsedAt!: Date | null;

  @Field(() => DateTimeScalar, { nullable: true, description: "When it ends by itself, null if never." })
  expiresAt!: Date | null;

  @Field(() => NeuronScalar, {
    nullable: true,
    description: "The most that it may spend in a period, null if there is no limit.",
  })
  creditLimit!: bigint | null;

  @Field(() => NeuronScalar, { description: "What it was charged in the present period." })
  used!: bigint;

  @Field(() => KeyResetPeriod, { description: "How often its spending starts from nothing." })
  resetPeriod!: ResetPeriod;

  @Field(() => [String], { description: "The ids of the models that it may use; none listed means all." })
  allowedModels!: readonly string[];

  @Field(() => [AddressScalar], { description: "The providers that it may use; none listed means all." })
  allowedProviders!: readonly string[];

  @Field(() => KeyTrustMode, {
    nullable: true,
    description: "The least trust that it asks of providers, null if none.",
  })
  trustMode!: TrustFloor | null;
}

/** A list of keys. */
export const ApiKeyConnection = defineConnection("ApiKey", () => ApiKeyType);

/** A key that was just made. */
@ObjectType("CreatedApiKey", {
  description: "An `sk-` key that was just made, with its secret.",
  simpleResolvers: true,
})
export class CreatedApiKeyType {
  @Field(() => String, { description: "The `sk-` secret. It is shown this once: only its hash is kept." })
  secret!: string;

  @Field(() => ApiKeyType, { description: "The key." })
  apiKey!: ApiKey;
}

/** What may be decided about a key. Amounts and moments come as text. */
@ArgsType()
export class KeySettingsArgs {
  @Field(() => DateTimeScalar, { nullable: true, description: "When it ends by itself." })
  expiresAt!: string | null | undefined;

  @Field(() => NeuronScalar, { nullable: true, description: "The most that it may spend in a period." })
  creditLimit!: string | null | undefined;

  @Field(() => KeyResetPeriod, { nullable: true, description: "How often its spending starts from nothing." })
  resetPeriod!: ResetPeriod | null | undefined;

  @Field(() => [String], {
    nullable: true,
    description: "The ids of the models that it may use; an empty list means all.",
  })
  allowedModels!: readonly string[] | null | undefined;

  @Field(() => [AddressScalar], {
    nullable: true,
    description: "The providers that it may use; an empty list means all.",
  })
  allowedProviders!: readonly string[] | null | undefined;

  @Field(() => KeyTrustMode, { nullable: true, description: "The least trust that it asks of providers." })
  trustMode!: TrustFloor | null | undefined;
}
