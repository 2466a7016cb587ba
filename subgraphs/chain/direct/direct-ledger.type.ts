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

/** An account's funds on the direct path. The rest of its fields are resolved. */
@ObjectType("DirectPath", {
  description:
    "An account's funds on the direct path, on which it pays providers on chain itself, without this router. They are " +
    "separate from the router's balance. Public on-chain data.",
  simpleResolvers: true,
})
export class DirectPathType {
  @Field(() => AddressScalar, {
    name: "accountAddress",
    simple: false,
    description: "The account's address.",
  })
  account!: string;
}

/** A ledger of the direct path. */
@ObjectType("DirectLedger", {
  description:
    "An account's on-chain ledger of the direct path, from which its sub-accounts with providers are funded.",
  simpleResolvers: true,
})
export class DirectLedgerType implements Omit<DirectLedger, "user"> {
  @Field(() => NeuronScalar, {
    description: "The amount outside of sub-accounts: it can be transferred to one or refunded.",
  })
  available!: bigint;

  @Field(() => NeuronScalar, { description: "The amount in sub-accounts of inference and fine-tuning." })
  locked!: bigint;

  @Field(() => NeuronScalar, { description: "The sum of available and locked." })
  total!: bigint;

  @Field(() => String, { description: "Free text stored by the owner." })
  additionalInfo!: string;
}

/** A pending refund from a sub-account. */
@ObjectType("DirectRefund", {
  description: "A pending refund from a sub-account.",
  simpleResolvers: true,
})
export class DirectRefundType implements Omit<Refund, "index"> {
  @Field(() => NeuronScalar, { description: "The amount of the refund." })
  amount!: bigint;

  @Field(() => DateTimeScalar, { description: "When the refund was requested." })
  requestedAt!: Date;

  @Field(() => DateTimeScalar, {
    description: "When `prepareRetrieveFund` can collect the refund into the ledger.",
  })
  unlocksAt!: Date;
}

/** A sub-account with an inference provider. */
@ObjectType("SubAccount", {
  description: "An account's funds with one inference provider.",
  simpleResolvers: true,
})
export class SubAccountType implements Omit<SubAccount, "user" | "provider" | "refunds"> {
  @Field(() => AddressScalar, { description: "The provider's address." })
  providerAddress!: string;

  @Field(() => ProviderStub, { nullable: true, description: "The provider. Null if it offers no service." })
  provider!: ProviderStub;

  @Field(() => NeuronScalar, { description: "The balance of the sub-account, including pending refunds." })
  balance!: bigint;

  @Field(() => NeuronScalar, { description: "The sum of pending refunds." })
  pendingRefund!: bigint;

  @Field(() => NeuronScalar, {
    description: "The amount that requests can use: the balance minus pending refunds.",
  })
  spendable!: bigint;

  @Field(() => [DirectRefundType], { description: "The pending refunds, at most 5, oldest first." })
  refunds!: readonly DirectRefundType[];

  @Field(() => Boolean, { description: "Whether the account acknowledged the provider's signer." })
  acknowledged!: boolean;

  @Field(() => BigIntScalar, { description: "The highest settlement nonce so far." })
  nonce!: bigint;

  @Field(() => BigIntScalar, {
    description: "The current generation of `app-sk-` secrets. Secrets of older generations are invalid.",
  })
  generation!: bigint;

  @Field(() => [Int], { description: "The token ids, 0 to 254, that are revoked in this generation." })
  revokedTokenIds!: readonly number[];
}

/** A list of sub-accounts. */
export const SubAccountConnection = defineConnection("SubAccount", () => SubAccountType);

/** The limits of the contracts of the direct path. */
@ObjectType("DirectRules", {
  description: "The limits that the contracts of the direct path impose.",
  simpleResolvers: true,
})
export class DirectRulesType implements DirectRules {
  @Field(() => NeuronScalar, { description: "The minimum amount to open a ledger with." })
  minimumLedger!: bigint;

  @Field(() => NeuronScalar, { description: "The minimum amount of the first transfer to a provider." })
  minimumTransfer!: bigint;

  @Field(() => BigIntScalar, {
    description: "The maximum number of providers to retrieve funds from in one call.",
  })
  maxProvidersPerRetrieval!: bigint;

  @Field(() => BigIntScalar, {
    description: "The maximum number of providers per service that an account can have sub-accounts with.",
  })
  maxProvidersPerService!: bigint;

  @Field(() => BigIntScalar, {
    description: "The lock time of a refund from an inference provider, in seconds.",
  })
  refundLockSeconds!: bigint;
}

/** Maps a sub-account to its GraphQL type. */
export function toSubAccount(row: Listed<SubAccount>): SubAccountType & { readonly cursor: string };
export function toSubAccount(row: SubAccount): SubAccountType;
export function toSubAccount(row: SubAccount): SubAccountType {
  return { ...row, providerAddress: row.provider, provider: { address: row.provider } };
}
