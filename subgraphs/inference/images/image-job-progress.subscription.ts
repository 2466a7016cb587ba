import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, ID, Resolver, Root, Subscription } from "type-graphql";
import type { EventStream } from "../../../src/events/bus.ts";
import type { DomainEvent } from "../../../src/events/topics.ts";
import type { JobView } from "../../../src/jobs/jobs.service.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { AFTER_DESCRIPTION } from "../../shared/events/event.type.ts";
import { CursorScalar } from "../../shared/schema/scalars.ts";
import { findImageJob } from "./image-job.resolver.ts";
import { ImageJobType } from "./image-job.type.ts";
import { ImageJobEventType, toJobEvent } from "./image-job-event.type.ts";

type Subscribing<Args> = {
  readonly args: Args & { readonly after?: string | null };
  readonly context: Context;
};

/** Tells of every step of one's own image jobs. */
@Resolver(() => ImageJobEventType)
export class ImageJobProgressSubscription {
  @Subscription(() => ImageJobEventType, {
    description:
      "Every step of one of one's own image jobs: how it stands first, to its end, with which the stream ends too. " +
      "Needs the `sk-` key that made it, or the scope `account:read`.",
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
      "Every step of all of one's own image jobs: how those stand first that have not ended. " +
      "An `sk-` key follows the jobs that it made; the scope `account:read` follows those of every key.",
    subscribe: followAll,
  })
  imageJobsProgress(
    @Root() event: DomainEvent<"job.progressed">,
    @Ctx() { services }: Context,
    @Arg("after", () => CursorScalar, { nullable: true, description: AFTER_DESCRIPTION })
    _after: string | null,
  ): ImageJobEventType {
    return toJobEvent(event, services.events);
  }

  @FieldResolver(() => ImageJobType, { nullable: true, description: "The job as it is now." })
  job(@Root() { jobId }: ImageJobEventType, @Ctx() context: Context): Promise<JobView | undefined> {
    return findImageJob({ id: jobId }, context);
  }
}

async function followOne({
  args,
  context,
}: Subscribing<{ readonly id: string }>): Promise<EventStream<"job.progressed">> {
  const reach = permit(context.principal, "job.read");
  return context.services.jobs.followOne(reach, args.id, args.after ?? undefined);
}

async function followAll({ args, context }: Subscribing<object>): Promise<EventStream<"job.progressed">> {
  const reach = permit(context.principal, "job.read");
  return context.services.jobs.followAll(reach, args.after ?? undefined);
}
