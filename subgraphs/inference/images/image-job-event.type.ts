import "../../shared/schema/reflect.ts";
import { Field, Float, ID, Int, ObjectType } from "type-graphql";
import type { DomainEvent, JobStep, JobStepName } from "../../../src/events/topics.ts";
import { type CursorSource, EventType, toEvent } from "../../shared/events/event.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { JobStatus } from "./image-job.type.ts";

/** The kinds of steps in the history of a job. */
const JobStepKind = defineEnum<JobStepName>("JobStep", "A kind of step in the history of a job.", {
  queued: "It was taken on, and its money is held.",
  started: "A worker took it.",
  resumed: "Another worker took it over.",
  submitted: "A provider has it.",
  running: "The provider is at it.",
  provider_failed: "The provider failed; another may be tried.",
  completed: "It is done and paid for.",
  failed: "It ended without a result, and cost nothing.",
  cancelled: "It was taken back.",
});

/** A step of a job. */
@ObjectType("ImageJobEvent", {
  description: "A step of an image job.",
  implements: EventType,
  simpleResolvers: true,
})
export class ImageJobEventType extends EventType {
  @Field(() => ID, { description: "The job's id." })
  jobId!: string;

  @Field(() => Int, { description: "The step's number in its job, from 1. It only grows." })
  sequence!: number;

  @Field(() => JobStepKind, { description: "The kind of step." })
  step!: JobStepName;

  @Field(() => JobStatus, { description: "How the job stands by it." })
  status!: JobStep["status"];

  @Field(() => AddressScalar, { nullable: true, description: "The address of the provider it is about." })
  provider!: string | null;

  @Field(() => Int, { description: "1-based attempt number. 0 before the first attempt." })
  attempt!: number;

  @Field(() => Float, {
    nullable: true,
    description: "How far it has come, 0 to 1, where the provider tells.",
  })
  fraction!: number | null;

  @Field(() => String, { nullable: true, description: "Where a completed job can be read: a path of REST." })
  result!: string | null;

  @Field(() => String, { nullable: true, description: "Why it, or a provider, failed: a code." })
  errorCode!: string | null;

  @Field(() => String, { nullable: true, description: "The same for people." })
  errorMessage!: string | null;
}

/** A step of a job as the graph tells of it. */
export function toJobEvent(event: DomainEvent<"job.progressed">, cursors: CursorSource): ImageJobEventType {
  const { account: _owner, keyId: _maker, ...step } = event.data;
  return { ...toEvent(event, cursors), ...step };
}
