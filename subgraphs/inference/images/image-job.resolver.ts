import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Float, ID, Int, Mutation, Query, Resolver, Root } from "type-graphql";
import {
  type ImageOperation,
  modelOf,
  operationOf,
  serviceTypeOf,
} from "../../../src/inference/images/jobs/image-job-plan.ts";
import { IMAGE_JOB } from "../../../src/inference/images/jobs/image-jobs.service.ts";
import type { Model, Provider } from "../../../src/inference/providers/provider.ts";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { type JobView, jobCursor } from "../../../src/jobs/jobs.service.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { permit, reaches } from "../../../src/keys/auth/permissions.ts";
import { ANSWER_COPIES } from "../../shared/answer-allowance.ts";
import type { Context } from "../../shared/context.ts";
import { NODE_FINDERS } from "../../shared/nodes/find-node.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { type Connection, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { ErrorCodeType, type RecordedCode, toErrorCode } from "../../shared/schema/error-code.ts";
import { AddressScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { InferenceBillType, toBill } from "../chat/chat.type.ts";
import { FileStub } from "../file.stub.ts";
import { ModelType } from "../models/model.type.ts";
import { ProviderType } from "../models/provider.type.ts";
import { InferenceRequestType } from "../requests/inference-request.type.ts";
import {
  CancelImageJobInput,
  CancelImageJobPayload,
  ImageJobConnection,
  ImageJobType,
  ImageOperationEnum,
  JobImageType,
  JobStatus,
  toJobImage,
} from "./image-job.type.ts";
import { ImageJobsArgs, toJobFilter } from "./image-job-filter.type.ts";

const ACCESS =
  "Requires an `sk-` key (the jobs it created) or the scope `account:read` (the jobs of every key).";

/** The caller's image jobs. */
@Resolver(() => ImageJobType)
export class ImageJobResolver {
  @Query(() => ImageJobType, {
    nullable: true,
    description: `One of the caller's image jobs. Null if there is none with this id. ${ACCESS}`,
  })
  imageJob(
    @Arg("id", () => ID, { description: "The job's id." }) id: string,
    @Ctx() context: Context,
  ): Promise<JobView | undefined> {
    return NODE_FINDERS.ImageJob(readKeyOf("ImageJob", id), context);
  }

  @Query(() => ImageJobConnection, {
    nullable: true,
    description: `The caller's image jobs, or those that match a filter, newest first. ${ACCESS}`,
  })
  async imageJobs(
    @Args(() => ImageJobsArgs) args: ImageJobsArgs,
    @Ctx() { services, principal, signal }: Context,
  ): Promise<Connection<JobView>> {
    const reach = permit(principal, "job.read");
    const options = { filter: toJobFilter(args.filter), signal };
    const page = await services.jobs.list(reach, toPageRequest(args), options);
    return toConnection(
      page,
      (job) => jobCursor(IMAGE_JOB, job),
      () => services.jobs.count(reach, options),
    );
  }

  @Mutation(() => CancelImageJobPayload, {
    nullable: true,
    description:
      "Cancels a pending job and releases its hold. Requires the `sk-` key that created the job, or a wallet " +
      "session.",
  })
  async cancelImageJob(
    @Arg("input", () => CancelImageJobInput, { description: "The job to cancel." })
    input: CancelImageJobInput,
    @Ctx() { services, principal }: Context,
  ): Promise<CancelImageJobPayload> {
    const reach = permit(principal, "job.cancel");
    return answerMutation(input, async () => ({
      imageJob: await services.imageJobCancellation.cancel(reach, readKeyOf("ImageJob", input.id)),
    }));
  }

  @FieldResolver(() => ImageOperationEnum, { description: "What the job does." })
  operation(@Root() job: JobView): ImageOperation {
    return operationOf(job);
  }

  @FieldResolver(() => JobStatus, { description: "The job's status." })
  status(@Root() { state }: JobView): JobView["state"] {
    return state;
  }

  @FieldResolver(() => Int, {
    description: "The 1-based sequence number of the job's latest step, as in its events.",
  })
  sequence(@Root() { step }: JobView): number {
    return step.sequence;
  }

  @FieldResolver(() => Int, {
    description: "The number of the current attempt with a provider, from 1. 0 before the first attempt.",
  })
  attempt(@Root() { step }: JobView): number {
    return step.attempt;
  }

  @FieldResolver(() => Float, { nullable: true, description: "Progress from 0 to 1. Null if unknown." })
  fraction(@Root() { step }: JobView): number | null {
    return step.fraction;
  }

  @FieldResolver(() => ErrorCodeType, {
    nullable: true,
    description: "Why the job failed. Null unless failed.",
  })
  errorCode(@Root() { state, step }: JobView): RecordedCode | null {
    return state === "failed" ? toErrorCode(step.errorCode) : null;
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: "The error message of a failed job, for people. Null unless failed.",
  })
  errorMessage(@Root() { state, step }: JobView): string | null {
    return state === "failed" ? step.errorMessage : null;
  }

  @FieldResolver(() => String, { description: "The id of the requested model." })
  modelId(@Root() job: JobView): string {
    return modelOf(job);
  }

  @FieldResolver(() => ModelType, {
    nullable: true,
    description: "The requested model. Null if no provider offers it any more.",
  })
  model(@Root() job: JobView, @Ctx() { services }: Context): Model | undefined {
    return services.catalogue.model(modelOf(job), serviceTypeOf(job));
  }

  @FieldResolver(() => AddressScalar, {
    nullable: true,
    description:
      "The address of the provider that processes the job. Null before the job is submitted to one.",
  })
  providerAddress(@Root() { step }: JobView): string | null {
    return step.provider;
  }

  @FieldResolver(() => ProviderType, {
    nullable: true,
    description:
      "The provider that processes the job. Null before the job is submitted to one, or if it is no longer " +
      "registered.",
  })
  provider(@Root() { step }: JobView, @Ctx() { services }: Context): Provider | undefined {
    return services.catalogue.provider(step.provider ?? "");
  }

  @FieldResolver(() => InferenceRequestType, {
    nullable: true,
    description:
      "The inference request that this job is billed as. Null until the request is listed. Requires the scope `account:read`.",
  })
  async request(
    @Root() { requestId }: JobView,
    @Ctx() { principal, loaders }: Context,
  ): Promise<InferenceRequest | null> {
    permit(principal, "request.read");
    return (await loaders.requests.load(requestId)) ?? null;
  }

  @FieldResolver(() => InferenceBillType, {
    nullable: true,
    description:
      "The bill of the job, with the verification of its result if there was one. Null until the job is " +
      "completed. Requires the `sk-` key that created the job, or a wallet session.",
  })
  async bill(
    @Root() job: JobView,
    @Ctx() { principal, loaders }: Context,
  ): Promise<InferenceBillType | null> {
    if (!reaches(permit(principal, "job.content"), job) || job.state !== "completed") return null;
    const trace = await loaders.jobTraces.load(job);
    return trace ? toBill(trace) : null;
  }

  @FieldResolver(() => [JobImageType], {
    nullable: true,
    description:
      "The job's images. Null until the job is completed and after `resultExpiresAt`. One operation returns at " +
      "most 16 MiB of images. Requires the `sk-` key that created the job, or a wallet session.",
  })
  async images(@Root() job: JobView, @Ctx() context: Context): Promise<readonly JobImageType[] | null> {
    if (!reaches(permit(context.principal, "job.content"), job)) return null;
    if (job.state !== "completed" || job.resultBytes === null) return null;
    const { memory, answerAllowance, services } = context;
    answerAllowance.take(job.resultBytes);
    memory.reserve(ANSWER_COPIES * job.resultBytes);
    const images = await services.imageJobResults.images(job);
    return images?.map(toJobImage) ?? null;
  }
}

/** An image of a job, as a file. */
@Resolver(() => JobImageType)
export class JobImageResolver {
  @FieldResolver(() => Hash32Scalar, { description: "The merkle root of the image as a file." })
  root(@Root() image: JobImageType, @Ctx() { services }: Context): Promise<Hex> {
    return rootOf(image, services);
  }

  @FieldResolver(() => FileStub, {
    nullable: true,
    description:
      "The image as a stored file. Null until it is stored; images are stored only if the operator has turned that on.",
  })
  async file(@Root() image: JobImageType, @Ctx() { services, loaders }: Context): Promise<FileStub | null> {
    const root = await rootOf(image, services);
    return (await loaders.files.load(root)) ? { root } : null;
  }
}

function rootOf({ b64Json }: JobImageType, { uploads }: Context["services"]): Promise<Hex> {
  return uploads.rootOf(Buffer.from(b64Json, "base64"));
}
