import { z } from "zod";
import { MAX_TAG_BUDGETS, type TagBudget } from "../../accounts/budgets/tag-budgets.service.ts";
import { MAX_TAG_NAME_BYTES, MAX_TAG_VALUE_BYTES } from "../../accounts/tags/tags.ts";
import { formatToken, parseToken } from "../../kernel/text/amount.ts";
import { RESET_PERIODS } from "../../keys/api-keys/reset-period.ts";
import { defineRoute, json, listOf } from "../route.ts";
import { timestamp, token } from "../wire.ts";
import { tokens } from "./key-shape.ts";

const TAG_BUDGET = z
  .strictObject({
    budget_id: z.uuid(),
    name: z.string(),
    value: z.string(),
    credit_limit: token,
    used: token,
    held: token,
    currency: z.literal("0g"),
    reset_period: z.enum(RESET_PERIODS),
    created_at: timestamp,
  })
  .meta({ id: "TagBudget", description: "Amounts are in the network's token, as decimals." });

/** GET /v1/tag-budgets: the budgets of the account's tags, oldest first. Beyond SPEC (schema/choices.md). */
export const listTagBudgets = defineRoute({
  method: "GET",
  url: "/v1/tag-budgets",
  summary: "List the budgets of tags",
  access: "tag-budget.read",
  answer: { json: z.strictObject({ ...listOf(TAG_BUDGET), max_budgets: z.literal(MAX_TAG_BUDGETS) }) },
  async handle(app, { account }) {
    const budgets = await app.tagBudgets.list(account);
    return json({ object: "list", data: budgets.map(view), max_budgets: MAX_TAG_BUDGETS });
  },
});

/** POST /v1/tag-budgets: limits what requests with a tag spend in a period, from their next one. */
export const createTagBudget = defineRoute({
  method: "POST",
  url: "/v1/tag-budgets",
  summary: "Create the budget of a tag",
  access: "tag-budget.manage",
  repetition: "replayed",
  body: z.strictObject({
    name: z.string().min(1).max(MAX_TAG_NAME_BYTES),
    value: z.string().min(1).max(MAX_TAG_VALUE_BYTES),
    credit_limit: tokens,
    reset_period: z.enum(RESET_PERIODS).nullish(),
  }),
  answer: { status: 201, json: TAG_BUDGET },
  async handle(app, { account, body: { name, value, credit_limit, reset_period } }) {
    const terms = { creditLimit: parseToken(credit_limit), resetPeriod: reset_period ?? "never" };
    return json(view(await app.tagBudgets.create(account, { name, value, ...terms })), 201);
  },
});

/** GET /v1/tag-budgets/{id}: one budget. */
export const getTagBudget = defineRoute({
  method: "GET",
  url: "/v1/tag-budgets/:id",
  summary: "Retrieve the budget of a tag",
  access: "tag-budget.read",
  answer: { json: TAG_BUDGET },
  async handle(app, { account, params: { id = "" } }) {
    return json(view(await app.tagBudgets.get(account, id)));
  },
});

/** PATCH /v1/tag-budgets/{id}: changes the sent fields, effective from the next request with the tag. */
export const updateTagBudget = defineRoute({
  method: "PATCH",
  url: "/v1/tag-budgets/:id",
  summary: "Change the budget of a tag",
  access: "tag-budget.manage",
  body: z.strictObject({ credit_limit: tokens.nullish(), reset_period: z.enum(RESET_PERIODS).nullish() }),
  answer: { json: TAG_BUDGET },
  async handle(app, { account, params: { id = "" }, body: { credit_limit, reset_period } }) {
    const changes = {
      ...(credit_limit != null && { creditLimit: parseToken(credit_limit) }),
      ...(reset_period != null && { resetPeriod: reset_period }),
    };
    return json(view(await app.tagBudgets.update(account, id, changes)));
  },
});

/** DELETE /v1/tag-budgets/{id}: deletes a budget; its tag is not limited any more. */
export const deleteTagBudget = defineRoute({
  method: "DELETE",
  url: "/v1/tag-budgets/:id",
  summary: "Delete the budget of a tag",
  access: "tag-budget.manage",
  answer: { json: z.strictObject({ budget_id: z.uuid(), deleted: z.literal(true) }) },
  async handle(app, { account, params: { id = "" } }) {
    await app.tagBudgets.delete(account, id);
    return json({ budget_id: id.toLowerCase(), deleted: true });
  },
});

function view({ id, name, value, creditLimit, used, held, resetPeriod, createdAt }: TagBudget) {
  return {
    budget_id: id,
    ...{ name, value },
    credit_limit: formatToken(creditLimit),
    used: formatToken(used),
    held: formatToken(held),
    currency: "0g",
    reset_period: resetPeriod,
    created_at: createdAt.toISOString(),
  };
}
