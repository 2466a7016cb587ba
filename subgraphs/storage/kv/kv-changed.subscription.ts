import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Field, FieldResolver, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { KvTransaction } from "../../../src/storage/kv/kv.service.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, EventType, FollowsLive, toEvent } from "../../shared/events/event.type.ts";
import { BigIntScalar, CursorScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";
import { KvTransactionType } from "./kv.type.ts";

/** A change of a stream. */
@ObjectType("KvEvent", {
  description: "A transaction that took effect on a stream, or was reverted by a reorg.",
  implements: EventType,
  simpleResolvers: true,
})
class KvEventType extends EventType {
  @Field(() => Hash32Scalar, { description: "The id of the stream." })
  streamId!: Hex;

  @Field(() => BigIntScalar, {
    description: "The transaction's sequence number: the version of the keys it wrote.",
  })
  txSeq!: bigint;

  @Field(() => Boolean, {
    description: "Whether a reorg reverted the transaction: the previous versions are current again.",
  })
  removed!: boolean;

  /** What tells the transaction from one that took its sequence number after a reorg. */
  event!: DomainEvent<"kv.committed">["data"];
}

/** Emits every change of a stream. */
@Resolver(() => KvEventType)
export class KvChangedSubscription {
  @FollowsLive()
  @Subscription(() => KvEventType, {
    description:
      "Emits every transaction that takes effect on a stream, and again as `removed` when a reorg reverts it. The stream need not have been written to yet.",
    subscribe: follow,
  })
  kvChanged(
    @Root() event: DomainEvent<"kv.committed">,
    @Ctx() { services }: Context,
    @Arg("streamId", () => Hash32Scalar, { description: "The id of the stream." }) _streamId: string,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): KvEventType {
    const { streamId, txSeq, removed } = event.data;
    const numbers = { streamId: streamId as Hex, txSeq: BigInt(txSeq) };
    return { ...toEvent(event, services.events), ...numbers, removed, event: event.data };
  }

  @FieldResolver(() => KvTransactionType, {
    nullable: true,
    description:
      "The transaction. Null if a reorg reverted it, even if another one has its sequence number now.",
  })
  async transaction(
    @Root() { txSeq, event: { root, sender } }: KvEventType,
    @Ctx() { loaders }: Context,
  ): Promise<KvTransaction | undefined> {
    const found = await loaders.kvTransactions.load(txSeq);
    return found?.root === root && found.sender === sender ? found : undefined;
  }
}

type Subscribing = {
  readonly args: { readonly streamId: string; readonly after?: string | null };
  readonly context: Context;
};

async function follow({ args, context }: Subscribing): Promise<EventStream<"kv.committed">> {
  const filter = { topic: "kv.committed", subject: args.streamId } as const;
  return context.services.events.follow(filter, args.after ?? undefined);
}
