import { z } from "zod";
import { exactToken } from "../../kernel/text/amount.ts";
import { defineRoute, json } from "../route.ts";
import { tokenNumber } from "../wire.ts";

/**
 * GET /v1/credits: what the account ever had and what it used, in OpenRouter's shape. Beyond SPEC: the only amount of
 * the account that an `sk-` key may read (schema/choices.md).
 */
export const getCredits = defineRoute({
  method: "GET",
  url: "/v1/credits",
  summary: "Retrieve the credits of the account",
  access: "credits.read",
  answer: {
    json: z.strictObject({
      data: z.strictObject({
        total_credits: tokenNumber.meta({
          description: "Deposits and credit: the balance, including what is held, plus `total_usage`.",
        }),
        total_usage: tokenNumber.meta({ description: "The amount charged for all requests of the account." }),
      }),
    }),
  },
  async handle(app, { account, signal }) {
    const { balance, used } = await app.usage.credits(account, signal);
    return json({ data: { total_credits: exactToken(balance + used), total_usage: exactToken(used) } });
  },
});
