import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import { FileStub } from "../file.stub.ts";
import {
  type AgentContract,
  AgentContractType,
  type AgentToken,
  AgentTokenConnection,
  AgentTokenType,
  type Authorization,
  IntelligentDataType,
  TokenAuthorizationConnection,
  TokenAuthorizationType,
  type TokenClone,
  TokenCloneConnection,
  TokenCloneType,
  type TokenTransfer,
  TokenTransferConnection,
  TokenTransferType,
} from "./agent-token.type.ts";
import { type SealedKey, SealedKeyConnection } from "./sealed-key.type.ts";

/** Agent tokens and what became of them. The chain tells everyone. */
@Resolver(() => AgentTokenType)
export class AgentTokenResolver {
  @Query(() => AgentTokenType, {
    nullable: true,
    description: "An agent token. Null if it was never minted, or its contract is not read here.",
  })
  agentToken(
    @Arg("contract", () => AddressScalar, { description: "Its contract." }) contract: Hex,
    @Arg("tokenId", () => BigIntScalar, { description: "Its id within the contract." }) tokenId: string,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract, tokenId: BigInt(tokenId) });
  }

  @Query(() => AgentTokenConnection, {
    nullable: true,
    description: "Agent tokens that have an owner, the most recently acquired first.",
  })
  async agentTokens(
    @Arg("contract", () => AddressScalar, { nullable: true, description: "Only those of this contract." })
    contract: Hex | null,
    @Arg("owner", () => AddressScalar, { nullable: true, description: "Only those that this account has." })
    owner: Hex | null,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<AgentToken>> {
    const filter = { contract: contract ?? undefined, owner: owner ?? undefined };
    const page = await services.agentTokens.list(filter, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @Query(() => [AgentContractType], { description: "The contracts of agent tokens that are read here." })
  agentContracts(@Ctx() { services }: Context): readonly AgentContract[] {
    return services.agentTokens.contracts();
  }

  @FieldResolver()
  id(@Root() { contract, tokenId }: AgentToken): string {
    return `${contract}:${tokenId}`;
  }

  @FieldResolver(() => AccountStub, { nullable: true, description: "Whose it is, null once it was burned." })
  owner(@Root() { owner }: AgentToken): AccountStub | null {
    return owner && { address: owner };
  }

  @FieldResolver(() => AccountStub, {
    nullable: true,
    description: "Its creator, if the contract records one.",
  })
  creator(@Root() { creator }: AgentToken): AccountStub | null {
    return creator && { address: creator };
  }

  @FieldResolver(() => [IntelligentDataType], { description: "Its data." })
  data(@Root() { datas }: AgentToken): readonly IntelligentDataType[] {
    return datas.map((data, index) => ({ index, ...data }));
  }

  @FieldResolver(() => [Hash32Scalar], { description: "The hashes of its data, in their order." })
  dataHashes(@Root() { datas }: AgentToken): readonly Hex[] {
    return datas.map(({ dataHash }) => dataHash);
  }

  @FieldResolver(() => [AccountStub], {
    description: "Accounts that may use it besides its owner: at most 100. Cleared on transfer.",
  })
  async authorizedUsers(@Root() token: AgentToken, @Ctx() { loaders }: Context): Promise<AccountStub[]> {
    return (await loaders.agentUsers.load(token)).map((address) => ({ address }));
  }

  @FieldResolver(() => TokenAuthorizationConnection, {
    description: "Who was ever let use it, and until when, newest first.",
  })
  async authorizations(
    @Root() token: AgentToken,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<Authorization>> {
    const page = await services.agentTokens.authorizations(token, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => TokenTransferConnection, { description: "Its moves, newest first." })
  async transfers(
    @Root() token: AgentToken,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<TokenTransfer>> {
    const page = await services.agentTokens.transfers(token, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => TokenCloneConnection, { description: "What was cloned from it, newest first." })
  async clones(
    @Root() token: AgentToken,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<TokenClone>> {
    const page = await services.agentTokens.clones(token, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The token that it was cloned from, null where it was minted.",
  })
  async clonedFrom(
    @Root() { contract, clonedFrom }: AgentToken,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return clonedFrom === null ? undefined : loaders.agentTokens.load({ contract, tokenId: clonedFrom });
  }

  @FieldResolver(() => SealedKeyConnection, {
    description: "The keys that were sealed for its receivers, newest first.",
  })
  async sealedKeys(
    @Root() { contract, tokenId }: AgentToken,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<SealedKey>> {
    const page = await services.sealedKeys.list({ contract, tokenId }, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => AddressScalar, {
    nullable: true,
    description: "The contract that judges its proofs, as the chain says now.",
  })
  verifier(@Root() { contract }: AgentToken, @Ctx() { services }: Context): Promise<Hex> {
    return services.agentTokens.verifierOf(contract);
  }
}

/** What a piece of data leads to. */
@Resolver(() => IntelligentDataType)
export class IntelligentDataResolver {
  @FieldResolver(() => FileStub, {
    nullable: true,
    description: "The file with this hash as its root, null where the storage network has none.",
  })
  async file(@Root() { dataHash }: { dataHash: Hex }, @Ctx() { loaders }: Context): Promise<FileStub | null> {
    return (await loaders.files.load(dataHash)) ? { root: dataHash } : null;
  }
}

/** What a contract leads to. */
@Resolver(() => AgentContractType)
export class AgentContractResolver {
  @FieldResolver(() => AddressScalar, {
    nullable: true,
    description: "The contract that judges proofs for it, as the chain says now.",
  })
  verifier(@Root() { address }: AgentContract, @Ctx() { services }: Context): Promise<Hex> {
    return services.agentTokens.verifierOf(address);
  }
}

/** What a move leads to. */
@Resolver(() => TokenTransferType)
export class TokenTransferResolver {
  @FieldResolver(() => AccountStub, { nullable: true, description: "Whose it was, null when it was minted." })
  from(@Root() { from }: TokenTransfer): AccountStub | null {
    return from && { address: from };
  }

  @FieldResolver(() => AccountStub, {
    nullable: true,
    description: "Whose it is then, null when it was burned.",
  })
  to(@Root() { to }: TokenTransfer): AccountStub | null {
    return to && { address: to };
  }
}

/** What an authorisation leads to. */
@Resolver(() => TokenAuthorizationType)
export class TokenAuthorizationResolver {
  @FieldResolver(() => AccountStub, { description: "Who may use the token." })
  user(@Root() { user }: Authorization): AccountStub {
    return { address: user };
  }

  @FieldResolver(() => AccountStub, { description: "Who let the user." })
  authorizedBy(@Root() { by }: Authorization): AccountStub {
    return { address: by };
  }
}

/** What a clone leads to. */
@Resolver(() => TokenCloneType)
export class TokenCloneResolver {
  @FieldResolver(() => AgentTokenType, { nullable: true, description: "The clone." })
  token(
    @Root() { contract, newTokenId }: TokenClone,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract, tokenId: newTokenId });
  }

  @FieldResolver(() => AccountStub, { description: "The owner of the original." })
  from(@Root() { from }: TokenClone): AccountStub {
    return { address: from };
  }

  @FieldResolver(() => AccountStub, { description: "The account that received the clone." })
  to(@Root() { to }: TokenClone): AccountStub {
    return { address: to };
  }
}

/** The token behind a key that another subgraph sent. */
export function findAgentToken(
  { contract, tokenId }: { readonly contract: unknown; readonly tokenId: unknown },
  { loaders }: Context,
): Promise<AgentToken | undefined> {
  return loaders.agentTokens.load({
    contract: AddressScalar.parseValue(contract),
    tokenId: BigInt(BigIntScalar.parseValue(tokenId)),
  });
}
