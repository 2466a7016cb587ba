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
import { defineConnection } from "../../shared/schema/connection.ts";
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
    "v1.1": "The current one on the testnet.",
    "v1.0": "The older one: the only one on the mainnet, and on the testnet for history before 2026-02-12.",
  },
);

/** A deployed version of the fine-tuning contract. The rest of its fields are resolved. */
@ObjectType("FineTuning", {
  description: "A deployed version of the fine-tuning contract. Fine-tuning is for the direct path alone.",
  simpleResolvers: true,
})
export class FineTuningType implements FineTuningContract {
  @Field(() => FineTuningVersion, { description: "Which version it is." })
  version!: Version;

  @Field(() => AddressScalar, { description: "Where it is." })
  address!: FineTuningContract["address"];

  @Field(() => Boolean, { description: "Whether new work goes there." })
  isCurrent!: boolean;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "From when on it has the history, null for always.",
  })
  since!: Date | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "Before when it has the history, null for always.",
  })
  until!: Date | null;
}

/** The machine that a fine-tuning service gives. */
@ObjectType("FineTuningQuota", {
  description: "The machine that a fine-tuning service gives, by the provider's word and in its units.",
  simpleResolvers: true,
})
export class FineTuningQuotaType {
  @Field(() => BigIntScalar, { description: "Processors." })
  cpuCount!: bigint;

  @Field(() => BigIntScalar, { description: "Memory." })
  nodeMemory!: bigint;

  @Field(() => BigIntScalar, { description: "Graphics processors." })
  gpuCount!: bigint;

  @Field(() => BigIntScalar, { description: "Storage." })
  nodeStorage!: bigint;

  @Field(() => String, { description: "The kind of graphics processor." })
  gpuType!: string;
}

/** What a provider of fine-tuning offers. */
@ObjectType("FineTuningService", {
  description: "A provider's row in the fine-tuning registry on chain.",
  simpleResolvers: true,
})
export class FineTuningServiceType implements Omit<FineTuningOffer, "provider"> {
  @Field(() => AddressScalar, { description: "The provider's address." })
  providerAddress!: string;

  @Field(() => ProviderStub, {
    nullable: true,
    description: "The provider, null where the router does not know it.",
  })
  provider!: ProviderStub;

  @Field(() => String, { description: "Where the service is." })
  url!: string;

  @Field(() => FineTuningQuotaType, { description: "The machine that it gives." })
  quota!: FineTuningQuotaType;

  @Field(() => NeuronScalar, { description: "What it asks for one token." })
  pricePerToken!: bigint;

  @Field(() => Boolean, { description: "Whether it is busy with a task." })
  occupied!: boolean;

  @Field(() => [String], { description: "The models that it trains." })
  models!: readonly string[];

  @Field(() => AddressScalar, { description: "Who signs in its enclave." })
  teeSigner!: FineTuningOffer["teeSigner"];

  @Field(() => Boolean, { description: "Whether the registry's owner acknowledged that signer." })
  teeAcknowledged!: boolean;
}

/** A list of fine-tuning services. */
export const FineTuningServiceConnection = defineConnection("FineTuningService", () => FineTuningServiceType);

/** A sub-account at a provider of fine-tuning. The rest of its fields are resolved. */
@ObjectType("FineTuningAccount", {
  description: "An account's money and models with one provider of fine-tuning.",
  simpleResolvers: true,
})
export class FineTuningAccountType implements Omit<FineTuningAccount, "provider"> {
  /** Whose it is, and in which contract. */
  user!: FineTuningAccount["user"];
  contract!: FineTuningContract;

  @Field(() => AddressScalar, { description: "The provider's address." })
  providerAddress!: FineTuningAccount["provider"];

  @Field(() => ProviderStub, {
    nullable: true,
    description: "The provider, null where the router does not know it.",
  })
  provider!: ProviderStub;

  @Field(() => NeuronScalar, { description: "What lies there, pending refunds among it." })
  balance!: bigint;

  @Field(() => NeuronScalar, { description: "What is on its way back." })
  pendingRefund!: bigint;

  @Field(() => NeuronScalar, {
    description: "What tasks may still use: the balance without pending refunds.",
  })
  spendable!: bigint;

  @Field(() => Boolean, { description: "Whether the account acknowledged the provider's signer." })
  acknowledged!: boolean;

  @Field(() => BigIntScalar, { description: "The highest number of a settlement so far." })
  nonce!: bigint;

  @Field(() => BigIntScalar, { description: "How many models the contract keeps of it." })
  deliverablesCount!: bigint;
}

/** A list of sub-accounts of fine-tuning. */
export const FineTuningAccountConnection = defineConnection("FineTuningAccount", () => FineTuningAccountType);

/** A trained model as it was delivered. */
@ObjectType("Deliverable", {
  description: "A trained model as a provider delivered it.",
  simpleResolvers: true,
})
export class DeliverableType implements Deliverable {
  @Field(() => String, { description: "Its id, which the provider gave." })
  id!: string;

  @Field(() => HexScalar, { description: "The storage root of the encrypted model." })
  modelRoot!: Deliverable["modelRoot"];

  @Field(() => HexScalar, {
    description: "The model's key, sealed for the account; empty before it is settled.",
  })
  encryptedSecret!: Deliverable["encryptedSecret"];

  @Field(() => Boolean, { description: "Whether the account acknowledged it." })
  acknowledged!: boolean;

  @Field(() => Boolean, { description: "Whether its fee is settled." })
  settled!: boolean;

  @Field(() => DateTimeScalar, { description: "When it was delivered." })
  deliveredAt!: Date;
}

/** A list of deliverables. */
export const DeliverableConnection = defineConnection("Deliverable", () => DeliverableType);

/** An offer as the graph shows it. */
export function toFineTuningService(offer: FineTuningOffer): FineTuningServiceType {
  return { ...offer, providerAddress: offer.provider, provider: { address: offer.provider } };
}

/** A sub-account as the graph shows it. */
export function toFineTuningAccount(
  contract: FineTuningContract,
  account: FineTuningAccount,
): FineTuningAccountType {
  return { ...account, contract, providerAddress: account.provider, provider: { address: account.provider } };
}
