import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { DomainEvent, SealedKeyPublished } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import type { SealedKey } from "./sealed-key.type.ts";

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
  payload!: SealedKeyPublished;
}

/** Maps an event of sealed keys to its GraphQL type. */
export function toSealedKeyEvent(
  event: DomainEvent<"sealed-key.published">,
  cursors: CursorSource,
): SealedKeyEventType {
  return { ...toEvent(event, cursors), removed: event.data.removed, payload: event.data };
}

/** The keys included in the event; undefined if they were too long to include. */
export function keysOf({ payload, at }: SealedKeyEventType): SealedKey | undefined {
  const { keys } = payload;
  return (
    (keys && {
      id: payload.sealedKeyId,
      contract: payload.contract as Hex,
      tokenId: BigInt(payload.tokenId),
      from: payload.from as Hex | null,
      to: payload.to as Hex,
      cause: payload.cause,
      keys: keys as SealedKey["keys"],
      keyCount: payload.keyCount,
      blockNumber: BigInt(payload.blockNumber),
      logIndex: payload.logIndex,
      blockHash: payload.blockHash as Hex,
      transactionHash: payload.transactionHash as Hex,
      seenAt: at,
      removed: payload.removed,
      cursor: "",
    }) ??
    undefined
  );
}
