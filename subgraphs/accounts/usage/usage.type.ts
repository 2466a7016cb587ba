import "../../shared/schema/reflect.ts";
import { ArgsType, Field, ID, Int, ObjectType } from "type-graphql";
import type { Tag } from "../../../src/accounts/tags/tags.ts";
import type {
  Grain,
  UsageSource as Source,
  TrustMode as Trust,
  UsageDay,
  UsageGroup,
  UsagePerformance,
  UsageTotals,
} from "../../../src/accounts/usage/usage.service.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import {
  AddressScalar,
  BigIntScalar,
  DateScalar,
  DateTimeScalar,
  NeuronScalar,
} from "../../shared/schema/scalars.ts";
import { TagInput, TagType } from "../../shared/tag.type.ts";
import { TrustMode } from "../../shared/trust-mode.ts";

/** How a request was authenticated and paid. */
const UsageSource = defineEnum<Source>("UsageSource", "How a request was authenticated and paid.", {
  api_key: "Paid through an `sk-` key.",
  wallet: "Paid by the wallet directly.",
});

/** The most keys that one report is of: as many as a page of keys has. */
export const MAX_USAGE_KEYS = 100;

/** The filter of a usage report. Timestamps arrive as text. */
@ArgsType()
export class UsageArgs {
  @Field(() => ID, { nullable: true, description: "Only requests of this `sk-` key." })
  apiKeyId!: string | null | undefined;

  @Field(() => [ID], {
    nullable: true,
    description: `Only requests of these \`sk-\` keys, at most ${MAX_USAGE_KEYS}, such as the keys on one page.`,
  })
  apiKeyIds!: readonly string[] | null | undefined;

  @Field(() => UsageSource, { nullable: true, description: "Only requests from this source." })
  source!: Source | null | undefined;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "Only requests that started at or after this time.",
  })
  from!: string | null | undefined;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "Only requests that started before this time.",
  })
  before!: string | null | undefined;

  @Field(() => ID, { nullable: true, description: "Only requests to this model." })
  modelId!: string | null | undefined;

  @Field(() => TrustMode, { nullable: true, description: "Only requests to providers of this trust mode." })
  trustMode!: Trust | null | undefined;

  @Field(() => TagInput, { nullable: true, description: "Only requests with this tag." })
  tag!: TagInput | null | undefined;
}

/** Totals over requests. */
@ObjectType("UsageStats", { description: "Totals over requests.", simpleResolvers: true })
export class UsageStatsType {
  @Field(() => BigIntScalar, {
    name: "requestCount",
    simple: false,
    description: "The number of requests.",
  })
  requests!: bigint;

  @Field(() => BigIntScalar, { description: "The total number of prompt tokens." })
  inputTokens!: bigint;

  @Field(() => BigIntScalar, { description: "The total number of completion tokens." })
  outputTokens!: bigint;

  @Field(() => BigIntScalar, { description: "The total number of prompt tokens read from caches." })
  cachedTokens!: bigint;

  @Field(() => BigIntScalar, {
    description: "The total number of prompt tokens written to caches for minutes.",
  })
  cacheWriteTokens!: bigint;

  @Field(() => BigIntScalar, {
    description: "The total number of prompt tokens written to caches for an hour.",
  })
  cacheWrite1hTokens!: bigint;

  @Field(() => NeuronScalar, { description: "The total cost." })
  cost!: bigint;
}

/** One day's use of a model. */
@ObjectType("UsageDay", { description: "The usage of a model on one day.", simpleResolvers: true })
export class UsageDayType {
  @Field(() => DateScalar, { description: "The day in UTC." })
  date!: UsageDay["date"];

  @Field(() => String, { description: "The id of the model." })
  modelId!: string;

  @Field(() => TrustMode, { nullable: true, description: "The trust mode. Null unless grouped by it." })
  trustMode!: Trust | null;

  @Field(() => UsageStatsType, { description: "The totals of the day." })
  stats!: UsageTotals;
}

/** The length of the periods of a chart. */
export const UsagePeriod = defineEnum<Grain>("UsagePeriod", "The length of the periods of a chart, in UTC.", {
  hour: "An hour.",
  day: "A day.",
  month: "A calendar month.",
});

/** What the periods of a chart are divided by. */
export const UsageGroupType = defineEnum<UsageGroup>(
  "UsageGroup",
  "What each period of a chart is divided by.",
  {
    model: "The model that answered: a fallback model, or the requested one.",
    api_key: "The `sk-` key that paid.",
    trust_mode: "The trust mode of the provider.",
    tag: "The value of the tag with the name `tagName`. Requests without it are left out.",
    provider:
      "The provider that answered. Cannot be combined with another group, or with a filter of `usage` other than a range of time.",
  },
);

/** The usage of the requests with a tag. */
@ObjectType("TagUsage", { description: "The usage of the requests with a tag.", simpleResolvers: true })
export class TagUsageType {
  @Field(() => TagType, { description: "The tag." })
  tag!: Tag;

  @Field(() => UsageStatsType, { description: "The totals." })
  stats!: UsageTotals;
}

/** The usage of one period. */
@ObjectType("UsageBucket", {
  description: "The usage of one period, or of one model, key, trust mode, tag or provider in it.",
  simpleResolvers: true,
})
export class UsageBucketType {
  @Field(() => DateTimeScalar, { description: "The start of the period." })
  startsAt!: Date;

  @Field(() => String, { nullable: true, description: "The id of the model. Null unless divided by it." })
  modelId!: string | undefined;

  @Field(() => String, {
    nullable: true,
    description:
      "The raw id of the `sk-` key. Null for requests that the wallet itself paid for, and if the periods are not divided by key.",
  })
  apiKeyId!: string | null | undefined;

  @Field(() => TrustMode, { nullable: true, description: "The trust mode. Null unless divided by it." })
  trustMode!: Trust | undefined;

  @Field(() => TagType, { nullable: true, description: "The tag. Null unless divided by it." })
  tag!: Tag | undefined;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The address of the provider. Null unless divided by it.",
  })
  providerAddress!: string | undefined;

  @Field(() => UsageStatsType, { description: "The totals." })
  stats!: UsageTotals;
}

/** How long requests waited for the first byte. */
@ObjectType("FirstByteStats", {
  description:
    "How long requests waited for the first byte of their answer. The values are accurate to within 10 %.",
  simpleResolvers: true,
})
class FirstByteStatsType {
  @Field(() => BigIntScalar, {
    name: "requestCount",
    simple: false,
    description: "The number of requests that received a first byte.",
  })
  requests!: bigint;

  @Field(() => Int, { description: "The median, in milliseconds." })
  p50Ms!: number;

  @Field(() => Int, { description: "The 95th percentile, in milliseconds." })
  p95Ms!: number;
}

/** How fast requests were answered. */
@ObjectType("UsagePerformance", {
  description: "How fast requests were answered, and what providers' caches saved of their cost.",
  simpleResolvers: true,
})
export class UsagePerformanceType {
  @Field(() => FirstByteStatsType, {
    nullable: true,
    description: "The time to the first byte. Null if no request received one.",
  })
  firstByte!: UsagePerformance["firstByte"];

  @Field(() => NeuronScalar, {
    description:
      "What providers' caches saved. Requests whose cost the balance did not fully cover are not included.",
  })
  cacheSaving!: bigint;
}
