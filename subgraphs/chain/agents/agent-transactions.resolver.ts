import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Query, Resolver } from "type-graphql";
import type { PreparedTransaction } from "../../../src/chain/transactions/prepared-transaction.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { PreparedTransactionType } from "../../shared/prepared-transaction.type.ts";
import { AddressScalar, BigIntScalar, HexScalar } from "../../shared/schema/scalars.ts";
import { AccessProofTextType, TransferProofInput } from "./agent-proof.type.ts";

const ContractArg = () => Arg("contract", () => AddressScalar, { description: "The token's contract." });
const TokenIdArg = () => Arg("tokenId", () => BigIntScalar, { description: "The token's id." });
const UserArg = () => Arg("user", () => AddressScalar, { description: "The user's address." });
const OwnerArg = (description: string) => Arg("owner", () => AddressScalar, { description });
const OptionalFromArg = (description: string) =>
  Arg("from", () => AddressScalar, { nullable: true, description });
const ProofsArg = () =>
  Arg("proofs", () => [TransferProofInput], {
    description: "Both proofs for each piece of the token's data, in the order of the data.",
  });
const SENDER =
  "The sender of the transaction: the owner or an operator that it approved. Default: the owner.";
const SIMULATED =
  "The call is simulated first: if the contract would revert, the query fails with `contract_refused`, which names " +
  "the contract's error and the proof at fault, if it is a proof.";

/** Unsigned transactions of agent tokens, and the texts to sign for them. */
@Resolver()
export class AgentTransactionsResolver {
  @Query(() => [AccessProofTextType], {
    nullable: true,
    description:
      "The texts that the receiver of a token must sign before a transfer: one for each piece of the token's data.",
  })
  accessProofTexts(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @Arg("targetPubkey", () => HexScalar, {
      nullable: true,
      description:
        "The public key to seal the data's keys for, at most 4,096 bytes. Default: the receiver's own key.",
    })
    targetPubkey: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<readonly AccessProofTextType[]> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return services.agentTransactions.accessProofTexts(token, targetPubkey ?? undefined);
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares a transfer of a token with its keys (\`iTransferFrom\`). ${SIMULATED}`,
  })
  prepareTransfer(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @OwnerArg("The token's owner.") owner: Hex,
    @Arg("to", () => AddressScalar, { description: "The receiver." }) to: Hex,
    @ProofsArg() proofs: readonly TransferProofInput[],
    @OptionalFromArg(SENDER) from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const token = { contract, tokenId: BigInt(tokenId) };
    const sender = from ?? undefined;
    return services.agentTransactions.transfer({ ...token, from: owner, to, proofs, sender });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares a clone of a token from its data (\`iCloneFrom\`). ${SIMULATED}`,
  })
  prepareClone(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @OwnerArg("The original token's owner.") owner: Hex,
    @Arg("to", () => AddressScalar, { description: "The receiver of the clone." }) to: Hex,
    @ProofsArg() proofs: readonly TransferProofInput[],
    @OptionalFromArg(SENDER) from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const token = { contract, tokenId: BigInt(tokenId) };
    const sender = from ?? undefined;
    return services.agentTransactions.clone({ ...token, from: owner, to, proofs, sender });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares authorizing a user to use a token; at most 100 users can be authorized. ${SIMULATED}`,
  })
  prepareAuthorizeUsage(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @UserArg() user: Hex,
    @OptionalFromArg("The sender. Default: the token's current owner.") from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return services.agentTransactions.authorizeUsage(token, user, from ?? undefined);
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Prepares the revocation of a user's authorization. ${SIMULATED}`,
  })
  prepareRevokeAuthorization(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @UserArg() user: Hex,
    @OptionalFromArg("The sender. Default: the token's current owner.") from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return services.agentTransactions.revokeAuthorization(token, user, from ?? undefined);
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description:
      "Prepares a delegation: the assistant may sign access proofs for the sender, for all tokens of the contract. " +
      "The zero address ends the delegation.",
  })
  prepareDelegateAccess(
    @ContractArg() contract: Hex,
    @Arg("assistant", () => AddressScalar, { description: "The assistant's address." }) assistant: Hex,
    @OptionalFromArg("The sender. If given, the call is simulated first.") from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.agentTransactions.delegateAccess(contract, assistant, from ?? undefined);
  }
}
