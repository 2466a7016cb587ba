import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Field, FieldResolver, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent, TokenTransferred } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, EventType, FollowsLive, toEvent } from "../../shared/events/event.type.ts";
import { AddressScalar, BigIntScalar, CursorScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import { type AgentToken, AgentTokenType } from "./agent-token.type.ts";

type Subscribing = {
  readonly args: {
    readonly contract?: Hex | null;
    readonly tokenId?: string | null;
    readonly after?: string | null;
  };
  readonly context: Context;
};

const ZERO_ADDRESS = `0x${"0".repeat(40)}`;

/** News of a token's move. The rest of its fields are resolved. */
@ObjectType("TokenTransferEvent", {
  description: "An agent token moved, or the chain took that back.",
  implements: EventType,
  simpleResolvers: true,
})
export class TokenTransferEventType extends EventType {
  @Field(() => Boolean, { description: "Whether a reorganisation of the chain took the move back." })
  removed!: boolean;

  @Field(() => AddressScalar, { description: "The token's contract." })
  contract!: string;

  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: bigint;

  @Field(() => Boolean, { description: "Whether keys were sealed for the receiver with it." })
  withKey!: boolean;

  @Field(() => BigIntScalar, { description: "The block of it." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction of it." })
  transactionHash!: string;

  /** The published event. */
  news!: TokenTransferred;
}

/** Tells of moves of agent tokens. */
@Resolver(() => TokenTransferEventType)
export class AgentTransferSubscription {
  @FollowsLive()
  @Subscription(() => TokenTransferEventType, {
    description:
      "Transfers of agent tokens, including mints and burns: all, of one contract or of one token. Events that a reorg reverts are published again as `removed`. Public, as on the chain.",
    subscribe: followTransfers,
  })
  tokenTransferred(
    @Root() event: DomainEvent<"token.transferred">,
    @Ctx() { services }: Context,
    @Arg("contract", () => AddressScalar, { nullable: true, description: "Only those of this contract." })
    _contract: Hex | null,
    @Arg("tokenId", () => BigIntScalar, { nullable: true, description: "Only those of this token id." })
    _tokenId: string | null,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): TokenTransferEventType {
    const { data } = event;
    const numbers = { tokenId: BigInt(data.tokenId), blockNumber: BigInt(data.blockNumber) };
    return { ...toEvent(event, services.events), ...data, ...numbers, news: data };
  }

  @FieldResolver(() => AccountStub, { nullable: true, description: "Whose it was, null when it was minted." })
  from(@Root() { news }: TokenTransferEventType): AccountStub | null {
    return toAccount(news.from);
  }

  @FieldResolver(() => AccountStub, {
    nullable: true,
    description: "Whose it is then, null when it was burned.",
  })
  to(@Root() { news }: TokenTransferEventType): AccountStub | null {
    return toAccount(news.to);
  }

  @FieldResolver(() => AgentTokenType, { nullable: true, description: "The token as it is now." })
  token(
    @Root() { news }: TokenTransferEventType,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract: news.contract as Hex, tokenId: BigInt(news.tokenId) });
  }
}

function followTransfers({ args, context }: Subscribing): Promise<EventStream<"token.transferred">> {
  const { contract, tokenId, after } = args;
  const filter = { contract: contract ?? undefined, tokenId: tokenId == null ? undefined : BigInt(tokenId) };
  return context.services.sealedKeys.followTransfers(filter, after ?? undefined);
}

function toAccount(address: string): AccountStub | null {
  return address === ZERO_ADDRESS ? null : { address };
}
