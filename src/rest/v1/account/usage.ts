import { z } from "zod";
import { MAX_TAG_NAME_BYTES } from "../../../accounts/tags/tags.ts";
import {
  type UsageDay,
  type UsageFilter,
  type UsageRow,
  type UsageTotals,
  usageCursor,
} from "../../../accounts/usage/usage.service.ts";
import { AppError } from "../../../kernel/errors.ts";
import { isStorableTime } from "../../../kernel/text/times.ts";
import { integerParameter } from "../../integer-parameter.ts";
import { defineRoute, json, listOf } from "../../route.ts";
import { readTagParameter } from "../../tag-header.ts";
import { address, count, neuron, timestamp } from "../../wire.ts";
import { CURRENCY } from "../account.ts";

const MAX_OFFSET = 1_000_000;
const MAX_TAGS_LISTED = 1_000;
const DAY_MS = 86_400_000;

/** A day of the years 1 to 9999. */
const dayParameter = z.iso
  .date()
  .refine((date) => isStorableTime(new Date(date)), "must be a day of the years 1 to 9999");

const filters = {
  api_key_id: z.uuid().optional(),
  source: z.enum(["wallet", "api_key"]).optional(),
  start_date: dayParameter.optional(),
  end_date: dayParameter.optional(),
  trust_mode: z.enum(["standard", "verified", "private"]).optional(),
  model_id: z.string().min(1).max(500).optional(),
};
const tagFilter = { tag: z.string().max(2_000).optional().meta({ pattern: "^[^=]+=.+$" }) };
const flag = z.enum(["true", "false"]).default("false");

const currency = z.literal(CURRENCY);
const trustMode = z.enum(["standard", "verified", "private"]);
const tokens = {
  input_tokens: count,
  output_tokens: count,
  cached_tokens: count,
  cache_write_tokens: count,
  cache_write_1h_tokens: count,
};
const day = z
  .strictObject({
    date: z.iso.date(),
    model_id: z.string(),
    canonical_id: z.string(),
    request_count: count,
    ...tokens,
    cost: neuron,
    trust_mode: trustMode.optional(),
  })
  .meta({ id: "UsageDay" });
const row = z
  .strictObject({
    id: z.int(),
    request_id: z.string(),
    created_at: timestamp,
    model_id: z.string(),
    canonical_id: z.string(),
    provider_address: address,
    api_key_id: z.uuid().nullable(),
    ...tokens,
    cost: neuron,
    cache_saving: neuron.nullable().meta({
      description:
        "What the provider's cache saved of the cost: 0 if no tokens were cached or writing to it cost more, null if tokens were cached and the balance did not cover the whole cost, and for a stored answer.",
    }),
    deposit_used: neuron,
    credit_used: neuron,
    trust_mode: trustMode,
    cached_from: z.string().optional().meta({
      description: "The request whose stored answer was returned; absent if a provider answered.",
    }),
    tags: z.record(z.string(), z.string()).optional(),
  })
  .meta({ id: "UsageRow" });
const tagRow = z
  .strictObject({
    name: z.string(),
    value: z.string(),
    request_count: count,
    ...tokens,
    cost: neuron,
  })
  .meta({ id: "TagUsage" });

/** GET /v1/account/usage/stats (facts 1.3): totals over every request that matches the filters. */
export const getUsageStats = defineRoute({
  method: "GET",
  url: "/v1/account/usage/stats",
  summary: "Retrieve usage totals",
  access: "usage.read",
  query: z.strictObject({ ...filters, ...tagFilter }),
  answer: {
    json: z.strictObject({
      total_requests: count,
      total_tokens: count,
      prompt_tokens: count,
      completion_tokens: count,
      total_cost: neuron,
      currency,
    }),
  },
  async handle(app, { account, query, signal }) {
    const totals = await app.usage.stats(account, filterOf(query), signal);
    return json({
      total_requests: Number(totals.requests),
      total_tokens: Number(totals.inputTokens + totals.outputTokens),
      prompt_tokens: Number(totals.inputTokens),
      completion_tokens: Number(totals.outputTokens),
      total_cost: String(totals.cost),
      currency: CURRENCY,
    });
  },
});

/** GET /v1/account/usage/daily (facts 1.3): totals by UTC day and model, newest day first. */
export const getUsageByDay = defineRoute({
  method: "GET",
  url: "/v1/account/usage/daily",
  summary: "Retrieve usage by day and model",
  access: "usage.read",
  query: z.strictObject({ ...filters, ...tagFilter, dimensions: z.enum(["trust_mode"]).optional() }),
  answer: { json: z.strictObject({ ...listOf(day), currency }) },
  async handle(app, { account, query, signal }) {
    const byTrustMode = query.dimensions === "trust_mode";
    const days = await app.usage.daily(account, filterOf(query), { byTrustMode, signal });
    return json({ object: "list", currency: CURRENCY, data: days.map(viewDay) });
  },
});

/** GET /v1/account/usage/history (facts 1.3): individual requests, newest first, by cursor or by offset. */
export const getUsageHistory = defineRoute({
  method: "GET",
  url: "/v1/account/usage/history",
  summary: "List usage by request",
  access: "request.read",
  query: z.strictObject({
    ...filters,
    ...tagFilter,
    limit: integerParameter(1, 100, 20),
    offset: integerParameter(0, MAX_OFFSET, 0),
    cursor: z.string().max(512).optional().meta({ minLength: 1 }),
    include_total: flag,
  }),
  answer: {
    json: z.strictObject({
      ...listOf(row),
      currency,
      limit: count,
      offset: count,
      total: count.optional(),
      next_cursor: z.string().optional(),
    }),
  },
  async handle(app, { account, query, signal }) {
    const { limit, offset, cursor, include_total } = query;
    if (cursor !== undefined && offset > 0)
      throw new AppError("invalid_parameter", "offset: send a cursor or an offset.", { param: "offset" });
    const filter = filterOf(query);
    const [{ rows, hasNextPage }, total] = await Promise.all([
      app.usage.history(account, filter, { first: limit, after: cursor, skip: offset, signal }),
      include_total === "true" ? app.usage.count(account, filter, signal) : undefined,
    ]);
    const last = hasNextPage ? rows.at(-1) : undefined;
    return json({
      object: "list",
      currency: CURRENCY,
      limit,
      offset,
      ...(total !== undefined && { total: Number(total) }),
      ...(last && { next_cursor: usageCursor(last) }),
      data: rows.map(viewRow),
    });
  },
});

/**
 * GET /v1/account/usage/tags: totals by tag, the most expensive first. A request counts for each of its tags. Beyond SPEC
 * (schema/choices.md).
 */
export const getUsageByTag = defineRoute({
  method: "GET",
  url: "/v1/account/usage/tags",
  summary: "Retrieve usage by tag",
  access: "usage.read",
  query: z.strictObject({
    ...filters,
    name: z.string().min(1).max(MAX_TAG_NAME_BYTES).optional(),
    limit: integerParameter(1, MAX_TAGS_LISTED, 100),
  }),
  answer: { json: z.strictObject({ ...listOf(tagRow), currency, has_more: z.boolean() }) },
  async handle(app, { account, query: { name, limit, ...query }, signal }) {
    const tags = await app.usage.byTag(account, filterOf(query), { name, limit: limit + 1, signal });
    return json({
      object: "list",
      currency: CURRENCY,
      has_more: tags.length > limit,
      data: tags.slice(0, limit).map((tag) => ({
        ...{ name: tag.name, value: tag.value, request_count: Number(tag.requests) },
        ...viewTokens(tag),
        cost: String(tag.cost),
      })),
    });
  },
});

type Filters = z.output<z.ZodObject<typeof filters>> & { readonly tag?: string | undefined };

/** Dates are UTC days, both inclusive. */
function filterOf(query: Filters): UsageFilter {
  const { start_date, end_date } = query;
  if (start_date !== undefined && end_date !== undefined && end_date < start_date)
    throw new AppError("invalid_parameter", "end_date: is before start_date.", { param: "end_date" });
  return {
    apiKeyId: query.api_key_id,
    source: query.source,
    from: start_date === undefined ? undefined : new Date(start_date),
    before: end_date === undefined ? undefined : nextDay(end_date),
    trustMode: query.trust_mode,
    modelId: query.model_id,
    tag: query.tag === undefined ? undefined : readTagParameter(query.tag, "tag"),
  };
}

/** The start of the next day; undefined, which is no limit, after the last day that a time can have. */
function nextDay(date: string): Date | undefined {
  const next = new Date(Date.parse(date) + DAY_MS);
  return isStorableTime(next) ? next : undefined;
}

function viewDay(day: UsageDay) {
  return {
    date: day.date,
    model_id: day.model,
    canonical_id: day.model,
    request_count: Number(day.requests),
    ...viewTokens(day),
    cost: String(day.cost),
    ...(day.trustMode !== null && { trust_mode: day.trustMode }),
  };
}

function viewRow(row: UsageRow) {
  return {
    id: Number(row.id),
    request_id: row.requestId,
    created_at: row.createdAt.toISOString(),
    model_id: row.model,
    canonical_id: row.model,
    provider_address: row.provider,
    api_key_id: row.apiKeyId,
    ...viewTokens(row),
    cost: String(row.cost),
    cache_saving: row.cacheSaving === null ? null : String(row.cacheSaving),
    deposit_used: String(row.depositUsed),
    credit_used: String(row.creditUsed),
    trust_mode: row.trustMode,
    ...(row.cachedFrom !== null && { cached_from: row.cachedFrom }),
    ...(Object.keys(row.tags).length > 0 && { tags: row.tags }),
  };
}

function viewTokens(counted: Omit<UsageTotals, "requests">) {
  return {
    input_tokens: Number(counted.inputTokens),
    output_tokens: Number(counted.outputTokens),
    cached_tokens: Number(counted.cachedTokens),
    cache_write_tokens: Number(counted.cacheWriteTokens),
    cache_write_1h_tokens: Number(counted.cacheWrite1hTokens),
  };
}
