import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, Directive, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { SealedKey } from "../../../src/chain/agents/sealed-keys/sealed-key.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Connection,
  PageArgs,
  toPageRequest,
  toPlacedConnection,
} from "../../shared/schema/connection.ts";
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
import { AgentTokensArgs, toTokenFilter } from "./agent-token-filter.type.ts";
import { SealedKeyConnection } from "./sealed-key.type.ts";

/** Agent tokens and their history. Public on-chain data. */
@Resolver(() => AgentTokenType)
export class AgentTokenResolver {
  @Query(() => AgentTokenType, {
    nullable: true,
    description:
      "An agent token. Null if it was never minted, or if its contract is not indexed by this service.",
  })
  agentToken(
    @Arg("contract", () => AddressScalar, { description: "The token's contract." }) contract: Hex,
    @Arg("tokenId", () => BigIntScalar, { description: "The token's id within its contract." })
    tokenId: string,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract, tokenId: BigInt(tokenId) });
  }

  @Query(() => AgentTokenConnection, {
    nullable: true,
    description:
      "The agent tokens that have an owner, or those of them that match a filter, most recently acquired first.",
  })
  async agentTokens(
    @Args(() => AgentTokensArgs) args: AgentTokensArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<AgentToken>> {
    const filter = toTokenFilter(args.filter);
    const page = await services.agentTokens.list(filter, toPageRequest(args));
    return toPlacedConnection(page, () => services.agentTokens.count(filter));
  }

  @Query(() => [AgentContractType], {
    nullable: true,
    description: "The agent token contracts that this service indexes.",
  })
  agentContracts(@Ctx() { services }: Context): readonly AgentContract[] {
    return services.agentTokens.contracts();
  }

  @FieldResolver(() => AccountStub, {
    nullable: true,
    description: "The token's owner. Null if the token is burned.",
  })
  owner(@Root() { owner }: AgentToken): AccountStub | null {
    return owner && { address: owner };
  }

  @FieldResolver(() => AccountStub, {
    nullable: true,
    description: "The token's creator. Null if the contract records none.",
  })
  creator(@Root() { creator }: AgentToken): AccountStub | null {
    return creator && { address: creator };
  }

  @FieldResolver(() => [IntelligentDataType], { description: "The token's data." })
  data(@Root() { datas }: AgentToken): readonly IntelligentDataType[] {
    return datas.map((data, index) => ({ index, ...data }));
  }

  @FieldResolver(() => [Hash32Scalar], { description: "The hashes of the token's data, in order." })
  dataHashes(@Root() { datas }: AgentToken): readonly Hex[] {
    return datas.map(({ dataHash }) => dataHash);
  }

  @FieldResolver(() => [AccountStub], {
    description: "The accounts that may use the token besides its owner, at most 100. Cleared on transfer.",
  })
  async authorizedUsers(@Root() token: AgentToken, @Ctx() { loaders }: Context): Promise<AccountStub[]> {
    return (await loaders.agentUsers.load(token)).map((address) => ({ address }));
  }

  @FieldResolver(() => TokenAuthorizationConnection, {
    nullable: true,
    description: "All authorizations to use the token, current and ended, newest first.",
  })
  async authorizations(
    @Root() token: AgentToken,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<Authorization>> {
    const page = await services.agentTokens.authorizations(token, toPageRequest(args));
    return toPlacedConnection(page);
  }

  @FieldResolver(() => TokenTransferConnection, {
    nullable: true,
    description: "The token's transfers, newest first.",
  })
  async transfers(
    @Root() token: AgentToken,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<TokenTransfer>> {
    const page = await services.agentTokens.transfers(token, toPageRequest(args));
    return toPlacedConnection(page);
  }

  @FieldResolver(() => TokenCloneConnection, {
    nullable: true,
    description: "The clones of the token, newest first.",
  })
  async clones(
    @Root() token: AgentToken,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<TokenClone>> {
    const page = await services.agentTokens.clones(token, toPageRequest(args));
    return toPlacedConnection(page);
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The token that this token was cloned from. Null if it was minted.",
  })
  async clonedFrom(
    @Root() { contract, clonedFrom }: AgentToken,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return clonedFrom === null ? undefined : loaders.agentTokens.load({ contract, tokenId: clonedFrom });
  }

  @FieldResolver(() => SealedKeyConnection, {
    nullable: true,
    description: "The keys that were sealed for the token's receivers, newest first.",
  })
  async sealedKeys(
    @Root() { contract, tokenId }: AgentToken,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<SealedKey>> {
    const page = await services.sealedKeys.list({ contract, tokenId }, toPageRequest(args));
    return toPlacedConnection(page);
  }

  // A call of the chain for each token.
  @Directive("@cost(weight: 20)")
  @FieldResolver(() => AccountStub, {
    nullable: true,
    description:
      "The account, besides the owner, that is currently approved to transfer the token (`approve`), read from the chain. Null if there is none and, with an error, if the chain cannot be read.",
  })
  async approved(@Root() token: AgentToken, @Ctx() { services }: Context): Promise<AccountStub | null> {
    if (token.owner === null) return null;
    const address = await services.agentTokens.approvedOf(token);
    return address && { address };
  }

  @FieldResolver(() => AddressScalar, {
    nullable: true,
    description:
      "The contract that currently verifies the token's proofs, read from the chain. Null, with an error, if the chain cannot be read.",
  })
  verifier(@Root() { contract }: AgentToken, @Ctx() { services }: Context): Promise<Hex> {
    return services.agentTokens.verifierOf(contract);
  }
}

/** The file of a piece of data. */
@Resolver(() => IntelligentDataType)
export class IntelligentDataResolver {
  @FieldResolver(() => FileStub, {
    nullable: true,
    description: "The stored file whose root is this hash. Null if the storage network has none.",
  })
  async file(@Root() { dataHash }: { dataHash: Hex }, @Ctx() { loaders }: Context): Promise<FileStub | null> {
    return (await loaders.files.load(dataHash)) ? { root: dataHash } : null;
  }
}

/** The verifier of a contract. */
@Resolver(() => AgentContractType)
export class AgentContractResolver {
  @FieldResolver(() => AddressScalar, {
    nullable: true,
    description:
      "The contract that currently verifies proofs for this contract, read from the chain. Null, with an error, if the chain cannot be read.",
  })
  verifier(@Root() { address }: AgentContract, @Ctx() { services }: Context): Promise<Hex> {
    return services.agentTokens.verifierOf(address);
  }
}

/** The accounts of a transfer. */
@Resolver(() => TokenTransferType)
export class TokenTransferResolver {
  @FieldResolver(() => AccountStub, { nullable: true, description: "The previous owner. Null for a mint." })
  from(@Root() { from }: TokenTransfer): AccountStub | null {
    return from && { address: from };
  }

  @FieldResolver(() => AccountStub, { nullable: true, description: "The new owner. Null for a burn." })
  to(@Root() { to }: TokenTransfer): AccountStub | null {
    return to && { address: to };
  }
}

/** The accounts of an authorization. */
@Resolver(() => TokenAuthorizationType)
export class TokenAuthorizationResolver {
  @FieldResolver(() => AccountStub, { description: "The account that may use the token." })
  user(@Root() { user }: Authorization): AccountStub {
    return { address: user };
  }

  @FieldResolver(() => AccountStub, { description: "The account that authorized the user." })
  authorizedBy(@Root() { by }: Authorization): AccountStub {
    return { address: by };
  }
}

/** The token and the accounts of a clone. */
@Resolver(() => TokenCloneType)
export class TokenCloneResolver {
  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The clone. Null if a reorg removed it.",
  })
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

/** The token of a key that another subgraph sent. */
export function findAgentToken(
  { contract, tokenId }: { readonly contract: unknown; readonly tokenId: unknown },
  { loaders }: Context,
): Promise<AgentToken | undefined> {
  return loaders.agentTokens.load({
    contract: AddressScalar.parseValue(contract),
    tokenId: BigInt(BigIntScalar.parseValue(tokenId)),
  });
}
