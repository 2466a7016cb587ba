import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, Int, ObjectType } from "type-graphql";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** How a request stands. */
const RequestStatus = defineEnum<InferenceRequest["status"]>("RequestStatus", "How a request stands.", {
  running: "The provider is at it, and money is held for it.",
  completed: "It was answered and paid for.",
  failed: "It was not answered, and `errorCode` says why.",
  aborted: "The client left before the end, and paid for what was delivered.",
});

/** What a request cost. */
@ObjectType("Cost", {
  description: "What a request cost.",
  simpleResolvers: true,
})
export class CostType {
  @Field(() => NeuronScalar, { description: "For its input." })
  input!: bigint;

  @Field(() => NeuronScalar, { description: "For its output." })
  output!: bigint;

  @Field(() => NeuronScalar, { description: "Both together." })
  total!: bigint;
}

/** How long a request took. */
@ObjectType("RequestTiming", {
  description: "How long a request took, in milliseconds.",
  simpleResolvers: true,
})
export class RequestTimingType {
  @Field(() => Int, { nullable: true, description: "Until the provider's first byte." })
  firstByteMs!: number | null;

  @Field(() => Int, { nullable: true, description: "Until its end." })
  durationMs!: number | null;
}

/** A request. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("InferenceRequest", {
  description: "A request for inference that was let in.",
  simpleResolvers: true,
})
export class InferenceRequestType {
  @Field(() => ID, { description: "Its id, as `X-Request-ID` showed it." })
  id!: string;

  @Field(() => DateTimeScalar, { description: "When it was let in." })
  createdAt!: Date;

  @Field(() => DateTimeScalar, { nullable: true, description: "When it ended, null while it runs." })
  finishedAt!: Date | null;

  @Field(() => RequestStatus, { description: "How it stands." })
  status!: InferenceRequest["status"];

  @Field(() => ServiceType, { description: "The type of the service." })
  serviceType!: string;

  @Field(() => Int, { nullable: true, description: "Tokens of the question, null until it is counted." })
  inputTokens!: number | null;

  @Field(() => Int, { nullable: true, description: "Tokens of the answer, null until it is counted." })
  outputTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "Tokens of the question that the provider had in its cache, null until it is counted.",
  })
  cachedTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "Tokens of the question that were written to its cache for minutes, null until it is counted.",
  })
  cacheWriteTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "Tokens of the question that were written to its cache for an hour, null until it is counted.",
  })
  cacheWrite1hTokens!: number | null;

  @Field(() => Boolean, {
    description: "Whether we counted the tokens ourselves, because the provider did not tell.",
  })
  usageEstimated!: boolean;

  @Field(() => CostType, { nullable: true, description: "What it cost, null until it is paid." })
  cost!: CostType | null;

  @Field(() => String, { nullable: true, description: "Why it failed: a code as `extensions.code` has it." })
  errorCode!: string | null;
}

/** A list of requests. */
export const InferenceRequestConnection = defineConnection("InferenceRequest", () => InferenceRequestType);
