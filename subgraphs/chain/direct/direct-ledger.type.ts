import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type {
  DirectLedger,
  DirectRules,
  SubAccount,
} from "../../../src/chain/direct/direct-ledger.service.ts";
import type { Listed } from "../../../src/chain/direct/offset-page.ts";
import type { Refund } from "../../../src/chain/direct/refunds.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar, DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { ProviderStub } from "../provider.stub.ts";

/** What an account has on the direct path. The rest of its fields are resolved. */
@ObjectType("DirectPath", {
  description:
    "What an account has on the direct path, by the chain's word and open to everyone: a pool of its own, which the router's balance neither fills nor drains.",
  simpleResolvers: true,
})
export class DirectPathType {
  @Field(() => AddressScalar, { description: "Whose it is." })
  account!: string;
}

/** A ledger of the direct path. */
@ObjectType("DirectLedger", { description: "A ledger of the direct path.", simpleResolvers: true })
export class DirectLedgerType implements Omit<DirectLedger, "user"> {
  @Field(() => NeuronScalar, {
    description: "What is in no sub-account: it can be moved to one or be refunded.",
  })
  available!: bigint;

  @Field(() => NeuronScalar, { description: "What lies in sub-accounts, of inference and of fine-tuning." })
  locked!: bigint;

  @Field(() => NeuronScalar, { description: "Both together." })
  total!: bigint;

  @Field(() => String, { description: "What the owner wrote beside it." })
  additionalInfo!: string;
}

/** Money on its way back from a sub-account. */
@ObjectType("DirectRefund", {
  description: "Money on its way back from a sub-account.",
  simpleResolvers: true,
})
export class DirectRefundType implements Omit<Refund, "index"> {
  @Field(() => NeuronScalar, { description: "How much." })
  amount!: bigint;

  @Field(() => DateTimeScalar, { description: "When it was requested." })
  requestedAt!: Date;

  @Field(() => DateTimeScalar, {
    description: "From when on `prepareRetrieveFund` collects it into the ledger.",
  })
  unlocksAt!: Date;
}

/** A sub-account at an inference provider. */
@ObjectType("SubAccount", {
  description: "An account's money with one inference provider.",
  simpleResolvers: true,
})
export class SubAccountType implements Omit<SubAccount, "user" | "provider" | "refunds"> {
  @Field(() => AddressScalar, { description: "The provider's address." })
  providerAddress!: string;

  @Field(() => ProviderStub, {
    nullable: true,
    description: "The provider, null for one that offers nothing.",
  })
  provider!: ProviderStub;

  @Field(() => NeuronScalar, { description: "What lies there, pending refunds among it." })
  balance!: bigint;

  @Field(() => NeuronScalar, { description: "What is on its way back." })
  pendingRefund!: bigint;

  @Field(() => NeuronScalar, {
    description: "What requests may still use: the balance without pending refunds.",
  })
  spendable!: bigint;

  @Field(() => [DirectRefundType], { description: "The refunds on their way, at most 5, oldest first." })
  refunds!: readonly DirectRefundType[];

  @Field(() => Boolean, { description: "Whether the account acknowledged the provider's signer." })
  acknowledged!: boolean;

  @Field(() => BigIntScalar, { description: "The highest number of a settlement so far." })
  nonce!: bigint;

  @Field(() => BigIntScalar, { description: "The generation of its `app-sk-` secrets: older ones are void." })
  generation!: bigint;

  @Field(() => [Int], { description: "The token ids, 0 to 254, that are revoked in this generation." })
  revokedTokenIds!: readonly number[];
}

/** A list of sub-accounts. */
export const SubAccountConnection = defineConnection("SubAccount", () => SubAccountType);

/** What the contracts of the direct path ask. */
@ObjectType("DirectRules", {
  description: "What the contracts of the direct path ask of their users.",
  simpleResolvers: true,
})
export class DirectRulesType implements DirectRules {
  @Field(() => NeuronScalar, { description: "The least that a ledger may have." })
  minimumLedger!: bigint;

  @Field(() => NeuronScalar, { description: "The least that a first transfer to a provider may be." })
  minimumTransfer!: bigint;

  @Field(() => BigIntScalar, { description: "From how many providers at most funds are retrieved at once." })
  maxProvidersPerRetrieval!: bigint;

  @Field(() => BigIntScalar, {
    description: "With how many providers of a service one may have sub-accounts.",
  })
  maxProvidersPerService!: bigint;

  @Field(() => BigIntScalar, { description: "How long a refund from an inference provider waits, seconds." })
  refundLockSeconds!: bigint;
}

/** A sub-account as the graph shows it. */
export function toSubAccount(row: Listed<SubAccount>): SubAccountType & { readonly cursor: string };
export function toSubAccount(row: SubAccount): SubAccountType;
export function toSubAccount(row: SubAccount): SubAccountType {
  return { ...row, providerAddress: row.provider, provider: { address: row.provider } };
}
