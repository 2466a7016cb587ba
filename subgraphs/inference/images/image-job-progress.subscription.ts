import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, ID, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { JobView } from "../../../src/jobs/jobs.service.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION } from "../../shared/events/event.type.ts";
import { NODE_FINDERS } from "../../shared/nodes/find-node.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { CursorScalar } from "../../shared/schema/scalars.ts";
import { ImageJobType } from "./image-job.type.ts";
import { ImageJobEventType, toJobEvent } from "./image-job-event.type.ts";

type Subscribing<Args> = {
  readonly args: Args & { readonly after?: string | null };
  readonly context: Context;
};

/** Emits every step of the caller's image jobs. */
@Resolver(() => ImageJobEventType)
export class ImageJobProgressSubscription {
  @Subscription(() => ImageJobEventType, {
    description:
      "Emits every step of one of the caller's image jobs, starting with its current state. The stream ends with " +
      "the job. Requires the `sk-` key that created the job, or the scope `account:read`.",
    subscribe: followOne,
  })
  imageJobProgress(
    @Root() event: DomainEvent<"job.progressed">,
    @Ctx() { services }: Context,
    @Arg("id", () => ID, { description: "The job's id." }) _id: string,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): ImageJobEventType {
    return toJobEvent(event, services.events);
  }

  @Subscription(() => ImageJobEventType, {
    description:
      "Emits every step of all of the caller's image jobs, starting with the current state of each unfinished job. " +
      "Requires an `sk-` key (the jobs it created) or the scope `account:read` (the jobs of every key).",
    subscribe: followAll,
  })
  imageJobChanged(
    @Root() event: DomainEvent<"job.progressed">,
    @Ctx() { services }: Context,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): ImageJobEventType {
    return toJobEvent(event, services.events);
  }

  @FieldResolver(() => ImageJobType, {
    nullable: true,
    description: "The current state of the job. Null if it is no longer stored.",
  })
  job(@Root() { jobId }: ImageJobEventType, @Ctx() context: Context): Promise<JobView | undefined> {
    return NODE_FINDERS.ImageJob(jobId, context);
  }
}

async function followOne({
  args,
  context,
}: Subscribing<{ readonly id: string }>): Promise<EventStream<"job.progressed">> {
  const reach = permit(context.principal, "job.read");
  return context.services.jobs.followOne(reach, readKeyOf("ImageJob", args.id), args.after ?? undefined);
}

async function followAll({ args, context }: Subscribing<object>): Promise<EventStream<"job.progressed">> {
  const reach = permit(context.principal, "job.read");
  return context.services.jobs.followAll(reach, args.after ?? undefined);
}
