import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Field, FieldResolver, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import { type SealedKey, sealedKeyOf } from "../../../src/chain/agents/sealed-keys/sealed-key.ts";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, EventType, FollowsLive, toEvent } from "../../shared/events/event.type.ts";
import { AddressScalar, BigIntScalar, CursorScalar } from "../../shared/schema/scalars.ts";
import { SealedKeyType } from "./sealed-key.type.ts";

type Subscribing = {
  readonly args: {
    readonly to?: Hex | null;
    readonly contract?: Hex | null;
    readonly tokenId?: string | null;
    readonly after?: string | null;
  };
  readonly context: Context;
};

/** An event of sealed keys. */
@ObjectType("SealedKeyEvent", {
  description: "Keys were sealed for a receiver, or a reorg reverted the event.",
  implements: EventType,
  simpleResolvers: true,
})
export class SealedKeyEventType extends EventType {
  @Field(() => Boolean, {
    description: "Whether a reorg reverted the event: discard the keys with this `sealedKey { id }`.",
  })
  removed!: boolean;

  /** The published event. */
  event!: DomainEvent<"sealed-key.published">;
}

/** Emits keys that are sealed for receivers. */
@Resolver(() => SealedKeyEventType)
export class SealedKeySubscription {
  @FollowsLive()
  @Subscription(() => SealedKeyEventType, {
    description:
      "Emits keys that are sealed for receivers of agent tokens: all keys, or those of one receiver, contract or token. An " +
      "event that a reorg reverts is emitted again as `removed`. Public on-chain data.",
    subscribe: followKeys,
  })
  publishedSealedKey(
    @Root() event: DomainEvent<"sealed-key.published">,
    @Ctx() { services }: Context,
    @Arg("to", () => AddressScalar, { nullable: true, description: "Emit only keys for this receiver." })
    _to: Hex | null,
    @Arg("contract", () => AddressScalar, { nullable: true, description: "Emit only keys of this contract." })
    _contract: Hex | null,
    @Arg("tokenId", () => BigIntScalar, { nullable: true, description: "Emit only keys of this token id." })
    _tokenId: string | null,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): SealedKeyEventType {
    return { ...toEvent(event, services.events), removed: event.data.removed, event };
  }

  @FieldResolver(() => SealedKeyType, {
    nullable: true,
    description: "The sealed keys. Null from a day after a reorg reverted the event.",
  })
  async sealedKey(
    @Root() { event }: SealedKeyEventType,
    @Ctx() { loaders }: Context,
  ): Promise<SealedKey | undefined> {
    return sealedKeyOf(event) ?? loaders.sealedKeys.load(event.data.sealedKeyId);
  }
}

function followKeys({ args, context }: Subscribing): Promise<EventStream<"sealed-key.published">> {
  const { to, contract, tokenId, after } = args;
  const filter = {
    to: to ?? undefined,
    contract: contract ?? undefined,
    tokenId: tokenId == null ? undefined : BigInt(tokenId),
  };
  return context.services.sealedKeys.follow(filter, after ?? undefined);
}
