import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import { imageEditForm } from "../../../src/inference/images/image-edit-form.ts";
import type { JobView } from "../../../src/jobs/jobs.service.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";
import { TAGS, TagInput } from "../../shared/tag.type.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { InferenceBillType } from "../chat/chat.type.ts";
import { withMembers } from "../members.ts";
import { RoutingInput } from "../routing/routing-input.type.ts";
import { VERIFY_TEE } from "../verify-tee.ts";
import { ImageJobType, JobImageType } from "./image-job.type.ts";

/** An image to edit. */
@InputType("ImageFileInput", { description: "An image to edit, or a mask." })
class ImageFileInput {
  @Field(() => String, { description: "The image file in base64: PNG, JPEG or WebP." })
  fileBase64!: string;

  @Field(() => String, {
    nullable: true,
    description: "The file name, at most 255 characters. Default: one with the extension of its format.",
  })
  filename?: string | null;
}

/** The images to edit. */
@InputType("ImageEditInput", { description: "An image edit request." })
abstract class ImageEditInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => String, { description: "The description of the edited image." })
  prompt!: string;

  @Field(() => [ImageFileInput], { description: "The images to edit: 1 to 16, including the mask." })
  images!: readonly ImageFileInput[];

  @Field(() => ImageFileInput, {
    nullable: true,
    description: "An image whose transparent parts show where the first image is to be edited.",
  })
  mask?: ImageFileInput | null;

  @Field(() => Int, { nullable: true, description: "Number of edited images, 1 to 10. Default: 1." })
  n?: number | null;

  @Field(() => String, { nullable: true, description: "Width and height in pixels, such as `512x512`." })
  size?: string | null;

  @Field(() => JsonScalar, {
    nullable: true,
    description: "Additional fields of OpenAI's form by name: texts, numbers and booleans.",
  })
  options?: unknown;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;

  @Field(() => [TagInput], { nullable: true, description: TAGS })
  tags?: readonly TagInput[] | null;

  @Field(() => Boolean, { nullable: true, description: VERIFY_TEE })
  verifyTee?: boolean | null;
}

/** Images to edit at once. */
@InputType("EditImagesInput", {
  description: "An image edit request. A request has at most 512 KiB; send larger images over REST.",
})
export class EditImagesInput extends ImageEditInput {
  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** Images to edit by a job. */
@InputType("SubmitImageEditJobInput", {
  description: "An image edit job to submit. A request has at most 512 KiB; send larger images over REST.",
})
export class SubmitImageEditJobInput extends ImageEditInput {
  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** Images edited by a synchronous request. */
@ObjectType("EditImagesPayload", {
  description: "The result of `editImages`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class EditImagesPayload extends PayloadType {
  @Field(() => [JobImageType], { nullable: true, description: "The edited images." })
  images?: readonly JobImageType[] | null;

  @Field(() => InferenceBillType, {
    nullable: true,
    description: "The cost of the request and the provider that served it.",
  })
  bill?: InferenceBillType | null;
}

/** A submitted job. */
@ObjectType("SubmitImageEditJobPayload", {
  description: "The result of `submitImageEditJob`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class SubmitImageEditJobPayload extends PayloadType {
  @Field(() => ImageJobType, { nullable: true, description: "The job." })
  imageJob?: JobView | null;
}

/** The form that a client of REST would send. Throws `invalid_body`. */
export function toEditForm({ model, prompt, images, mask, n, size, options }: ImageEditInput): {
  readonly body: Buffer;
  readonly contentType: string;
} {
  return imageEditForm({
    ...{ images, mask },
    texts: withMembers(
      { model, prompt, ...(n != null && { n }), ...(size != null && { size }) },
      options,
      "options",
    ),
  });
}
