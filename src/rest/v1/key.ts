import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { exactToken } from "../../kernel/text/amount.ts";
import type { ApiKey } from "../../keys/api-keys/api-key.service.ts";
import { EVIDENCE_FLOORS, TRUST_FLOORS } from "../../keys/api-keys/key-settings.ts";
import { RESET_PERIODS } from "../../keys/api-keys/reset-period.ts";
import { permitSpender } from "../../keys/auth/permissions.ts";
import { defineRoute, json } from "../route.ts";
import { count, timestamp, tokenNumber } from "../wire.ts";
import { GUARDRAILS, viewGuardrails } from "./key-shape.ts";

const KEY = z
  .strictObject({
    label: z.string(),
    key_id: z.uuid(),
    key_preview: z.string(),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    usage: tokenNumber.meta({ description: "The amount charged in the current period." }),
    limit: tokenNumber.nullable().meta({ description: "The credit limit per period; null for none." }),
    limit_remaining: tokenNumber.nullable().meta({
      description:
        "The amount that the limit leaves, before the holds of running requests are deducted; null without a limit.",
    }),
    limit_reset: z.enum(RESET_PERIODS),
    rate_limit: z
      .strictObject({ requests: count, interval: z.literal("60s") })
      .nullable()
      .meta({ description: "Requests per minute; null for no limit." }),
    allowed_models: z.array(z.string()),
    allowed_providers: z.array(z.string()),
    trust_mode: z.enum(TRUST_FLOORS).nullable(),
    provider_evidence: z.enum(EVIDENCE_FLOORS).nullable(),
    ...GUARDRAILS,
  })
  .meta({ id: "OwnKey", description: "An `sk-` key as it sees itself." });

/** GET /v1/key: the `sk-` key of the caller, in OpenRouter's shape. Beyond SPEC (schema/choices.md). */
export const getKey = defineRoute({
  method: "GET",
  url: "/v1/key",
  summary: "Retrieve the limits of the API key in use",
  access: "own-key.read",
  answer: { json: z.strictObject({ data: KEY }) },
  async handle(app, { principal }) {
    const { keyId } = permitSpender(principal, "own-key.read");
    const [key] = await app.apiKeys.byIds([keyId]);
    if (!key) throw new AppError("api_key_not_found", "This key does not exist any more.");
    return json({ data: view(key, app.config.RATE_LIMIT_PER_KEY) });
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
    rate_limit: requestsPerMinute > 0 ? { requests: requestsPerMinute, interval: "60s" } : null,
    allowed_models: key.allowedModels,
    allowed_providers: key.allowedProviders,
    trust_mode: key.trustMode,
    provider_evidence: key.providerEvidence,
    ...viewGuardrails(key),
  };
}
