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

/** A transfer event. The rest of its fields are resolved. */
@ObjectType("TokenTransferEvent", {
  description: "An agent token was transferred, or a reorg reverted a transfer.",
  implements: EventType,
  simpleResolvers: true,
})
export class TokenTransferEventType extends EventType {
  @Field(() => Boolean, { description: "Whether a reorg reverted the transfer." })
  removed!: boolean;

  @Field(() => AddressScalar, { description: "The token's contract." })
  contract!: string;

  @Field(() => BigIntScalar, { description: "The token's id." })
  tokenId!: bigint;

  @Field(() => Boolean, { description: "Whether the transfer came with keys sealed for the receiver." })
  withKey!: boolean;

  @Field(() => BigIntScalar, { description: "The block of the transfer." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction of the transfer." })
  transactionHash!: string;

  /** The published event. */
  payload!: TokenTransferred;
}

/** Emits transfers of agent tokens. */
@Resolver(() => TokenTransferEventType)
export class AgentTransferSubscription {
  @FollowsLive()
  @Subscription(() => TokenTransferEventType, {
    description:
      "Emits transfers of agent tokens, including mints and burns: all transfers, or those of one contract or token. A " +
      "transfer that a reorg reverts is emitted again as `removed`. Public on-chain data.",
    subscribe: followTransfers,
  })
  tokenTransferred(
    @Root() event: DomainEvent<"token.transferred">,
    @Ctx() { services }: Context,
    @Arg("contract", () => AddressScalar, {
      nullable: true,
      description: "Emit only transfers in this contract.",
    })
    _contract: Hex | null,
    @Arg("tokenId", () => BigIntScalar, {
      nullable: true,
      description: "Emit only transfers of this token id.",
    })
    _tokenId: string | null,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): TokenTransferEventType {
    const { data } = event;
    const numbers = { tokenId: BigInt(data.tokenId), blockNumber: BigInt(data.blockNumber) };
    return { ...toEvent(event, services.events), ...data, ...numbers, payload: data };
  }

  @FieldResolver(() => AccountStub, { nullable: true, description: "The previous owner. Null for a mint." })
  from(@Root() { payload }: TokenTransferEventType): AccountStub | null {
    return toAccount(payload.from);
  }

  @FieldResolver(() => AccountStub, { nullable: true, description: "The new owner. Null for a burn." })
  to(@Root() { payload }: TokenTransferEventType): AccountStub | null {
    return toAccount(payload.to);
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The current state of the token. Null if a reorg removed it.",
  })
  token(
    @Root() { payload }: TokenTransferEventType,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract: payload.contract, tokenId: BigInt(payload.tokenId) });
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
