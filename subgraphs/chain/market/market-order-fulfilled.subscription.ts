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

/** A fulfilled order event. The rest of its fields are resolved. */
@ObjectType("OrderFulfilledEvent", {
  description: "An order of the market was fulfilled, or a reorg reverted a fulfillment.",
  implements: EventType,
  simpleResolvers: true,
})
export class OrderFulfilledEventType extends EventType {
  @Field(() => Boolean, { description: "Whether a reorg reverted the fulfillment." })
  removed!: boolean;

  @Field(() => AddressScalar, {
    name: "marketAddress",
    simple: false,
    description: "The market's contract.",
  })
  market!: string;

  @Field(() => AddressScalar, { description: "The token's contract." })
  contract!: string;

  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: bigint;

  @Field(() => BigIntScalar, { description: "The price, in the smallest unit of the currency." })
  price!: bigint;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The ERC-20 contract of the payment. Null for the network's token.",
  })
  currency!: string | null;

  @Field(() => BigIntScalar, { description: "The block of the fulfillment." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction of the fulfillment." })
  transactionHash!: string;

  /** The published event. */
  payload!: OrderFulfilled;
}

/** Emits fulfilled orders. */
@Resolver(() => OrderFulfilledEventType)
export class OrderFulfilledSubscription {
  @FollowsLive()
  @Subscription(() => OrderFulfilledEventType, {
    description:
      "Emits fulfilled orders of the market: all orders, or those of one token, seller or buyer. A fulfillment that a reorg " +
      "reverts is emitted again as `removed`. Public on-chain data.",
    subscribe: followFulfilments,
  })
  orderFulfilled(
    @Root() event: DomainEvent<"order.fulfilled">,
    @Ctx() { services }: Context,
    @Arg("tokenId", () => BigIntScalar, { nullable: true, description: "Emit only orders of this token." })
    _tokenId: string | null,
    @Arg("account", () => AddressScalar, {
      nullable: true,
      description: "Emit only orders with this seller or buyer.",
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
    return { ...toEvent(event, services.events), ...data, ...numbers, payload: data };
  }

  @FieldResolver(() => AccountStub, { description: "The seller." })
  seller(@Root() { payload }: OrderFulfilledEventType): AccountStub {
    return { address: payload.seller };
  }

  @FieldResolver(() => AccountStub, { description: "The buyer." })
  buyer(@Root() { payload }: OrderFulfilledEventType): AccountStub {
    return { address: payload.buyer };
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The current state of the token. Null if its contract is not indexed by this service.",
  })
  token(
    @Root() { payload }: OrderFulfilledEventType,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract: payload.contract, tokenId: BigInt(payload.tokenId) });
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
