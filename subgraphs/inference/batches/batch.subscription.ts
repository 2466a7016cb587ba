import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, ID, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { Batch } from "../../../src/inference/batches/batch.ts";
import { readBatchId } from "../../../src/inference/batches/batch-id.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION } from "../../shared/events/event.type.ts";
import { NODE_FINDERS } from "../../shared/nodes/find-node.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { CursorScalar } from "../../shared/schema/scalars.ts";
import { BatchEventType, BatchType, toBatchEvent } from "./batch.type.ts";

type Subscribing<Args> = {
  readonly args: Args & { readonly after?: string | null };
  readonly context: Context;
};

/** Emits every change of the caller's batches. */
@Resolver(() => BatchEventType)
export class BatchSubscription {
  @Subscription(() => BatchEventType, {
    description:
      "Emits the changes of one of the caller's batches, starting with its current state. Changes of its counts are emitted about once a second. The stream ends with the batch. Requires the `sk-` key that created the batch, or the " +
      "scope `account:read`.",
    subscribe: followOne,
  })
  batchProgress(
    @Root() event: DomainEvent<"job.progressed">,
    @Ctx() { services }: Context,
    @Arg("id", () => ID, { description: "The batch's id." }) _id: string,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): BatchEventType {
    return toBatchEvent(event, services.events);
  }

  @Subscription(() => BatchEventType, {
    description:
      "Emits the changes of all of the caller's batches, starting with the current state of each unfinished batch. " +
      "Requires an `sk-` key (the batches it created) or the scope `account:read` (the batches of every key).",
    subscribe: followAll,
  })
  batchChanged(
    @Root() event: DomainEvent<"job.progressed">,
    @Ctx() { services }: Context,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): BatchEventType {
    return toBatchEvent(event, services.events);
  }

  @FieldResolver(() => BatchType, {
    nullable: true,
    description: "The current state of the batch. Null if it is no longer stored.",
  })
  batch(@Root() { batchId }: BatchEventType, @Ctx() context: Context): Promise<Batch | undefined> {
    return NODE_FINDERS.Batch(batchId, context);
  }
}

async function followOne({
  args,
  context,
}: Subscribing<{ readonly id: string }>): Promise<EventStream<"job.progressed">> {
  const reach = permit(context.principal, "job.read");
  const id = readBatchId(readKeyOf("Batch", args.id));
  return context.services.batches.followOne(reach, id, args.after ?? undefined);
}

async function followAll({ args, context }: Subscribing<object>): Promise<EventStream<"job.progressed">> {
  const reach = permit(context.principal, "job.read");
  return context.services.batches.followAll(reach, args.after ?? undefined);
}
