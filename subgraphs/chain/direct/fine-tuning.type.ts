import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type {
  Deliverable,
  FineTuningAccount,
  FineTuningOffer,
} from "../../../src/chain/direct/fine-tuning.service.ts";
import type {
  FineTuningContract,
  FineTuningVersion as Version,
} from "../../../src/chain/direct/fine-tuning-contracts.ts";
import { defineConnection, defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import {
  AddressScalar,
  BigIntScalar,
  DateTimeScalar,
  HexScalar,
  NeuronScalar,
} from "../../shared/schema/scalars.ts";
import { ProviderStub } from "../provider.stub.ts";

/** The versions of the fine-tuning contract. */
export const FineTuningVersion = defineEnum<Version>(
  "FineTuningVersion",
  "The versions of the fine-tuning contract.",
  {
    "v1.1": "The current version on the testnet.",
    "v1.0":
      "The older version: the only one on the mainnet, and on the testnet for history before 2026-02-12.",
  },
);

/** A deployed version of the fine-tuning contract. The rest of its fields are resolved. */
@ObjectType("FineTuning", {
  description:
    "A deployed version of the fine-tuning contract. Fine-tuning is only available on the direct path.",
  simpleResolvers: true,
})
export class FineTuningType implements FineTuningContract {
  @Field(() => FineTuningVersion, { description: "The version." })
  version!: Version;

  @Field(() => AddressScalar, { description: "The address of the contract." })
  address!: FineTuningContract["address"];

  @Field(() => Boolean, {
    name: "current",
    simple: false,
    description: "Whether new tasks use this version.",
  })
  isCurrent!: boolean;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "Start of the history in this contract. Null if unbounded.",
  })
  since!: Date | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "End of the history in this contract, exclusive. Null if unbounded.",
  })
  until!: Date | null;
}

/** The machine that a fine-tuning service provides. */
@ObjectType("FineTuningQuota", {
  description: "The machine that a fine-tuning service provides, as the provider declares it.",
  simpleResolvers: true,
})
export class FineTuningQuotaType {
  @Field(() => BigIntScalar, { description: "The number of CPUs." })
  cpuCount!: bigint;

  @Field(() => BigIntScalar, { description: "The memory, in the provider's own unit." })
  nodeMemory!: bigint;

  @Field(() => BigIntScalar, { description: "The number of GPUs." })
  gpuCount!: bigint;

  @Field(() => BigIntScalar, { description: "The storage, in the provider's own unit." })
  nodeStorage!: bigint;

  @Field(() => String, { description: "The type of GPU." })
  gpuType!: string;
}

/** A fine-tuning service of a provider. */
@ObjectType("FineTuningService", {
  description: "A provider's row in the fine-tuning registry on chain.",
  simpleResolvers: true,
})
export class FineTuningServiceType implements Omit<FineTuningOffer, "provider"> {
  @Field(() => AddressScalar, { description: "The provider's address." })
  providerAddress!: string;

  @Field(() => ProviderStub, {
    nullable: true,
    description: "The provider. Null if the router does not know it.",
  })
  provider!: ProviderStub;

  @Field(() => String, { description: "The URL of the service." })
  url!: string;

  @Field(() => FineTuningQuotaType, { description: "The machine that the service provides." })
  quota!: FineTuningQuotaType;

  @Field(() => NeuronScalar, { description: "The price of processing one token of the model in training." })
  pricePerToken!: bigint;

  @Field(() => Boolean, { description: "Whether the service is busy with a task." })
  occupied!: boolean;

  @Field(() => [String], { description: "The models that the service can fine-tune." })
  models!: readonly string[];

  @Field(() => AddressScalar, { description: "The address of the signer in the provider's enclave." })
  teeSigner!: FineTuningOffer["teeSigner"];

  @Field(() => Boolean, { description: "Whether the registry's owner acknowledged the signer." })
  teeAcknowledged!: boolean;
}

/** A list of fine-tuning services. */
export const FineTuningServiceConnection = defineCountedConnection(
  "FineTuningService",
  () => FineTuningServiceType,
);

/** A sub-account with a provider of fine-tuning. The rest of its fields are resolved. */
@ObjectType("FineTuningAccount", {
  description: "An account's funds and models with one provider of fine-tuning.",
  simpleResolvers: true,
})
export class FineTuningAccountType implements Omit<FineTuningAccount, "provider"> {
  /** The owner of the sub-account, and its contract. */
  user!: FineTuningAccount["user"];
  contract!: FineTuningContract;

  @Field(() => AddressScalar, { description: "The provider's address." })
  providerAddress!: FineTuningAccount["provider"];

  @Field(() => ProviderStub, {
    nullable: true,
    description: "The provider. Null if the router does not know it.",
  })
  provider!: ProviderStub;

  @Field(() => NeuronScalar, { description: "The balance of the sub-account, including pending refunds." })
  balance!: bigint;

  @Field(() => NeuronScalar, { description: "The sum of pending refunds." })
  pendingRefund!: bigint;

  @Field(() => NeuronScalar, {
    description: "The amount that tasks can use: the balance minus pending refunds.",
  })
  spendable!: bigint;

  @Field(() => Boolean, { description: "Whether the account acknowledged the provider's signer." })
  acknowledged!: boolean;

  @Field(() => BigIntScalar, { description: "The highest settlement nonce so far." })
  nonce!: bigint;

  @Field(() => BigIntScalar, {
    name: "deliverableCount",
    simple: false,
    description: "The number of the sub-account's models in the contract.",
  })
  deliverablesCount!: bigint;
}

/** A list of sub-accounts of fine-tuning. */
export const FineTuningAccountConnection = defineConnection("FineTuningAccount", () => FineTuningAccountType);

/** A delivered trained model. */
@ObjectType("Deliverable", {
  description: "A trained model delivered by a provider.",
  simpleResolvers: true,
})
export class DeliverableType implements Deliverable {
  @Field(() => String, {
    name: "deliverableId",
    simple: false,
    description: "The deliverable's id, assigned by the provider.",
  })
  id!: string;

  @Field(() => HexScalar, {
    description:
      "The merkle root of the encrypted model's file, as the provider wrote it. The contract does not require it to be a hash.",
  })
  modelRoot!: Deliverable["modelRoot"];

  @Field(() => HexScalar, {
    description: "The model's key, sealed for the account. Empty until the fee is settled.",
  })
  encryptedSecret!: Deliverable["encryptedSecret"];

  @Field(() => Boolean, { description: "Whether the account acknowledged the model." })
  acknowledged!: boolean;

  @Field(() => Boolean, { description: "Whether the fee is settled." })
  settled!: boolean;

  @Field(() => DateTimeScalar, { description: "When the model was delivered." })
  deliveredAt!: Date;
}

/** A list of deliverables. */
export const DeliverableConnection = defineCountedConnection("Deliverable", () => DeliverableType);

/** Maps an offer to its GraphQL type. */
export function toFineTuningService(offer: FineTuningOffer): FineTuningServiceType {
  return { ...offer, providerAddress: offer.provider, provider: { address: offer.provider } };
}

/** Maps a sub-account to its GraphQL type. */
export function toFineTuningAccount(
  contract: FineTuningContract,
  account: FineTuningAccount,
): FineTuningAccountType {
  return { ...account, contract, providerAddress: account.provider, provider: { address: account.provider } };
}
