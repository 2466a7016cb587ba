import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import type { ImageJobRequest } from "../../../src/inference/images/jobs/image-jobs.service.ts";
import type { JobView } from "../../../src/jobs/jobs.service.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permitSpender } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { runOnce } from "../../shared/once.ts";
import type { TagInput } from "../../shared/tag.type.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toPreferences } from "../routing/routing-input.type.ts";
import { tagged } from "../tagged.ts";
import { SubmitImageEditJobInput, SubmitImageEditJobPayload, toEditForm } from "./image-edit.type.ts";
import { SubmitImageJobInput, SubmitImageJobPayload, toJobBody } from "./image-job.type.ts";

const JSON_TYPE = "application/json";

/** Submits image jobs. */
@Resolver()
export class SubmitImageJobResolver {
  @Mutation(() => SubmitImageJobPayload, {
    nullable: true,
    description:
      "Creates an image generation job and holds its cost. A call repeated with the same `idempotencyKey` returns " +
      "the job in its current state. Requires an `sk-` key.",
  })
  async submitImageJob(
    @Arg("input", () => SubmitImageJobInput, { description: "The images to generate." })
    { idempotencyKey: key, ...input }: SubmitImageJobInput,
    @Ctx() context: Context,
  ): Promise<SubmitImageJobPayload> {
    return submitJob(context, { field: "submitImageJob", key, input }, () => {
      const preferences = toPreferences(input.routing);
      return { operation: "generations", body: toJobBody(input), contentType: JSON_TYPE, preferences };
    });
  }

  @Mutation(() => SubmitImageEditJobPayload, {
    nullable: true,
    description:
      "Creates a job that edits images by a prompt, and holds its cost. A call repeated with the same " +
      "`idempotencyKey` returns the job in its current state. Requires an `sk-` key.",
  })
  async submitImageEditJob(
    @Arg("input", () => SubmitImageEditJobInput, { description: "The images to edit." })
    { idempotencyKey: key, ...input }: SubmitImageEditJobInput,
    @Ctx() context: Context,
  ): Promise<SubmitImageEditJobPayload> {
    return submitJob(context, { field: "submitImageEditJob", key, input }, () => ({
      operation: "edits",
      ...toEditForm(input),
      preferences: toPreferences(input.routing),
      verifyTee: input.verifyTee ?? false,
    }));
  }
}

type JobMutation = {
  readonly field: "submitImageJob" | "submitImageEditJob";
  readonly key: string | null | undefined;
  readonly input: object & { readonly tags?: readonly TagInput[] | null };
};

/** Submits a job once per key; a repeated call returns its present state. */
function submitJob(
  context: Context,
  mutation: JobMutation,
  read: () => ImageJobRequest,
): Promise<SubmitImageJobPayload> {
  const { services, principal } = context;
  const caller = { ...permitSpender(principal, "job.submit"), requestId: newRequestId() };
  return answerMutation(mutation.input, async () => {
    let submitted: JobView | undefined;
    const id = await runOnce(context, { ...caller, ...mutation }, async () => {
      submitted = await services.imageJobs.submit(read(), tagged(caller, mutation.input.tags));
      return Buffer.from(submitted.id);
    });
    return { imageJob: submitted ?? (await services.jobs.get(caller, id.toString())) };
  });
}
