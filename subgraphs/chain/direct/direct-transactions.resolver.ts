import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Int, Query, Resolver } from "type-graphql";
import type { DirectServiceName } from "../../../src/chain/direct/direct-transactions.service.ts";
import type { FineTuningVersion as Version } from "../../../src/chain/direct/fine-tuning-contracts.ts";
import type { PreparedTransaction } from "../../../src/chain/transactions/prepared-transaction.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { PreparedTransactionType } from "../../shared/prepared-transaction.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { FineTuningVersion } from "./fine-tuning.type.ts";

const DirectService = defineEnum<DirectServiceName>("DirectService", "A service of the direct path.", {
  inference: "Inference.",
  "fine-tuning": "Fine-tuning, in its current version.",
  "fine-tuning-v1.0": "Fine-tuning, version 1.0.",
});

const FromArg = () =>
  Arg("from", () => AddressScalar, {
    nullable: true,
    description:
      "The sender. If given, the call is simulated first: fails with `contract_refused` if the contract would " +
      "revert.",
  });
const AmountArg = (description: string) => Arg("amount", () => NeuronScalar, { description });
const ProviderArg = () => Arg("provider", () => AddressScalar, { description: "The provider's address." });
const ServiceArg = () => Arg("service", () => DirectService, { description: "The provider's service." });

/** Unsigned transactions of the direct path. */
@Resolver()
export class DirectTransactionsResolver {
  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Prepares opening the sender's ledger on the direct path with an initial deposit.",
  })
  prepareAddLedger(
    @AmountArg("The initial deposit, at least `directRules.minimumLedger`.") amount: string,
    @Arg("additionalInfo", () => String, {
      defaultValue: "",
      description: "Free text to store with the ledger.",
    })
    additionalInfo: string,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.addLedger({
      amount: BigInt(amount),
      additionalInfo,
      from: from ?? undefined,
    });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Prepares a deposit into the sender's ledger, or into another account's.",
  })
  prepareDepositFund(
    @AmountArg("The amount to deposit.") amount: string,
    @Arg("recipient", () => AddressScalar, {
      nullable: true,
      description: "The account whose ledger receives the deposit. Default: the sender.",
    })
    recipient: Hex | null,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.depositFund({
      amount: BigInt(amount),
      recipient: recipient ?? undefined,
      from: from ?? undefined,
    });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Prepares a transfer from the sender's ledger to its sub-account with a provider.",
  })
  prepareTransferFund(
    @ProviderArg() provider: Hex,
    @ServiceArg() service: DirectServiceName,
    @AmountArg("The amount. The first transfer is at least `directRules.minimumTransfer`.") amount: string,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.transferFund({
      provider,
      service,
      amount: BigInt(amount),
      from: from ?? undefined,
    });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description:
      "Prepares collecting the unlocked refunds of sub-accounts into the sender's ledger, and requesting refunds of their remaining balances.",
  })
  prepareRetrieveFund(
    @Arg("providers", () => [AddressScalar], {
      description: "The addresses of the providers, at most `directRules { maxProvidersPerRetrieval }`.",
    })
    providers: readonly Hex[],
    @ServiceArg() service: DirectServiceName,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.retrieveFund({ providers, service, from: from ?? undefined });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Prepares a payout from the sender's ledger to its wallet.",
  })
  prepareRefund(
    @AmountArg("The amount, at most what is available.") amount: string,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.refund({ amount: BigInt(amount), from: from ?? undefined });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description:
      "Prepares acknowledging a provider's signer for the sender, or revoking the acknowledgement.",
  })
  prepareAcknowledgeSigner(
    @ProviderArg() provider: Hex,
    @ServiceArg() service: DirectServiceName,
    @Arg("acknowledged", () => Boolean, {
      defaultValue: true,
      description: "Whether to acknowledge the signer; false revokes the acknowledgement.",
    })
    acknowledged: boolean,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.acknowledgeSigner({
      provider,
      service,
      acknowledged,
      from: from ?? undefined,
    });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description:
      "Prepares acknowledging a trained model, so that its fee is settled and its key is released.",
  })
  prepareAcknowledgeDeliverable(
    @ProviderArg() provider: Hex,
    @Arg("deliverableId", () => String, { description: "The deliverable's id." }) id: string,
    @Arg("version", () => FineTuningVersion, {
      nullable: true,
      description: "The version of the fine-tuning contract. Default: the current one.",
    })
    version: Version | null,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.acknowledgeDeliverable({
      provider,
      id,
      version: version ?? undefined,
      from: from ?? undefined,
    });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Prepares revoking persistent `app-sk-` secrets with an inference provider.",
  })
  prepareRevokeTokens(
    @ProviderArg() provider: Hex,
    @Arg("tokenIds", () => [Int], { description: "The token ids of the secrets, 0 to 254." })
    tokenIds: readonly number[],
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.revokeTokens({ provider, tokenIds, from: from ?? undefined });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description:
      "Prepares revoking every `app-sk-` secret with an inference provider, including ephemeral ones.",
  })
  prepareRevokeAllTokens(
    @ProviderArg() provider: Hex,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.revokeAllTokens({ provider, from: from ?? undefined });
  }
}
