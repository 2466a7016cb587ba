import "../../shared/schema/reflect.ts";
import { ArgsType, Field, ID, InputType } from "type-graphql";
import type { JobFilter, JobView } from "../../../src/jobs/jobs.service.ts";
import { readApiKeyId, readModelId } from "../../shared/nodes/filter-id.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { TimeRangeInput, toTimes } from "../../shared/schema/range.type.ts";
import { JobStatus } from "./image-job.type.ts";

/** The filter of a list of image jobs. */
@InputType("ImageJobFilterInput", {
  description: "Lists only image jobs that meet every given condition.",
})
class ImageJobFilterInput {
  @Field(() => [JobStatus], { nullable: true, description: "Jobs with one of these statuses." })
  statuses!: JobView["state"][] | null | undefined;

  @Field(() => ID, { nullable: true, description: "Jobs for this model." })
  modelId!: string | null | undefined;

  @Field(() => ID, { nullable: true, description: "Jobs that this `sk-` key created." })
  apiKeyId!: string | null | undefined;

  @Field(() => TimeRangeInput, {
    nullable: true,
    description: "Jobs that were created in this range of times.",
  })
  createdAt!: TimeRangeInput | null | undefined;
}

/** The arguments of a list of image jobs. */
@ArgsType()
export class ImageJobsArgs extends PageArgs {
  @Field(() => ImageJobFilterInput, { nullable: true, description: "Which jobs to list. Default: all." })
  filter!: ImageJobFilterInput | null | undefined;
}

/**
 * Maps the filter of a client. Throws `invalid_parameter` for an id that is not of a key, or not of a model, and a
 * reversed range.
 */
export function toJobFilter(filter: ImageJobFilterInput | null | undefined): JobFilter {
  if (!filter) return {};
  return {
    states: filter.statuses ?? undefined,
    modelId: readModelId(filter.modelId, "filter.modelId"),
    keyId: readApiKeyId(filter.apiKeyId, "filter.apiKeyId"),
    ...toTimes(filter.createdAt, "filter.createdAt"),
  };
}
