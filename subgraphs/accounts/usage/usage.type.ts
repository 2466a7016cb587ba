import "../../shared/schema/reflect.ts";
import { ArgsType, Field, ID, Int, ObjectType } from "type-graphql";
import type {
  UsageSource as Source,
  TrustMode as Trust,
  UsageDay,
  UsageRow,
  UsageTotals,
} from "../../../src/accounts/usage.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { TrustMode } from "../../shared/trust-mode.ts";
import { InferenceRequestStub } from "../inference-request.stub.ts";

/** By what a request was paid. */
const UsageSource = defineEnum<Source>("UsageSource", "By what a request was paid.", {
  api_key: "Through an `sk-` key.",
  wallet: "By the wallet itself.",
});

/** Which requests count. Moments come as text. */
@ArgsType()
export class UsageArgs {
  @Field(() => ID, { nullable: true, description: "Only those of this `sk-` key." })
  apiKeyId!: string | null | undefined;

  @Field(() => UsageSource, { nullable: true, description: "Only those that were paid so." })
  source!: Source | null | undefined;

  @Field(() => DateTimeScalar, { nullable: true, description: "Only those that began then or later." })
  from!: string | null | undefined;

  @Field(() => DateTimeScalar, { nullable: true, description: "Only those that began before." })
  before!: string | null | undefined;

  @Field(() => ID, { nullable: true, description: "Only those of this model." })
  modelId!: string | null | undefined;

  @Field(() => TrustMode, { nullable: true, description: "Only those of this trust mode." })
  trustMode!: Trust | null | undefined;
}

/** Sums over requests. */
@ObjectType("UsageStats", { description: "Sums over requests.", simpleResolvers: true })
export class UsageStatsType {
  @Field(() => BigIntScalar, { description: "How many requests there were." })
  requests!: bigint;

  @Field(() => BigIntScalar, { description: "Tokens of all questions." })
  inputTokens!: bigint;

  @Field(() => BigIntScalar, { description: "Tokens of all answers." })
  outputTokens!: bigint;

  @Field(() => BigIntScalar, { description: "Tokens of questions that providers had in their cache." })
  cachedTokens!: bigint;

  @Field(() => NeuronScalar, { description: "What they cost." })
  cost!: bigint;
}

/** One day's use of a model. */
@ObjectType("UsageDay", { description: "What a model was used on one day.", simpleResolvers: true })
export class UsageDayType {
  @Field(() => String, { description: "The day in UTC, such as `2026-01-31`." })
  date!: UsageDay["date"];

  @Field(() => ID, { description: "The model." })
  modelId!: string;

  @Field(() => TrustMode, {
    nullable: true,
    description: "The trust mode if days are grouped by it, else null.",
  })
  trustMode!: Trust | null;

  @Field(() => UsageStatsType, { description: "The sums of that day." })
  stats!: UsageTotals;
}

/** One request that was used. */
@ObjectType("UsageRecord", {
  description: "A request that was charged, or completed at a price of zero.",
  simpleResolvers: true,
})
class UsageRecordType {
  @Field(() => BigIntScalar, {
    description: "Its number among the requests of its account, from 1, in the order of payment.",
  })
  id!: bigint;

  @Field(() => DateTimeScalar, { description: "When the request began." })
  createdAt!: Date;

  @Field(() => ID, { description: "The model." })
  modelId!: string;

  @Field(() => AddressScalar, { description: "The provider that answered." })
  providerAddress!: string;

  @Field(() => ID, { nullable: true, description: "The `sk-` key that paid." })
  apiKeyId!: string | null;

  @Field(() => Int, { description: "Tokens of the question." })
  inputTokens!: number;

  @Field(() => Int, { description: "Tokens of the answer." })
  outputTokens!: number;

  @Field(() => Int, { description: "Tokens of the question that the provider had in its cache." })
  cachedTokens!: number;

  @Field(() => NeuronScalar, { description: "What it cost." })
  cost!: bigint;

  @Field(() => NeuronScalar, { description: "What of the cost was taken from deposits." })
  depositUsed!: bigint;

  @Field(() => NeuronScalar, { description: "What of the cost was taken from credit." })
  creditUsed!: bigint;

  @Field(() => TrustMode, { description: "How far its provider could be trusted." })
  trustMode!: Trust;

  @Field(() => InferenceRequestStub, { description: "The request itself." })
  request!: InferenceRequestStub;
}

/** A list of requests that were used. */
export const UsageRecordConnection = defineConnection("UsageRecord", () => UsageRecordType);

/** A request that was used, as the graph tells of it. */
export function toUsageRecord(row: UsageRow): UsageRecordType {
  const { model, provider, requestId, inputTokens, outputTokens, cachedTokens, ...rest } = row;
  return {
    ...rest,
    inputTokens: Number(inputTokens),
    outputTokens: Number(outputTokens),
    cachedTokens: Number(cachedTokens),
    modelId: model,
    providerAddress: provider,
    request: { id: requestId },
  };
}
