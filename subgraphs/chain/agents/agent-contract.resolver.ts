import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { AgentRole } from "../../../src/chain/agents/contracts/agent-contracts.service.ts";
import type { PreparedTransaction } from "../../../src/chain/transactions/prepared-transaction.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { PreparedTransactionType } from "../../shared/prepared-transaction.type.ts";
import { AddressScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { AgentRoleEnum, AgentVerifierType, IntelligentDataInput } from "./agent-contract.type.ts";
import { type AgentContract, AgentContractType } from "./agent-token.type.ts";

/** The on-chain state of an agent token contract, and minting. */
@Resolver(() => AgentContractType)
export class AgentContractStateResolver {
  @FieldResolver(() => NeuronScalar, {
    nullable: true,
    description:
      "The current mint fee, read from the chain. Null, with an error, if the chain cannot be read, and for the generation `AGENTIC_ID`.",
  })
  mintFee(@Root() { address }: AgentContract, @Ctx() { services }: Context): Promise<bigint> {
    return services.agentContracts.mintFee(address);
  }

  @FieldResolver(() => [AgentRoleEnum], {
    nullable: true,
    description:
      "The current roles of an account, read from the chain. Null, with an error, for the generation `AGENTIC_ID`.",
  })
  rolesOf(
    @Root() { address }: AgentContract,
    @Arg("account", () => AddressScalar, { description: "The account." }) account: Hex,
    @Ctx() { services }: Context,
  ): Promise<readonly AgentRole[]> {
    return services.agentContracts.rolesOf(address, account);
  }

  @FieldResolver(() => AgentVerifierType, {
    nullable: true,
    description:
      "The state of the contract's `verifier`, with its registered oracles. Null, with an error, if the chain cannot be read, and for the generation `AGENTIC_ID`.",
  })
  proofVerifier(
    @Root() { address }: AgentContract,
    @Ctx() { services }: Context,
  ): Promise<AgentVerifierType> {
    return services.agentContracts.verifier(address);
  }

  @Query(() => PreparedTransactionType, {
    nullable: true,
    description:
      "Prepares a mint: `mint` with the current mint fee as its value, or `mintWithRole` without a fee. The call is simulated " +
      "first: fails with `contract_refused` if the contract would revert.",
  })
  prepareMint(
    @Arg("contract", () => AddressScalar, { description: "The contract." }) contract: Hex,
    @Arg("from", () => AddressScalar, { description: "The sender, who pays the mint fee." }) from: Hex,
    @Arg("to", () => AddressScalar, { description: "The owner of the new token." }) to: Hex,
    @Arg("data", () => [IntelligentDataInput], {
      defaultValue: [],
      description: "The token's data. Default: none, for a plain token.",
    })
    data: readonly IntelligentDataInput[],
    @Arg("uri", () => String, { nullable: true, description: "The URI of a plain token's metadata." })
    uri: string | null,
    @Arg("withRole", () => Boolean, {
      defaultValue: false,
      description: "Whether the sender mints with `MINTER_ROLE`, without a fee.",
    })
    withRole: boolean,
    @Arg("creator", () => AddressScalar, {
      nullable: true,
      description: "The creator to record. Only with `withRole`.",
    })
    creator: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<PreparedTransaction> {
    const request = { contract, from, to, data, withRole };
    return services.agentContracts.mint({ ...request, uri: uri ?? undefined, creator: creator ?? undefined });
  }
}
