import "../../shared/schema/reflect.ts";
import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  InputType,
  Int,
  Query,
  Resolver,
  Root,
} from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Connection,
  PageArgs,
  toPageRequest,
  toPlacedConnection,
} from "../../shared/schema/connection.ts";
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
    description: "The ERC-20 contract. Default: the network's token.",
  });

/** The filter of a list of fulfilled orders. */
@InputType("MarketFillFilterInput", {
  description: "Lists only fulfilled orders that meet every given condition.",
})
class MarketFillFilterInput {
  @Field(() => BigIntScalar, { nullable: true, description: "Orders for this token." })
  tokenId!: string | null | undefined;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "Orders whose seller or buyer is this account.",
  })
  account!: Hex | null | undefined;
}

/** The arguments of a list of fulfilled orders. */
@ArgsType()
class MarketFillsArgs extends PageArgs {
  @Field(() => MarketFillFilterInput, { nullable: true, description: "Which orders to list. Default: all." })
  filter!: MarketFillFilterInput | null | undefined;
}

/** The market of agent tokens. */
@Resolver(() => MarketType)
export class MarketResolver {
  @Query(() => MarketType, {
    nullable: true,
    description: "The market of agent tokens. Fails with `contract_not_found` if none is configured.",
  })
  market(@Ctx() { services }: Context): Promise<MarketState> {
    return services.market.state();
  }

  @FieldResolver(() => MarketFillConnection, {
    nullable: true,
    description: "The fulfilled orders, or those that match a filter, newest first.",
  })
  async fills(
    @Args(() => MarketFillsArgs) args: MarketFillsArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<MarketFill>> {
    const { tokenId, account } = args.filter ?? {};
    const filter = {
      tokenId: tokenId == null ? undefined : BigInt(tokenId),
      account: account ?? undefined,
    };
    const page = await services.market.fills(filter, toPageRequest(args));
    return toPlacedConnection(page, () => services.market.countFills(filter));
  }

  @FieldResolver(() => NeuronScalar, {
    nullable: true,
    description: "An account's balance in the market. The account's signed offers can be paid from it.",
  })
  balance(
    @Arg("account", () => AddressScalar, { description: "The account's address." }) account: Hex,
    @Ctx() { services }: Context,
  ): Promise<bigint> {
    return services.market.balanceOf(account);
  }

  @FieldResolver(() => BigIntScalar, {
    nullable: true,
    description: "The platform's accrued fees, in the smallest unit of the currency.",
  })
  feeBalance(@CurrencyArg() currency: Hex | null, @Ctx() { services }: Context): Promise<bigint> {
    return services.market.feeBalance(currency ?? null);
  }

  @FieldResolver(() => MarketPartnerType, {
    nullable: true,
    description: "An account's share of the market's fees.",
  })
  partner(
    @Arg("address", () => AddressScalar, { description: "The account's address." }) address: Hex,
  ): MarketPartnerType {
    return { address };
  }
}

/** An account's share of the fees. */
@Resolver(() => MarketPartnerType)
export class MarketPartnerResolver {
  @FieldResolver(() => Int, {
    description: "The account's share of the fees, not of the price, in basis points (0.01 %).",
  })
  feeRate(@Root() { address }: MarketPartnerType, @Ctx() { services }: Context): Promise<number> {
    return services.market.partnerRate(address as Hex);
  }

  @FieldResolver(() => BigIntScalar, {
    nullable: true,
    description: "The account's accrued fees, in the smallest unit of the currency.",
  })
  feeBalance(
    @Root() { address }: MarketPartnerType,
    @CurrencyArg() currency: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<bigint> {
    return services.market.partnerFeeBalance(address as Hex, currency ?? null);
  }
}

/** The accounts and the token of a fulfilled order. */
@Resolver(() => MarketFillType)
export class MarketFillResolver {
  @FieldResolver(() => AccountStub, { description: "The seller." })
  seller(@Root() { seller }: MarketFill): AccountStub {
    return { address: seller };
  }

  @FieldResolver(() => AccountStub, { description: "The buyer." })
  buyer(@Root() { buyer }: MarketFill): AccountStub {
    return { address: buyer };
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The current state of the token. Null if its contract is not indexed by this service.",
  })
  token(
    @Root() { token, tokenId }: MarketFill,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract: token, tokenId });
  }
}

/** An account's balance and history in the market. Public on-chain data. */
@Resolver(() => AccountStub)
export class MarketAccountResolver {
  @FieldResolver(() => NeuronScalar, {
    nullable: true,
    description:
      "The account's balance in the market of agent tokens, separate from the router's balance and the direct " +
      "path. Public on-chain data.",
  })
  marketBalance(@Root() { address }: AccountStub, @Ctx() { services }: Context): Promise<bigint> {
    return services.market.balanceOf(address as Hex);
  }

  @FieldResolver(() => MarketFillConnection, {
    nullable: true,
    description: "The account's sales and purchases on the market, newest first. Public on-chain data.",
  })
  async marketFills(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<MarketFill>> {
    const filter = { account: address as Hex };
    const page = await services.market.fills(filter, toPageRequest(args));
    return toPlacedConnection(page, () => services.market.countFills(filter));
  }

  @FieldResolver(() => MarketMoveConnection, {
    nullable: true,
    description:
      "The changes of the account's balance in the market, newest first. Purchases are in `marketFills` instead. " +
      "Public on-chain data.",
  })
  async marketMoves(
    @Root() { address }: AccountStub,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<MarketMove>> {
    const account = address as Hex;
    const page = await services.market.moves(account, toPageRequest(args));
    return toPlacedConnection(page, () => services.market.countMoves(account));
  }
}
