import "../../shared/schema/reflect.ts";
import { ArgsType, Field, ID, InputType } from "type-graphql";
import type { Verdict } from "../../../src/inference/evidence/tee-signature.ts";
import type {
  InferenceRequest,
  RequestFilter,
  RequestOrder,
} from "../../../src/inference/requests/requests.service.ts";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import { readApiKeyId, readModelId } from "../../shared/nodes/filter-id.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { ErrorCodeType, type RecordedCode } from "../../shared/schema/error-code.ts";
import { AmountRangeInput, TimeRangeInput, toBounds, toTimes } from "../../shared/schema/range.type.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";
import { SortDirection } from "../../shared/schema/sort-direction.ts";
import { TagInput } from "../../shared/tag.type.ts";
import { EvidenceVerdict } from "./evidence.type.ts";
import { RequestStatus } from "./inference-request.type.ts";

/** The filter of a list of requests. */
@InputType("RequestFilterInput", {
  description: "Lists only requests that meet every given condition.",
})
class RequestFilterInput {
  @Field(() => [RequestStatus], { nullable: true, description: "Requests with one of these statuses." })
  statuses!: InferenceRequest["status"][] | null | undefined;

  @Field(() => ID, { nullable: true, description: "Requests for this model." })
  modelId!: string | null | undefined;

  @Field(() => AddressScalar, { nullable: true, description: "Requests to this provider." })
  providerAddress!: `0x${string}` | null | undefined;

  @Field(() => ID, { nullable: true, description: "Requests of this `sk-` key." })
  apiKeyId!: string | null | undefined;

  @Field(() => ServiceType, { nullable: true, description: "Requests to services of this type." })
  serviceType!: string | null | undefined;

  @Field(() => AmountRangeInput, {
    nullable: true,
    description: "Requests that have ended, with a total cost in this range.",
  })
  cost!: AmountRangeInput | null | undefined;

  @Field(() => TimeRangeInput, {
    nullable: true,
    description: "Requests that the router accepted in this range of times.",
  })
  createdAt!: TimeRangeInput | null | undefined;

  @Field(() => EvidenceVerdict, {
    nullable: true,
    description: "Requests whose provider's signature was verified with this result.",
  })
  verdict!: Verdict | null | undefined;

  @Field(() => ErrorCodeType, { nullable: true, description: "Requests that ended with this code." })
  errorCode!: RecordedCode | null | undefined;

  @Field(() => String, { nullable: true, description: "Requests whose id begins with this string." })
  requestIdPrefix!: string | null | undefined;

  @Field(() => TagInput, { nullable: true, description: "Requests with this tag." })
  tag!: TagInput | null | undefined;
}

/** What a list of requests is ordered by. */
const RequestOrderField = defineEnum<RequestOrder["sort"]>(
  "RequestOrderField",
  "What a list of requests is ordered by.",
  {
    created: "The time at which the router accepted the request.",
    cost: "The total cost. A running request costs nothing yet.",
  },
);

/** The order of a list of requests. */
@InputType("RequestOrderInput", { description: "The order of a list of requests." })
class RequestOrderInput {
  @Field(() => RequestOrderField, { description: "What the list is ordered by." })
  field!: RequestOrder["sort"];

  @Field(() => SortDirection, { description: "The direction." })
  direction!: RequestOrder["direction"];
}

/** The arguments of a list of requests. */
@ArgsType()
export class RequestsArgs extends PageArgs {
  @Field(() => RequestFilterInput, { nullable: true, description: "Which requests to list. Default: all." })
  filter!: RequestFilterInput | null | undefined;

  @Field(() => RequestOrderInput, {
    nullable: true,
    description:
      "The order of the list. A cursor is valid only in the order in which it was issued. Default: newest first.",
  })
  orderBy!: RequestOrderInput | null | undefined;
}

/**
 * Maps the filter of a client. Throws `invalid_parameter` for an id that is not of a key, or not of a model, and a
 * reversed range.
 */
export function toRequestFilter(filter: RequestFilterInput | null | undefined): RequestFilter {
  if (!filter) return {};
  const { statuses, modelId, providerAddress, apiKeyId, serviceType, cost, createdAt } = filter;
  const costs = toBounds(cost, "filter.cost");
  return {
    statuses: statuses ?? undefined,
    modelId: readModelId(modelId, "filter.modelId"),
    provider: providerAddress == null ? undefined : lowerHex(providerAddress),
    apiKeyId: readApiKeyId(apiKeyId, "filter.apiKeyId"),
    serviceType: serviceType ?? undefined,
    minCost: costs.min,
    maxCost: costs.max,
    ...toTimes(createdAt, "filter.createdAt"),
    verdict: filter.verdict ?? undefined,
    errorCode: filter.errorCode ?? undefined,
    idPrefix: filter.requestIdPrefix ?? undefined,
    tag: filter.tag ?? undefined,
  };
}

/** Maps the order of a client; newest first by default. */
export function toRequestOrder(order: RequestOrderInput | null | undefined): RequestOrder {
  return order ? { sort: order.field, direction: order.direction } : { sort: "created", direction: "desc" };
}
