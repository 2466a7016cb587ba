import "../../shared/schema/reflect.ts";
import { Directive, Field, Int, ObjectType } from "type-graphql";
import type { FinishReason } from "../../../src/inference/requests/finish-reason.ts";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** The status of a request. */
export const RequestStatus = defineEnum<InferenceRequest["status"]>(
  "RequestStatus",
  "The status of a request.",
  {
    running:
      "The provider is processing the request, and its cost is held. Listed once it has run for a second.",
    completed: "The request was answered and charged.",
    failed: "The request was not answered; `errorCode` states why.",
    aborted: "The client disconnected early and was charged for what was delivered.",
  },
);

/** Why an answer ended. */
export const FinishReasonType = defineEnum<FinishReason>("FinishReason", "Why an answer ended.", {
  stop: "The answer is complete, or reached a stop sequence.",
  length: "The answer reached its limit of tokens, or the model's context.",
  tool_calls: "The model called tools.",
  content_filter: "A filter removed the rest, or the model refused.",
  error: "The model failed.",
});

/** The cost of a request. */
@ObjectType("Cost", {
  description: "The cost of a request.",
  simpleResolvers: true,
})
export class CostType {
  @Field(() => NeuronScalar, { description: "The cost of the input." })
  input!: bigint;

  @Field(() => NeuronScalar, { description: "The cost of the output." })
  output!: bigint;

  @Field(() => NeuronScalar, { description: "The sum of input and output." })
  total!: bigint;

  @Field(() => NeuronScalar, {
    nullable: true,
    description:
      "What the provider's cache saved of the input: 0 if no tokens were cached or writing to it cost more. Null if tokens were cached and the balance did not cover the whole cost, and for a stored response.",
  })
  cacheSaving!: bigint | null;
}

/** The duration of a request. */
@ObjectType("RequestTiming", {
  description:
    "The duration of a request and of its phases, in milliseconds. Times are measured from the start of the admission unless stated otherwise.",
  simpleResolvers: true,
})
export class RequestTimingType {
  @Field(() => Int, {
    nullable: true,
    description:
      "Time from the request's arrival to its admission: authenticating and reading the body. It precedes the other times. Null until the request ends, and for requests that did not come over REST.",
  })
  receivedMs!: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "Duration of the admission: choosing providers and placing the hold. Null until the request ends, for jobs, and for requests recorded by earlier versions.",
  })
  admittedMs!: number | null;

  @Field(() => Int, { nullable: true, description: "Time to the provider's first byte. Null until then." })
  firstByteMs!: number | null;

  @Field(() => Int, { nullable: true, description: "Time to the end of the request. Null while it runs." })
  durationMs!: number | null;
}

/** The prices of a request. */
@ObjectType("RequestPrices", {
  description:
    "The prices of a request, fixed when it was admitted. They depend on the length of its prompt and the provider that served it.",
  simpleResolvers: true,
})
export class RequestPricesType {
  @Field(() => NeuronScalar, {
    description: "The price of one prompt token, or unit of the input, that is not cached.",
  })
  input!: bigint;

  @Field(() => NeuronScalar, { description: "The price of one completion token, or unit of the output." })
  output!: bigint;
}

/** A request. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("InferenceRequest", {
  description: "An inference request that the router has accepted, whether it is running, ended or failed.",
  implements: NodeType,
  simpleResolvers: true,
})
export class InferenceRequestType {
  @Field(() => DateTimeScalar, {
    description:
      "When the router accepted the request, after checking its credential, its limits and the balance.",
  })
  createdAt!: Date;

  @Field(() => DateTimeScalar, { nullable: true, description: "When the request ended. Null while it runs." })
  finishedAt!: Date | null;

  @Field(() => RequestStatus, { description: "The request's status." })
  status!: InferenceRequest["status"];

  @Field(() => ServiceType, { description: "The type of the requested service." })
  serviceType!: string;

  @Field(() => Int, { nullable: true, description: "The number of prompt tokens. Null until counted." })
  inputTokens!: number | null;

  @Field(() => Int, { nullable: true, description: "The number of completion tokens. Null until counted." })
  outputTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The number of prompt tokens read from the provider's cache. Null until counted.",
  })
  cachedTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "The number of prompt tokens written to the provider's cache with a lifetime of minutes, not counting those cached for an hour. Null until counted.",
  })
  cacheWriteTokens!: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "The number of prompt tokens written to the provider's cache for an hour. Null until counted.",
  })
  cacheWrite1hTokens!: number | null;

  @Field(() => Boolean, {
    description: "Whether the router counted the tokens itself, because the provider did not report them.",
  })
  usageEstimated!: boolean;

  @Field(() => RequestPricesType, { description: "The prices used to compute the cost." })
  prices!: RequestPricesType;

  @Field(() => CostType, { nullable: true, description: "The cost of the request. Null until charged." })
  cost!: CostType | null;
}

/** The global id of a request, and its raw id. */
export const InferenceRequestNodeResolvers = defineNodeResolvers<InferenceRequest>(
  () => InferenceRequestType,
  {
    name: "InferenceRequest",
    keyOf: ({ id }) => id,
    raw: {
      field: "requestId",
      description:
        "The request's id, as in `x_0g_trace.request_id` of its response, and in the header `X-Request-ID` unless the client sent its own.",
    },
  },
);

/** A list of requests. */
export const InferenceRequestConnection = defineCountedConnection(
  "InferenceRequest",
  () => InferenceRequestType,
);
