import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Field, FieldResolver, Int, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent, FileProgress } from "../../../src/events/topics.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { SubmittedFile } from "../../../src/storage/submissions/submissions.service.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION, EventType, toEvent } from "../../shared/events/event.type.ts";
import { BigIntScalar, CursorScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";
import { FileStatus, FileType } from "./file.type.ts";

/** A step in storing a file. */
@ObjectType("FileEvent", {
  description: "A step in storing a file.",
  implements: EventType,
  simpleResolvers: true,
})
class FileEventType extends EventType {
  @Field(() => Hash32Scalar, { description: "The file's merkle root." })
  root!: string;

  @Field(() => Int, {
    description: "1-based sequence number of the step within its file. It only increases.",
  })
  sequence!: number;

  @Field(() => FileStatus, { description: "The file's status after the step." })
  status!: FileProgress["status"];

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The sequence number of the submission. Null before there is one.",
  })
  txSeq!: bigint | null;

  @Field(() => Int, {
    name: "segmentCount",
    simple: false,
    description: "The number of 256 KiB segments of the file.",
  })
  segments!: number;

  @Field(() => Int, {
    name: "uploadedSegmentCount",
    simple: false,
    description: "The number of segments stored by this service.",
  })
  uploadedSegments!: number;
}

/** Emits the progress of a file. */
@Resolver(() => FileEventType)
export class FileProgressSubscription {
  @Subscription(() => FileEventType, {
    description:
      "Emits the progress of a file: its current state, its submission, and its stored segments (in steps of 1% of the file). The file need not be submitted yet. The stream ends when the file is finalized.",
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

  @FieldResolver(() => FileType, {
    nullable: true,
    description: "The file. Null before it is submitted on chain.",
  })
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
