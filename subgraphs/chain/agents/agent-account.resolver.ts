import "../../shared/schema/reflect.ts";
import { Args, Ctx, FieldResolver, Resolver, Root } from "type-graphql";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { AccountStub } from "../account.stub.ts";
import {
  AccessDelegationType,
  type AgentToken,
  AgentTokenConnection,
  type Delegation,
} from "./agent-token.type.ts";
import { type SealedKey, SealedKeyConnection } from "./sealed-key.type.ts";

/** What an account has of agent tokens. The chain tells everyone. */
@Resolver(() => AccountStub)
export class AgentAccountResolver {
  @FieldResolver(() => AgentTokenConnection, {
    description: "The agent tokens that the account has, the newest acquired first. Public, as the chain is.",
  })
  async agentTokens(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<AgentToken>> {
    const page = await services.agentTokens.list({ owner: lowerHex(address) }, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => SealedKeyConnection, {
    description: "The keys that were sealed for the account, newest first. Public, as the chain is.",
  })
  async sealedKeys(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<SealedKey>> {
    const page = await services.sealedKeys.list({ to: lowerHex(address) }, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => [AccessDelegationType], {
    description:
      "Delegates that may sign access proofs for the account, by contract. Public, as on the chain.",
  })
  accessDelegations(
    @Root() { address }: AccountStub,
    @Ctx() { loaders }: Context,
  ): Promise<readonly Delegation[]> {
    return loaders.agentDelegations.load(lowerHex(address));
  }
}

/** What a delegation leads to. */
@Resolver(() => AccessDelegationType)
export class AccessDelegationResolver {
  @FieldResolver(() => AccountStub, { description: "Who signs." })
  assistant(@Root() { assistant }: Delegation): AccountStub {
    return { address: assistant };
  }
}
