import { z } from "zod";
import { formatToken, parseToken } from "../../kernel/text/amount.ts";
import { shortString } from "../../kernel/text/characters.ts";
import { type ApiKey, KEY_STATUSES } from "../../keys/api-keys/api-key.service.ts";
import {
  MAX_GUARDRAIL,
  MAX_PARAMETER_NAME,
  MAX_TOOL_NAME,
  PARAMETER_NAME,
} from "../../keys/api-keys/guardrails.ts";
import { EVIDENCE_FLOORS, type KeySettings, TRUST_FLOORS } from "../../keys/api-keys/key-settings.ts";
import { RESET_PERIODS } from "../../keys/api-keys/reset-period.ts";
import { defineRoute, json } from "../route.ts";
import { timestamp, token } from "../wire.ts";
import {
  answerKeyList,
  GUARDRAILS,
  keyListAnswer,
  keyListQuery,
  keyName,
  REVOKED_KEY,
  tokens,
  viewGuardrails,
} from "./key-shape.ts";

const MAX_LISTED = 100;
const guardrail = z
  .union(
    [z.literal(""), z.int().min(1).max(MAX_GUARDRAIL)],
    `must be an integer from 1 to ${MAX_GUARDRAIL}, or ""`,
  )
  .nullish();

/** The fields that POST and PATCH share. A null is treated as absent; `""` removes a limit. */
const settings = {
  credit_limit: z.union([z.literal(""), tokens]).nullish(),
  reset_period: z.enum(RESET_PERIODS).nullish(),
  expiration: z.union([z.literal(["", "no_expiration"]), z.iso.datetime({ offset: true })]).nullish(),
  allowed_models: z.array(shortString(256)).max(MAX_LISTED).nullish(),
  allowed_providers: z
    .array(z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be addresses"))
    .max(MAX_LISTED)
    .nullish(),
  trust_mode: z.enum(["", ...TRUST_FLOORS]).nullish(),
  provider_evidence: z.enum(["", ...EVIDENCE_FLOORS]).nullish(),
  max_input_tokens: guardrail,
  max_input_bytes: guardrail,
  max_output_tokens: guardrail,
  allowed_tools: z.array(shortString(MAX_TOOL_NAME)).max(MAX_LISTED).nullish(),
  blocked_parameters: z
    .array(z.string().max(MAX_PARAMETER_NAME).regex(PARAMETER_NAME, "must be names of body fields"))
    .max(MAX_LISTED)
    .nullish(),
  verify_tee: z.boolean().nullish(),
};

const sameName = ({ name, label }: { name?: string | null | undefined; label?: string | null | undefined }) =>
  name == null || label == null || name === label;
/** SPEC calls the name of a key its label. */
const label = keyName
  .nullish()
  .meta({ description: "The same as `name`; if both are sent, they must be equal." });
const NAMES_DIFFER = { path: ["label"], message: "label and name are one field" };

const item = z
  .strictObject({
    key_id: z.uuid(),
    key_preview: z.string(),
    name: z.string(),
    label: z.string(),
    permission: z.literal("inference"),
    status: z.enum(KEY_STATUSES),
    revoked: z.boolean(),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
    expires_at: timestamp.nullable(),
    credit_limit: token.nullable(),
    used: token,
    currency: z.literal("0g"),
    reset_period: z.enum(RESET_PERIODS),
    allowed_models: z.array(z.string()),
    allowed_providers: z.array(z.string()),
    trust_mode: z.enum(TRUST_FLOORS).nullable(),
    provider_evidence: z.enum(EVIDENCE_FLOORS).nullable(),
    ...GUARDRAILS,
  })
  .meta({ id: "ApiKey", description: "Amounts are in the network's token, as decimals." });

/** GET /v1/api-keys (SPEC 4.1, facts 1.3): the account's keys, oldest first; all of them by default. */
export const listApiKeys = defineRoute({
  method: "GET",
  url: "/v1/api-keys",
  summary: "List the API keys",
  access: "api-key.read",
  query: keyListQuery(KEY_STATUSES),
  answer: keyListAnswer(item),
  handle: (app, { account, query }) =>
    answerKeyList("api-key", query, (page, statuses) => app.apiKeys.list(account, page, statuses), view),
});

/** POST /v1/api-keys: creates a key, by default without limits. `key` is returned only once. */
export const createApiKey = defineRoute({
  method: "POST",
  url: "/v1/api-keys",
  summary: "Create an API key",
  access: "api-key.create",
  repetition: "secret",
  body: z
    .strictObject({ name: keyName.nullish(), label, ...settings })
    .refine(sameName, NAMES_DIFFER)
    .refine(({ name, label }) => name != null || label != null, { path: ["name"], message: "required" }),
  answer: { status: 201, json: z.strictObject({ ...item.shape, key: z.string() }) },
  async handle(app, { account, body }) {
    const { key, secret } = await app.apiKeys.create(
      account,
      body.name ?? body.label ?? "",
      toSettings(body),
    );
    return json({ ...view(key), key: secret }, 201);
  },
});

/** PATCH /v1/api-keys/{id}: changes the sent fields, effective from the key's next request. */
export const updateApiKey = defineRoute({
  method: "PATCH",
  url: "/v1/api-keys/:id",
  summary: "Change an API key",
  access: "api-key.update",
  body: z.strictObject({ name: keyName.nullish(), label, ...settings }).refine(sameName, NAMES_DIFFER),
  answer: { json: item },
  async handle(app, { account, params: { id = "" }, body }) {
    const name = body.name ?? body.label;
    const changes = { ...toSettings(body), ...(name != null && { name }) };
    return json(view(await app.apiKeys.update(account, id, changes)));
  },
});

/** DELETE /v1/api-keys/{id}: revokes the key permanently; its next request gets 401. */
export const revokeApiKey = defineRoute({
  method: "DELETE",
  url: "/v1/api-keys/:id",
  summary: "Revoke an API key",
  access: "api-key.revoke",
  answer: REVOKED_KEY,
  async handle(app, { account, params: { id = "" } }) {
    const key = await app.apiKeys.revoke(account, id);
    return json({ key_id: key.id, message: "API key revoked" });
  },
});

type Settings = z.output<z.ZodObject<typeof settings>>;

function toSettings(body: Settings): Partial<Omit<KeySettings, "name">> {
  const { credit_limit, reset_period, expiration, allowed_models, allowed_providers } = body;
  const { trust_mode, provider_evidence } = body;
  const { max_input_tokens, max_input_bytes, max_output_tokens } = body;
  const { allowed_tools, blocked_parameters, verify_tee } = body;
  return {
    ...(credit_limit != null && { creditLimit: credit_limit === "" ? null : parseToken(credit_limit) }),
    ...(reset_period != null && { resetPeriod: reset_period }),
    ...(expiration != null && {
      expiresAt: expiration === "" || expiration === "no_expiration" ? null : new Date(expiration),
    }),
    ...(allowed_models != null && { allowedModels: allowed_models }),
    ...(allowed_providers != null && { allowedProviders: allowed_providers }),
    ...(trust_mode != null && { trustMode: trust_mode === "" ? null : trust_mode }),
    ...(provider_evidence != null && {
      providerEvidence: provider_evidence === "" ? null : provider_evidence,
    }),
    ...(max_input_tokens != null && { maxInputTokens: max_input_tokens === "" ? null : max_input_tokens }),
    ...(max_input_bytes != null && { maxInputBytes: max_input_bytes === "" ? null : max_input_bytes }),
    ...(max_output_tokens != null && {
      maxOutputTokens: max_output_tokens === "" ? null : max_output_tokens,
    }),
    ...(allowed_tools != null && { allowedTools: allowed_tools }),
    ...(blocked_parameters != null && { blockedParameters: blocked_parameters }),
    ...(verify_tee != null && { verifyTee: verify_tee }),
  };
}

/** Amounts are decimal strings of tokens here, as documented; everywhere else they are neuron. */
function view(key: ApiKey) {
  return {
    key_id: key.id,
    key_preview: key.preview,
    name: key.name,
    label: key.name,
    permission: key.permission,
    status: key.status,
    revoked: key.status === "revoked",
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    expires_at: key.expiresAt?.toISOString() ?? null,
    credit_limit: key.creditLimit === null ? null : formatToken(key.creditLimit),
    used: formatToken(key.used),
    currency: "0g",
    reset_period: key.resetPeriod,
    allowed_models: key.allowedModels,
    allowed_providers: key.allowedProviders,
    trust_mode: key.trustMode,
    provider_evidence: key.providerEvidence,
    ...viewGuardrails(key),
  };
}
