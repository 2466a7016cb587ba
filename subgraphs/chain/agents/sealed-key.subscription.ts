import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, FollowsLive } from "../../shared/events/event.type.ts";
import { AddressScalar, BigIntScalar, CursorScalar } from "../../shared/schema/scalars.ts";
import { type SealedKey, SealedKeyType } from "./sealed-key.type.ts";
import { keysOf, SealedKeyEventType, toSealedKeyEvent } from "./sealed-key-event.type.ts";

type Subscribing = {
  readonly args: {
    readonly to?: Hex | null;
    readonly contract?: Hex | null;
    readonly tokenId?: string | null;
    readonly after?: string | null;
  };
  readonly context: Context;
};

/** Emits keys that are sealed for receivers. */
@Resolver(() => SealedKeyEventType)
export class SealedKeySubscription {
  @FollowsLive()
  @Subscription(() => SealedKeyEventType, {
    description:
      "Emits keys that are sealed for receivers of agent tokens: all, or of one receiver, contract or token. An " +
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
    return toSealedKeyEvent(event, services.events);
  }

  @FieldResolver(() => SealedKeyType, {
    nullable: true,
    description: "The sealed keys. Null from a day after a reorg reverted the event.",
  })
  async sealedKey(
    @Root() event: SealedKeyEventType,
    @Ctx() { loaders }: Context,
  ): Promise<SealedKey | undefined> {
    return keysOf(event) ?? loaders.sealedKeys.load(event.payload.sealedKeyId);
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
