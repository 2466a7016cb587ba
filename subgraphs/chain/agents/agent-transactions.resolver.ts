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
const UserArg = () => Arg("user", () => AddressScalar, { description: "The user." });
const FromArg = (description: string) => Arg("from", () => AddressScalar, { description });
const OptionalFromArg = (description: string) =>
  Arg("from", () => AddressScalar, { nullable: true, description });
const ProofsArg = () =>
  Arg("proofs", () => [TransferProofInput], {
    description: "Both proofs for each piece of the token's data, in its order.",
  });
const SenderArg = () =>
  Arg("sender", () => AddressScalar, {
    nullable: true,
    description: "The sender, if that is an approved operator instead of the owner.",
  });
const TRIED =
  "It is tried on the chain first: what the contract would refuse fails with `contract_refused`, which names the contract's error and the proof at fault.";

/** Unsigned transactions of agent tokens, and the texts that they need. */
@Resolver()
export class AgentTransactionsResolver {
  @Query(() => [AccessProofTextType], {
    nullable: true,
    description:
      "What the receiver of a token has to sign before it can move: a text for each piece of its data.",
  })
  accessProofTexts(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @Arg("targetPubkey", () => HexScalar, {
      nullable: true,
      description: "The public key to seal the data's keys for; none for the receiver's own.",
    })
    targetPubkey: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<readonly AccessProofTextType[]> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return services.agentTransactions.accessProofTexts(token, targetPubkey ?? undefined);
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Moves a token with its keys (\`iTransferFrom\`). ${TRIED}`,
  })
  prepareTransfer(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @FromArg("Whose the token is.") from: Hex,
    @Arg("to", () => AddressScalar, { description: "Who receives it." }) to: Hex,
    @ProofsArg() proofs: readonly TransferProofInput[],
    @SenderArg() sender: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return services.agentTransactions.transfer({ ...token, from, to, proofs, sender: sender ?? undefined });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Makes a token of another one's data (\`iCloneFrom\`). ${TRIED}`,
  })
  prepareClone(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @FromArg("Whose the original is.") from: Hex,
    @Arg("to", () => AddressScalar, { description: "Who receives the clone." }) to: Hex,
    @ProofsArg() proofs: readonly TransferProofInput[],
    @SenderArg() sender: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return services.agentTransactions.clone({ ...token, from, to, proofs, sender: sender ?? undefined });
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Lets a user use a token; at most 100 may. ${TRIED}`,
  })
  prepareAuthorizeUsage(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @UserArg() user: Hex,
    @OptionalFromArg("Who sends it, where that is not to be the token's owner now.") from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return services.agentTransactions.authorizeUsage(token, user, from ?? undefined);
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description: `Takes a user's authorisation back. ${TRIED}`,
  })
  prepareRevokeAuthorization(
    @ContractArg() contract: Hex,
    @TokenIdArg() tokenId: string,
    @UserArg() user: Hex,
    @OptionalFromArg("Who sends it, where that is not to be the token's owner now.") from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return services.agentTransactions.revokeAuthorization(token, user, from ?? undefined);
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description:
      "Lets an assistant sign access proofs for whoever sends it, for all tokens of the contract; the zero address ends that.",
  })
  prepareDelegateAccess(
    @ContractArg() contract: Hex,
    @Arg("assistant", () => AddressScalar, { description: "The assistant." }) assistant: Hex,
    @OptionalFromArg("Who sends it: it is then tried on the chain first.") from: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    return services.agentTransactions.delegateAccess(contract, assistant, from ?? undefined);
  }
}
