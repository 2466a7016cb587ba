import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { DomainEvent, SealedKeyPublished } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import type { SealedKey } from "./sealed-key.type.ts";

/** News of sealed keys. */
@ObjectType("SealedKeyEvent", {
  description: "Keys were sealed for a receiver, or the chain took that back.",
  implements: EventType,
  simpleResolvers: true,
})
export class SealedKeyEventType extends EventType {
  @Field(() => Boolean, {
    description:
      "Whether a reorganisation of the chain took them back: forget what has this `sealedKey { id }`.",
  })
  removed!: boolean;

  /** The published event. */
  news!: SealedKeyPublished;
}

/** News of sealed keys as the graph tells of it. */
export function toSealedKeyEvent(
  event: DomainEvent<"sealed-key.published">,
  cursors: CursorSource,
): SealedKeyEventType {
  return { ...toEvent(event, cursors), removed: event.data.removed, news: event.data };
}

/** The keys that came with the news; undefined where they are too long for that. */
export function keysOf({ news, at }: SealedKeyEventType): SealedKey | undefined {
  const { keys } = news;
  return (
    (keys && {
      id: news.sealedKeyId,
      contract: news.contract as Hex,
      tokenId: BigInt(news.tokenId),
      from: news.from as Hex | null,
      to: news.to as Hex,
      cause: news.cause,
      keys: keys as SealedKey["keys"],
      keyCount: news.keyCount,
      blockNumber: BigInt(news.blockNumber),
      logIndex: news.logIndex,
      blockHash: news.blockHash as Hex,
      transactionHash: news.transactionHash as Hex,
      seenAt: at,
      removed: news.removed,
      cursor: "",
    }) ??
    undefined
  );
}
