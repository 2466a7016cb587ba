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

const DirectService = defineEnum<DirectServiceName>("DirectService", "The services of the direct path.", {
  inference: "Inference.",
  "fine-tuning": "Fine-tuning, in its current version.",
  "fine-tuning-v1.0": "Fine-tuning, version 1.0.",
});

const FromArg = () =>
  Arg("from", () => AddressScalar, {
    nullable: true,
    description:
      "Whose wallet will send it: the call is then tried on the chain, and what the contract refuses fails with `contract_refused`.",
  });
const AmountArg = (description: string) => Arg("amount", () => NeuronScalar, { description });
const ProviderArg = () => Arg("provider", () => AddressScalar, { description: "The provider's address." });
const ServiceArg = () =>
  Arg("service", () => DirectService, { description: "Which service of the provider." });

/** Unsigned transactions of the direct path. */
@Resolver()
export class DirectTransactionsResolver {
  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Opens the sender's ledger on the direct path, with money.",
  })
  prepareAddLedger(
    @AmountArg("How much to begin with; `directRules` says the least.") amount: string,
    @Arg("additionalInfo", () => String, { defaultValue: "", description: "What to write beside it." })
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
    description: "Adds money to the sender's ledger, or to another account's.",
  })
  prepareDepositFund(
    @AmountArg("How much.") amount: string,
    @Arg("recipient", () => AddressScalar, {
      nullable: true,
      description: "Whose ledger, where it is not the sender's.",
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
    description: "Moves money from the sender's ledger to its sub-account with a provider.",
  })
  prepareTransferFund(
    @ProviderArg() provider: Hex,
    @ServiceArg() service: DirectServiceName,
    @AmountArg("How much; `directRules` says the least of a first transfer.") amount: string,
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
    description: "Collects what has waited out its lock into the ledger, and asks for the rest.",
  })
  prepareRetrieveFund(
    @Arg("providers", () => [AddressScalar], { description: "The providers, 1 to 20." })
    providers: readonly Hex[],
    @ServiceArg() service: DirectServiceName,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.retrieveFund({ providers, service, from: from ?? undefined });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Pays money out of the sender's ledger to its wallet.",
  })
  prepareRefund(
    @AmountArg("How much of what is available.") amount: string,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.refund({ amount: BigInt(amount), from: from ?? undefined });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Acknowledges a provider's signer in the sender's name, or takes that back.",
  })
  prepareAcknowledgeSigner(
    @ProviderArg() provider: Hex,
    @ServiceArg() service: DirectServiceName,
    @Arg("acknowledged", () => Boolean, { defaultValue: true, description: "False takes it back." })
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
    description: "Acknowledges a trained model, so that its fee is settled and its key given out.",
  })
  prepareAcknowledgeDeliverable(
    @ProviderArg() provider: Hex,
    @Arg("id", () => String, { description: "The deliverable's id." }) id: string,
    @Arg("version", () => FineTuningVersion, {
      nullable: true,
      description: "In which contract; the current one unless given.",
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
    description: "Revokes persistent `app-sk-` secrets with one inference provider.",
  })
  prepareRevokeTokens(
    @ProviderArg() provider: Hex,
    @Arg("tokenIds", () => [Int], { description: "Their token ids, 0 to 254." }) tokenIds: readonly number[],
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.revokeTokens({ provider, tokenIds, from: from ?? undefined });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: "Ends every `app-sk-` secret with one inference provider, ephemeral ones too.",
  })
  prepareRevokeAllTokens(
    @ProviderArg() provider: Hex,
    @FromArg() from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.directTransactions.revokeAllTokens({ provider, from: from ?? undefined });
  }
}
