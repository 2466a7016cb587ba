import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, Directive, FieldResolver, ObjectType, Resolver, Root } from "type-graphql";
import {
  type Grain,
  type UsageFilter,
  type UsageGroup,
  usageCursor,
} from "../../../src/accounts/usage/usage.service.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { permitOn } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { readApiKeyId, readModelId } from "../../shared/nodes/filter-id.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { toTimes } from "../../shared/schema/range.type.ts";
import { AccountType } from "../account/account.type.ts";
import {
  MAX_USAGE_KEYS,
  TagUsageType,
  UsageArgs,
  UsageBucketType,
  UsageDayType,
  UsageGroupType,
  UsagePerformanceType,
  UsagePeriod,
  UsageStatsType,
} from "./usage.type.ts";
import { toUsageRecord, UsageRecordConnection } from "./usage-record.type.ts";

const MAX_TAGS_LISTED = 100;

/** An account's usage under one filter. */
@ObjectType("Usage", { description: "An account's usage under one filter." })
class UsageType {
  address!: string;
  filter!: UsageFilter;
}

/** The usage of an account. */
@Resolver(() => AccountType)
export class AccountUsageResolver {
  @Requires("usage.read")
  @FieldResolver(() => UsageType, {
    nullable: true,
    description:
      "The account's usage: the requests that were charged, or completed at a price of zero. Requires the scope `account:read`.",
  })
  usage(
    @Root() { address }: AccountType,
    @Args(() => UsageArgs) args: UsageArgs,
    @Ctx() { principal }: Context,
  ): UsageType {
    permitOn(principal, "usage.read", address);
    return { address, filter: toFilter(args) };
  }
}

/** Totals and lists of an account's usage. */
@Resolver(() => UsageType)
export class UsageResolver {
  @FieldResolver(() => UsageStatsType, {
    nullable: true,
    description: "Totals over the requests that match. Null, with an error, if they cannot be read.",
  })
  stats(
    @Root() { address, filter }: UsageType,
    @Ctx() { services, signal }: Context,
  ): Promise<UsageStatsType> {
    return services.usage.stats(address, filter, signal);
  }

  @FieldResolver(() => [UsageDayType], {
    nullable: true,
    description: "Totals by day and model, newest day first.",
  })
  async daily(
    @Root() { address, filter }: UsageType,
    @Arg("byTrustMode", () => Boolean, {
      defaultValue: false,
      description: "Whether to group also by trust mode.",
    })
    byTrustMode: boolean,
    @Ctx() { services, signal }: Context,
  ): Promise<readonly UsageDayType[]> {
    const days = await services.usage.daily(address, filter, { byTrustMode, signal });
    return days.map((day) => ({ ...day, modelId: day.model, stats: day }));
  }

  @Directive("@cost(weight: 5)")
  @FieldResolver(() => [UsageBucketType], {
    nullable: true,
    description:
      "Totals by period, oldest first, for charts: at most 5,000 buckets. A period without usage has no bucket.",
  })
  async buckets(
    @Arg("by", () => UsagePeriod, { description: "The length of the periods." }) grain: Grain,
    @Arg("groupBy", () => [UsageGroupType], {
      defaultValue: [],
      description: "What to divide each period by. By default, each period is one bucket.",
    })
    groups: readonly UsageGroup[],
    @Arg("tagName", () => String, {
      nullable: true,
      description: "The name of the tag to divide by. Required with `TAG`, and not allowed without it.",
    })
    tagName: string | null,
    @Root() { address, filter }: UsageType,
    @Ctx() { services, signal }: Context,
  ): Promise<readonly UsageBucketType[]> {
    const division = { grain, groups: [...new Set(groups)], tagName: tagName ?? undefined };
    const buckets = await services.usage.buckets(address, filter, division, signal);
    return buckets.map(({ tagValue: value, ...bucket }) => ({
      ...{ ...bucket, modelId: bucket.model, providerAddress: bucket.provider, stats: bucket },
      tag: value === undefined ? undefined : { name: tagName ?? "", value },
    }));
  }

  @FieldResolver(() => UsagePerformanceType, {
    nullable: true,
    description:
      "How fast the requests were answered, and what providers' caches saved. Can be filtered by time only: no argument of `usage` other than `from` and `before` may be given. Null, with an error, if it cannot be read.",
  })
  performance(
    @Root() { address, filter }: UsageType,
    @Ctx() { services, signal }: Context,
  ): Promise<UsagePerformanceType> {
    return services.usage.performance(address, filter, signal);
  }

  @Directive("@cost(weight: 5)")
  @Directive(`@listSize(assumedSize: ${MAX_TAGS_LISTED})`)
  @FieldResolver(() => [TagUsageType], {
    nullable: true,
    description: `Totals by tag, the most expensive first, at most ${MAX_TAGS_LISTED}. A request counts for each of its tags.`,
  })
  async tags(
    @Arg("name", () => String, { nullable: true, description: "Only tags with this name." })
    name: string | null,
    @Root() { address, filter }: UsageType,
    @Ctx() { services, signal }: Context,
  ): Promise<readonly TagUsageType[]> {
    const options = { name: name ?? undefined, limit: MAX_TAGS_LISTED, signal };
    const tags = await services.usage.byTag(address, filter, options);
    return tags.map(({ name, value, ...stats }) => ({ tag: { name, value }, stats }));
  }

  @FieldResolver(() => UsageRecordConnection, {
    nullable: true,
    description: "The individual requests, newest first.",
  })
  async history(
    @Root() { address, filter }: UsageType,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services, signal }: Context,
  ): Promise<Connection<ReturnType<typeof toUsageRecord>>> {
    const page = await services.usage.history(address, filter, { ...toPageRequest(args), signal });
    return toConnection({ ...page, rows: page.rows.map(toUsageRecord) }, usageCursor, async () => {
      const rows = Number(await services.usage.count(address, filter, signal));
      return { rows, isExact: true };
    });
  }
}

function toFilter({ source, from, before, trustMode, ...args }: UsageArgs): UsageFilter {
  return {
    apiKeyId: readApiKeyId(args.apiKeyId, "apiKeyId"),
    apiKeyIds: readApiKeyIds(args.apiKeyIds),
    source: source ?? undefined,
    ...toTimes({ from, before }),
    modelId: readModelId(args.modelId, "modelId"),
    trustMode: trustMode ?? undefined,
    tag: args.tag ?? undefined,
  };
}

function readApiKeyIds(ids: readonly string[] | null | undefined): readonly string[] | undefined {
  const param = "apiKeyIds";
  if ((ids?.length ?? 0) > MAX_USAGE_KEYS)
    throw new AppError("invalid_parameter", `\`${param}\`: at most ${MAX_USAGE_KEYS} keys`, { param });
  return ids?.flatMap((id) => readApiKeyId(id, param) ?? []);
}
