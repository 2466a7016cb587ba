import "../../shared/schema/reflect.ts";
import { Field, Float, Int, ObjectType } from "type-graphql";
import type { DomainEvent, JobStep, JobStepName } from "../../../src/events/topics.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { ErrorCodeType, type RecordedCode, toErrorCode } from "../../shared/schema/error-code.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { JobStatus } from "./image-job.type.ts";

/** The kind of a step in a job's history. */
const JobStepKind = defineEnum<JobStepName>("JobStep", "The kind of a step in a job's history.", {
  queued: "The job was accepted and its cost is held.",
  started: "A worker started the job.",
  resumed: "Another worker took over the job.",
  submitted: "The job was submitted to a provider.",
  running: "The provider is processing the job.",
  provider_failed: "The provider failed; another one may be tried.",
  completed: "The job is completed and charged.",
  failed: "The job failed and was not charged.",
  cancelled: "The job was cancelled and not charged.",
});

/** A step of a job. */
@ObjectType("ImageJobEvent", {
  description: "A step of an image job.",
  implements: EventType,
  simpleResolvers: true,
})
export class ImageJobEventType extends EventType {
  @Field(() => String, { description: "The job's raw id." })
  jobId!: string;

  @Field(() => Int, { description: "1-based sequence number of the step within its job. It only increases." })
  sequence!: number;

  @Field(() => JobStepKind, { description: "The kind of step." })
  step!: JobStepName;

  @Field(() => JobStatus, { description: "The job's status after the step." })
  status!: JobStep["status"];

  @Field(() => AddressScalar, {
    name: "providerAddress",
    simple: false,
    nullable: true,
    description: "The address of the provider. Null if none.",
  })
  provider!: string | null;

  @Field(() => Int, {
    description: "The number of the current attempt with a provider, from 1. 0 before the first attempt.",
  })
  attempt!: number;

  @Field(() => Float, { nullable: true, description: "Progress from 0 to 1. Null if not reported." })
  fraction!: number | null;

  @Field(() => String, { nullable: true, description: "The REST path of the result. Null unless completed." })
  result!: string | null;

  @Field(() => ErrorCodeType, {
    nullable: true,
    description: "Why the job or its provider failed. Null without a failure.",
  })
  errorCode!: RecordedCode | null;

  @Field(() => String, {
    nullable: true,
    description: "The error message, for people. Null without a failure.",
  })
  errorMessage!: string | null;
}

/** Maps a job step to its GraphQL type. */
export function toJobEvent(event: DomainEvent<"job.progressed">, cursors: CursorSource): ImageJobEventType {
  const { account: _owner, keyId: _maker, ...step } = event.data;
  return { ...toEvent(event, cursors), ...step, errorCode: toErrorCode(step.errorCode) };
}
