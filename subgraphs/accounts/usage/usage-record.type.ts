import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import { listTags, type Tag } from "../../../src/accounts/tags/tags.ts";
import type { TrustMode as Trust, UsageRow } from "../../../src/accounts/usage/usage.service.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar, DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { TagType } from "../../shared/tag.type.ts";
import { TrustMode } from "../../shared/trust-mode.ts";
import { InferenceRequestStub, toRequestStub } from "../inference-request.stub.ts";

/** One billed request. */
@ObjectType("UsageRecord", {
  description: "A request that was charged, or completed at a price of zero.",
  simpleResolvers: true,
})
class UsageRecordType {
  @Field(() => BigIntScalar, {
    name: "number",
    simple: false,
    description: "1-based number within the account, in order of payment.",
  })
  id!: bigint;

  @Field(() => DateTimeScalar, { description: "When the router accepted the request." })
  createdAt!: Date;

  @Field(() => String, { description: "The id of the model." })
  modelId!: string;

  @Field(() => AddressScalar, { description: "The address of the provider that answered." })
  providerAddress!: string;

  @Field(() => String, {
    nullable: true,
    description: "The raw id of the `sk-` key that paid. Null if the wallet paid.",
  })
  apiKeyId!: string | null;

  @Field(() => Int, { description: "The number of prompt tokens." })
  inputTokens!: number;

  @Field(() => Int, { description: "The number of completion tokens." })
  outputTokens!: number;

  @Field(() => Int, { description: "The number of prompt tokens read from the provider's cache." })
  cachedTokens!: number;

  @Field(() => Int, {
    description: "The number of prompt tokens written to the provider's cache with a lifetime of minutes.",
  })
  cacheWriteTokens!: number;

  @Field(() => Int, {
    description: "The number of prompt tokens written to the provider's cache for an hour.",
  })
  cacheWrite1hTokens!: number;

  @Field(() => NeuronScalar, { description: "The cost of the request." })
  cost!: bigint;

  @Field(() => NeuronScalar, {
    nullable: true,
    description:
      "What the provider's cache saved of the cost: 0 if no tokens were cached or writing to it cost more. Null if tokens were cached and the balance did not cover the whole cost, and for a stored response.",
  })
  cacheSaving!: bigint | null;

  @Field(() => NeuronScalar, { description: "The part of the cost paid from deposits." })
  depositUsed!: bigint;

  @Field(() => NeuronScalar, { description: "The part of the cost paid from credit." })
  creditUsed!: bigint;

  @Field(() => TrustMode, { description: "The trust mode of the provider." })
  trustMode!: Trust;

  @Field(() => [TagType], { description: "The tags of the request, sorted by name." })
  tags!: readonly Tag[];

  @Field(() => InferenceRequestStub, { description: "The request." })
  request!: InferenceRequestStub;
}

/** A list of billed requests. */
export const UsageRecordConnection = defineCountedConnection("UsageRecord", () => UsageRecordType);

/** Maps a usage row to its GraphQL type. */
export function toUsageRecord(row: UsageRow): UsageRecordType {
  const { model, provider, requestId, inputTokens, outputTokens, cachedTokens, ...more } = row;
  const { cacheWriteTokens, cacheWrite1hTokens, tags, ...rest } = more;
  return {
    ...rest,
    inputTokens: Number(inputTokens),
    outputTokens: Number(outputTokens),
    cachedTokens: Number(cachedTokens),
    cacheWriteTokens: Number(cacheWriteTokens),
    cacheWrite1hTokens: Number(cacheWrite1hTokens),
    tags: listTags(tags),
    modelId: model,
    providerAddress: provider,
    request: toRequestStub(requestId),
  };
}
