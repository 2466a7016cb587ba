import "../../shared/schema/reflect.ts";
import { Args, Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import type { SealedKey } from "../../../src/chain/agents/sealed-keys/sealed-key.ts";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Connection,
  PageArgs,
  toPageRequest,
  toPlacedConnection,
} from "../../shared/schema/connection.ts";
import { AccountStub } from "../account.stub.ts";
import {
  AccessDelegationType,
  type AgentToken,
  AgentTokenConnection,
  type Delegation,
} from "./agent-token.type.ts";
import { SealedKeyConnection } from "./sealed-key.type.ts";

/** An account's agent tokens. Public on-chain data. */
@Resolver(() => AccountStub)
export class AgentAccountResolver {
  @FieldResolver(() => AgentTokenConnection, {
    nullable: true,
    description:
      "The agent tokens that the account owns, most recently acquired first. Public on-chain data.",
  })
  async agentTokens(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<AgentToken>> {
    const filter = { owner: lowerHex(address) };
    const page = await services.agentTokens.list(filter, toPageRequest(args));
    return toPlacedConnection(page, () => services.agentTokens.count(filter));
  }

  @FieldResolver(() => SealedKeyConnection, {
    nullable: true,
    description: "The keys that were sealed for the account, newest first. Public on-chain data.",
  })
  async sealedKeys(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<SealedKey>> {
    const filter = { to: lowerHex(address) };
    const page = await services.sealedKeys.list(filter, toPageRequest(args));
    return toPlacedConnection(page, () => services.sealedKeys.count(filter));
  }

  @FieldResolver(() => [AccessDelegationType], {
    description:
      "The assistants that may sign access proofs for the account, by contract. Public on-chain data.",
  })
  accessDelegations(
    @Root() { address }: AccountStub,
    @Ctx() { loaders }: Context,
  ): Promise<readonly Delegation[]> {
    return loaders.agentDelegations.load(lowerHex(address));
  }
}

/** The assistant of a delegation. */
@Resolver(() => AccessDelegationType)
export class AccessDelegationResolver {
  @FieldResolver(() => AccountStub, { description: "The account that signs access proofs." })
  assistant(@Root() { assistant }: Delegation): AccountStub {
    return { address: assistant };
  }
}
