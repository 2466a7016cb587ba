import "../../shared/schema/reflect.ts";
import { Arg, Args, ArgsType, Ctx, Field, FieldResolver, Int, Query, Resolver, Root } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import { type AgentToken, AgentTokenType } from "../agents/agent-token.type.ts";
import {
  type MarketFill,
  MarketFillConnection,
  MarketFillType,
  type MarketMove,
  MarketMoveConnection,
  MarketPartnerType,
  type MarketState,
  MarketType,
} from "./market.type.ts";

const CurrencyArg = () =>
  Arg("currency", () => AddressScalar, {
    nullable: true,
    description: "An ERC-20; none for the network's token.",
  });

/** A page of fills, and which. */
@ArgsType()
class FillArgs extends PageArgs {
  @Field(() => BigIntScalar, { nullable: true, description: "Only those of this token." })
  tokenId!: string | null | undefined;

  @Field(() => AddressScalar, { nullable: true, description: "Only those with this seller or buyer." })
  account!: Hex | null | undefined;
}

/** The market of agent tokens. */
@Resolver(() => MarketType)
export class MarketResolver {
  @Query(() => MarketType, {
    nullable: true,
    description: "The market of agent tokens. Fails with `contract_not_found` where none is configured.",
  })
  market(@Ctx() { services }: Context): Promise<MarketState> {
    return services.market.state();
  }

  @FieldResolver(() => MarketFillConnection, {
    description: "The orders that were fulfilled, newest first.",
  })
  async fills(
    @Args(() => FillArgs) args: FillArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<MarketFill>> {
    const filter = {
      tokenId: args.tokenId == null ? undefined : BigInt(args.tokenId),
      account: args.account ?? undefined,
    };
    const page = await services.market.fills(filter, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => NeuronScalar, {
    description: "What an account has in the market: offers that it has signed may be paid from it.",
  })
  balance(
    @Arg("account", () => AddressScalar, { description: "Whose." }) account: Hex,
    @Ctx() { services }: Context,
  ): Promise<bigint> {
    return services.market.balanceOf(account);
  }

  @FieldResolver(() => BigIntScalar, {
    description: "The platform's fees that wait, in the smallest unit of the currency.",
  })
  feeBalance(@CurrencyArg() currency: Hex | null, @Ctx() { services }: Context): Promise<bigint> {
    return services.market.feeBalance(currency ?? null);
  }

  @FieldResolver(() => MarketPartnerType, { description: "An account's part in the fees." })
  partner(
    @Arg("address", () => AddressScalar, { description: "Whose part." }) address: Hex,
  ): MarketPartnerType {
    return { address };
  }
}

/** An account's part in the fees. */
@Resolver(() => MarketPartnerType)
export class MarketPartnerResolver {
  @FieldResolver(() => Int, {
    description: "Its share of the fees, and not of the price, in hundredths of a percent.",
  })
  feeRate(@Root() { address }: MarketPartnerType, @Ctx() { services }: Context): Promise<number> {
    return services.market.partnerRate(address as Hex);
  }

  @FieldResolver(() => BigIntScalar, {
    description: "Its fees that wait, in the smallest unit of the currency.",
  })
  feeBalance(
    @Root() { address }: MarketPartnerType,
    @CurrencyArg() currency: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<bigint> {
    return services.market.partnerFeeBalance(address as Hex, currency ?? null);
  }
}

/** What a fulfilled order leads to. */
@Resolver(() => MarketFillType)
export class MarketFillResolver {
  @FieldResolver(() => AccountStub, { description: "Who sold." })
  seller(@Root() { seller }: MarketFill): AccountStub {
    return { address: seller };
  }

  @FieldResolver(() => AccountStub, { description: "Who bought." })
  buyer(@Root() { buyer }: MarketFill): AccountStub {
    return { address: buyer };
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The token as it is now, null where its contract is not read here.",
  })
  token(
    @Root() { token, tokenId }: MarketFill,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract: token, tokenId });
  }
}

/** What an account has and does on the market. The chain tells everyone. */
@Resolver(() => AccountStub)
export class MarketAccountResolver {
  @FieldResolver(() => NeuronScalar, {
    nullable: true,
    description:
      "What the account has in the market of agent tokens, a pool of its own beside the router's balance and the direct path. Public, as the chain is.",
  })
  marketBalance(@Root() { address }: AccountStub, @Ctx() { services }: Context): Promise<bigint> {
    return services.market.balanceOf(address as Hex);
  }

  @FieldResolver(() => MarketFillConnection, {
    nullable: true,
    description: "What the account sold and bought on the market, newest first. Public, as the chain is.",
  })
  async marketFills(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<MarketFill>> {
    const page = await services.market.fills({ account: address as Hex }, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => MarketMoveConnection, {
    nullable: true,
    description:
      "What moved the account's balance in the market, newest first. What it bought from it is among the fills. Public, as the chain is.",
  })
  async marketMoves(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<MarketMove>> {
    const page = await services.market.moves(address as Hex, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }
}
