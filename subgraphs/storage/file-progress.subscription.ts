import "../shared/schema/reflect.ts";
import { Arg, Ctx, Field, FieldResolver, Int, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../src/events/bus.ts";
import type { DomainEvent, FileProgress } from "../../src/events/topics.ts";
import type { Hex } from "../../src/kernel/text/hex.ts";
import type { SubmittedFile } from "../../src/storage/submissions.service.ts";
import type { Context } from "../shared/context.ts";
import { AFTER_DESCRIPTION, EventType, toEvent } from "../shared/events/event.type.ts";
import { BigIntScalar, CursorScalar, Hash32Scalar } from "../shared/schema/scalars.ts";
import { FileStatus, FileType } from "./file.type.ts";

/** A step of a file. */
@ObjectType("FileEvent", {
  description: "A step of a file on its way to being stored.",
  implements: EventType,
  simpleResolvers: true,
})
class FileEventType extends EventType {
  @Field(() => Hash32Scalar, { description: "The file's merkle root." })
  root!: string;

  @Field(() => Int, { description: "The step's number for its file, from 1. It only grows." })
  sequence!: number;

  @Field(() => FileStatus, { description: "How the file stands by it." })
  status!: FileProgress["status"];

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The submission that is meant, once there is one.",
  })
  txSeq!: bigint | null;

  @Field(() => Int, { description: "How many segments its bytes fill." })
  segments!: number;

  @Field(() => Int, { description: "How many of them are here." })
  uploadedSegments!: number;
}

/** Tells how a file comes on. */
@Resolver(() => FileEventType)
export class FileProgressSubscription {
  @Subscription(() => FileEventType, {
    description:
      "The progress of a file, which need not be submitted yet: its current state first, then its submission, its " +
      "segments (by the hundredth of the file), until it is finalized, with which the stream ends.",
    subscribe: follow,
  })
  fileProgress(
    @Root() event: DomainEvent<"file.progressed">,
    @Ctx() { services }: Context,
    @Arg("root", () => Hash32Scalar, { description: "The file's merkle root." }) _root: string,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): FileEventType {
    const { txSeq, ...step } = event.data;
    return { ...toEvent(event, services.events), ...step, txSeq: txSeq === null ? null : BigInt(txSeq) };
  }

  @FieldResolver(() => FileType, { nullable: true, description: "The file, once the chain has it." })
  file(@Root() { root }: FileEventType, @Ctx() { loaders }: Context): Promise<SubmittedFile | undefined> {
    return loaders.files.load(root as Hex);
  }
}

type Subscribing = {
  readonly args: { readonly root: string; readonly after?: string | null };
  readonly context: Context;
};

async function follow({ args, context }: Subscribing): Promise<EventStream<"file.progressed">> {
  return context.services.progress.follow(args.root as Hex, args.after ?? undefined);
}
