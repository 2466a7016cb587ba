import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, InputType, Int, ObjectType } from "type-graphql";
import type { AnsweredImage } from "../../../src/inference/images/image-answer.ts";
import type { JobView } from "../../../src/jobs/jobs.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar, JsonScalar } from "../../shared/schema/scalars.ts";
import { RoutingInput } from "../routing/routing.type.ts";

/** How a job stands. */
export const JobStatus = defineEnum<JobView["state"]>(
  "JobStatus",
  "How a job stands. It never goes back, and the last three are final.",
  {
    pending: "It waits for a worker, and can still be cancelled.",
    processing: "A worker and a provider are at it.",
    completed: "It is done and paid for.",
    failed: "It was not done and cost nothing; `errorCode` says why.",
    cancelled: "It was taken back before it was begun, and cost nothing.",
  },
);

/** What an image job is to make. */
@InputType("ImageJobInput", { description: "Images to be made out of a text." })
export class ImageJobInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => String, { description: "What is to be seen." })
  prompt!: string;

  @Field(() => Int, { nullable: true, description: "Number of images, 1 to 10. Default: 1." })
  n?: number | null;

  @Field(() => String, { nullable: true, description: "Width and height in pixels, such as `512x512`." })
  size?: string | null;

  @Field(() => JsonScalar, { nullable: true, description: "Further members of OpenAI's request." })
  options?: unknown;

  @Field(() => RoutingInput, { nullable: true, description: "How to choose the provider." })
  routing?: RoutingInput | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether to check the provider's signature of the result.",
  })
  verifyTee?: boolean | null;
}

/** The body that REST would have for the same job. */
export function toJobBody({ model, prompt, n, size, options, verifyTee }: ImageJobInput): Buffer {
  const more = typeof options === "object" && options !== null && !Array.isArray(options) ? options : {};
  const body = {
    ...more,
    model,
    prompt,
    ...(n != null && { n }),
    ...(size != null && { size }),
    verify_tee: verifyTee ?? false,
  };
  return Buffer.from(JSON.stringify(body));
}

/** An image that a job made. */
@ObjectType("JobImage", { description: "An image that a job made.", simpleResolvers: true })
export class JobImageType {
  @Field(() => String, { description: "The image itself, in base64." })
  b64Json!: string;

  @Field(() => String, { nullable: true, description: "The prompt as the provider changed it." })
  revisedPrompt!: string | null;
}

/** An image as providers answer it, as the graph tells of it. */
export function toJobImage({ b64_json, revised_prompt }: AnsweredImage): JobImageType {
  return { b64Json: b64_json, revisedPrompt: revised_prompt };
}

/** An image job. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("ImageJob", { description: "A job that makes or changes images.", simpleResolvers: true })
export class ImageJobType {
  @Field(() => ID, { description: "Its id: the `jobId` of REST." })
  id!: string;

  @Field(() => DateTimeScalar, { description: "When it was taken on." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, { description: "When its newest step was." })
  updatedAt!: Date;

  @Field(() => DateTimeScalar, { nullable: true, description: "When it ended, null before." })
  finishedAt!: Date | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "Until when its images are kept; null where there are none, or none any more.",
  })
  resultExpiresAt!: Date | null;
}

/** A list of image jobs. */
export const ImageJobConnection = defineConnection("ImageJob", () => ImageJobType);
