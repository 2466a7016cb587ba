import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { exactToken } from "../../kernel/text/amount.ts";
import type { ApiKey } from "../../keys/api-keys/api-key.service.ts";
import { EVIDENCE_FLOORS, TRUST_FLOORS } from "../../keys/api-keys/key-settings.ts";
import { periodStart, RESET_PERIODS } from "../../keys/api-keys/reset-period.ts";
import { permitSpender } from "../../keys/auth/permissions.ts";
import { defineRoute, json } from "../route.ts";
import { timestamp, tokenNumber } from "../wire.ts";
import { GUARDRAILS, viewGuardrails } from "./key-shape.ts";
import { KEY_MEMBERS, KEY_VALUES } from "./openrouter-members.ts";

const PERIODS = ["daily", "weekly", "monthly"] as const;

const RATE_NOTE = "Requests per minute of this key.";

const KEY = z
  .strictObject({
    label: z.string(),
    key_id: z.uuid(),
    key_preview: z.string(),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    usage: tokenNumber.meta({
      description:
        "The amount charged in the current period of the limit. A charge counts in the period in which it is settled.",
    }),
    usage_daily: tokenNumber.meta({
      description: "The amount charged for requests that began today, UTC, as in `usage/daily`.",
    }),
    usage_weekly: tokenNumber.meta({
      description: "The amount charged for requests that began since Monday, UTC.",
    }),
    usage_monthly: tokenNumber.meta({
      description: "The amount charged for requests that began in this month, UTC.",
    }),
    limit: tokenNumber.nullable().meta({ description: "The credit limit per period; null for none." }),
    limit_remaining: tokenNumber.nullable().meta({
      description:
        "The amount that the limit leaves, before the holds of running requests are deducted; null without a limit.",
    }),
    limit_reset: z.enum(RESET_PERIODS),
    rate_limit: z
      .strictObject({ requests: z.int().min(-1), interval: z.literal("60s"), note: z.string() })
      .meta({ description: "Requests per minute; -1 for no limit." }),
    allowed_models: z.array(z.string()),
    allowed_providers: z.array(z.string()),
    trust_mode: z.enum(TRUST_FLOORS).nullable(),
    provider_evidence: z.enum(EVIDENCE_FLOORS).nullable(),
    ...GUARDRAILS,
    ...KEY_MEMBERS,
  })
  .meta({ id: "OwnKey", description: "An `sk-` key as it sees itself." });

/** GET /v1/key: the `sk-` key of the caller, in OpenRouter's shape. Beyond SPEC (schema/choices.md). */
export const getKey = defineRoute({
  method: "GET",
  url: "/v1/key",
  summary: "Retrieve the limits of the API key in use",
  access: "own-key.read",
  answer: { json: z.strictObject({ data: KEY }) },
  async handle(app, { principal, account, signal }) {
    const { keyId } = permitSpender(principal, "own-key.read");
    const [key] = await app.apiKeys.byIds([keyId]);
    if (!key) throw new AppError("api_key_not_found", "This key does not exist any more.");
    const now = app.clock.now();
    const [daily, weekly, monthly] = await Promise.all(
      PERIODS.map((period) => {
        const from = periodStart(period, now) ?? now;
        return app.usage.stats(account, { apiKeyId: keyId, from }, signal);
      }),
    );
    return json({
      data: {
        ...view(key, app.config.RATE_LIMIT_PER_KEY),
        usage_daily: exactToken(daily?.cost ?? 0n),
        usage_weekly: exactToken(weekly?.cost ?? 0n),
        usage_monthly: exactToken(monthly?.cost ?? 0n),
      },
    });
  },
});

function view(key: ApiKey, requestsPerMinute: number) {
  const { creditLimit, used } = key;
  const remaining = creditLimit === null ? null : creditLimit > used ? creditLimit - used : 0n;
  return {
    label: key.name,
    key_id: key.id,
    key_preview: key.preview,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    usage: exactToken(used),
    limit: creditLimit === null ? null : exactToken(creditLimit),
    limit_remaining: remaining === null ? null : exactToken(remaining),
    limit_reset: key.resetPeriod,
    // OpenRouter's SDK refuses null.
    rate_limit: { requests: requestsPerMinute || -1, interval: "60s" as const, note: RATE_NOTE },
    allowed_models: key.allowedModels,
    allowed_providers: key.allowedProviders,
    trust_mode: key.trustMode,
    provider_evidence: key.providerEvidence,
    ...viewGuardrails(key),
    ...KEY_VALUES,
  };
}
