import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Field, FieldResolver, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent, OrderFulfilled } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, EventType, FollowsLive, toEvent } from "../../shared/events/event.type.ts";
import { AddressScalar, BigIntScalar, CursorScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import { type AgentToken, AgentTokenType } from "../agents/agent-token.type.ts";

type Subscribing = {
  readonly args: {
    readonly tokenId?: string | null;
    readonly account?: Hex | null;
    readonly after?: string | null;
  };
  readonly context: Context;
};

/** News of a fulfilled order. The rest of its fields are resolved. */
@ObjectType("OrderFulfilledEvent", {
  description: "An order of the market was fulfilled, or the chain took that back.",
  implements: EventType,
  simpleResolvers: true,
})
export class OrderFulfilledEventType extends EventType {
  @Field(() => Boolean, { description: "Whether a reorganisation of the chain took it back." })
  removed!: boolean;

  @Field(() => AddressScalar, { description: "The market's contract." })
  market!: string;

  @Field(() => AddressScalar, { description: "The token's contract." })
  contract!: string;

  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: bigint;

  @Field(() => BigIntScalar, { description: "The price, in the smallest unit of its currency." })
  price!: bigint;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The ERC-20 that was paid, null for the network's token.",
  })
  currency!: string | null;

  @Field(() => BigIntScalar, { description: "The block of it." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction of it." })
  transactionHash!: string;

  /** The published event. */
  news!: OrderFulfilled;
}

/** Tells of orders that are fulfilled. */
@Resolver(() => OrderFulfilledEventType)
export class OrderFulfilledSubscription {
  @FollowsLive()
  @Subscription(() => OrderFulfilledEventType, {
    description:
      "Fulfilled orders of the market: all, or of one token, seller or buyer. Events that a reorg reverts are published again as `removed`. Public, as on the chain.",
    subscribe: followFulfilments,
  })
  orderFulfilled(
    @Root() event: DomainEvent<"order.fulfilled">,
    @Ctx() { services }: Context,
    @Arg("tokenId", () => BigIntScalar, { nullable: true, description: "Only those of this token." })
    _tokenId: string | null,
    @Arg("account", () => AddressScalar, {
      nullable: true,
      description: "Only those with this seller or buyer.",
    })
    _account: Hex | null,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): OrderFulfilledEventType {
    const { data } = event;
    const numbers = {
      tokenId: BigInt(data.tokenId),
      price: BigInt(data.price),
      blockNumber: BigInt(data.blockNumber),
    };
    return { ...toEvent(event, services.events), ...data, ...numbers, news: data };
  }

  @FieldResolver(() => AccountStub, { description: "Who sold." })
  seller(@Root() { news }: OrderFulfilledEventType): AccountStub {
    return { address: news.seller };
  }

  @FieldResolver(() => AccountStub, { description: "Who bought." })
  buyer(@Root() { news }: OrderFulfilledEventType): AccountStub {
    return { address: news.buyer };
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The token as it is now, null where its contract is not read here.",
  })
  token(
    @Root() { news }: OrderFulfilledEventType,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract: news.contract as Hex, tokenId: BigInt(news.tokenId) });
  }
}

function followFulfilments({ args, context }: Subscribing): Promise<EventStream<"order.fulfilled">> {
  const { tokenId, account, after } = args;
  const filter = {
    tokenId: tokenId == null ? undefined : BigInt(tokenId),
    account: account ?? undefined,
  };
  return context.services.market.follow(filter, after ?? undefined);
}
