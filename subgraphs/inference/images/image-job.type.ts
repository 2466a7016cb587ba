import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, InputType, Int, ObjectType } from "type-graphql";
import type { AnsweredImage } from "../../../src/inference/images/image-answer.ts";
import type { ImageOperation } from "../../../src/inference/images/jobs/image-job-plan.ts";
import type { JobView } from "../../../src/jobs/jobs.service.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar, JsonScalar } from "../../shared/schema/scalars.ts";
import { TAGS, TagInput } from "../../shared/tag.type.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { withMembers } from "../members.ts";
import { RoutingInput } from "../routing/routing-input.type.ts";
import { VERIFY_TEE } from "../verify-tee.ts";

/** The status of a job. */
export const JobStatus = defineEnum<JobView["state"]>(
  "JobStatus",
  "The status of a job. It never reverts; `COMPLETED`, `FAILED` and `CANCELLED` are final.",
  {
    pending: "The job waits for a worker and can still be cancelled.",
    processing: "A worker and a provider are processing the job.",
    completed: "The job is completed and charged.",
    failed: "The job failed and was not charged; `errorCode` states why.",
    cancelled: "The job was cancelled before it started and was not charged.",
  },
);

/** What a job does. */
export const ImageOperationEnum = defineEnum<ImageOperation>("ImageOperation", "What an image job does.", {
  generations: "The job generates images from a prompt.",
  edits: "The job edits images by a prompt.",
});

/** The images to generate. */
@InputType("ImagesInput", { description: "An image generation request." })
abstract class ImagesInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => String, { description: "The description of the image." })
  prompt!: string;

  @Field(() => Int, { nullable: true, description: "Number of images, 1 to 10. Default: 1." })
  n?: number | null;

  @Field(() => String, { nullable: true, description: "Width and height in pixels, such as `512x512`." })
  size?: string | null;

  @Field(() => JsonScalar, { nullable: true, description: "Additional members of OpenAI's request body." })
  options?: unknown;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;

  @Field(() => [TagInput], { nullable: true, description: TAGS })
  tags?: readonly TagInput[] | null;

  @Field(() => Boolean, { nullable: true, description: VERIFY_TEE })
  verifyTee?: boolean | null;
}

/** Images to generate at once. */
@InputType("GenerateImagesInput", { description: "An image generation request." })
export class GenerateImagesInput extends ImagesInput {
  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** Images to generate by a job. */
@InputType("SubmitImageJobInput", { description: "An image generation job to submit." })
export class SubmitImageJobInput extends ImagesInput {
  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** A job to cancel. */
@InputType("CancelImageJobInput", { description: "A pending job to cancel." })
export class CancelImageJobInput {
  @Field(() => ID, { description: "The job's id." })
  id!: string;
}

/** The REST request body of the same job. */
export function toJobBody({ model, prompt, n, size, options, verifyTee }: ImagesInput): Buffer {
  const body = {
    model,
    prompt,
    ...(n != null && { n }),
    ...(size != null && { size }),
    verify_tee: verifyTee ?? false,
  };
  return Buffer.from(JSON.stringify(withMembers(body, options, "options")));
}

/** A generated image. */
@ObjectType("JobImage", { description: "A generated image.", simpleResolvers: true })
export class JobImageType {
  @Field(() => String, { description: "The image in base64." })
  b64Json!: string;

  @Field(() => String, {
    nullable: true,
    description: "The prompt as revised by the provider. Null if none.",
  })
  revisedPrompt!: string | null;
}

/** Maps an image of a provider's response to its GraphQL type. */
export function toJobImage({ b64_json, revised_prompt }: AnsweredImage): JobImageType {
  return { b64Json: b64_json, revisedPrompt: revised_prompt };
}

/** An image job. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("ImageJob", {
  description: "A job that generates or edits images.",
  implements: NodeType,
  simpleResolvers: true,
})
export class ImageJobType {
  @Field(() => DateTimeScalar, { description: "When the job was created." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, { description: "When the job's latest step happened." })
  updatedAt!: Date;

  @Field(() => DateTimeScalar, { nullable: true, description: "When the job ended. Null until then." })
  finishedAt!: Date | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When the stored images expire. Null if no images are stored.",
  })
  resultExpiresAt!: Date | null;
}

/** The global id of a job, and its raw id. */
export const ImageJobNodeResolvers = defineNodeResolvers<JobView>(() => ImageJobType, {
  name: "ImageJob",
  keyOf: ({ id }) => id,
  raw: { field: "jobId", description: "The job's id in the REST API: `jobId`." },
});

/** A list of image jobs. */
export const ImageJobConnection = defineCountedConnection("ImageJob", () => ImageJobType);

/** A submitted job. */
@ObjectType("SubmitImageJobPayload", {
  description: "The result of `submitImageJob`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class SubmitImageJobPayload extends PayloadType {
  @Field(() => ImageJobType, { nullable: true, description: "The job." })
  imageJob?: JobView | null;
}

/** A cancelled job. */
@ObjectType("CancelImageJobPayload", {
  description: "The result of `cancelImageJob`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CancelImageJobPayload extends PayloadType {
  @Field(() => ImageJobType, { nullable: true, description: "The cancelled job." })
  imageJob?: JobView | null;
}
