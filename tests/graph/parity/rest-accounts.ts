import { GENERATION_MEMBERS, KEY_MEMBERS } from "../../../src/rest/v1/openrouter-members.ts";
import { no, openRouterOnly, type Parity, page } from "./counterparts.ts";

const KEY = {
  label: no("the same as name"),
  key_preview: "ApiKey.preview",
  revoked: no("the same as status REVOKED"),
};
const NEW_API_KEY = { ...KEY, expiration: "CreateApiKeyInput.expiresAt", key: "CreateApiKeyPayload.secret" };
const MANAGEMENT_KEY = {
  key_preview: "ManagementKey.preview",
  key_type: no("the graph has a type for each kind of key"),
  revoked: no("the same as status REVOKED"),
};
const USAGE = {
  start_date: "Account.usage(from)",
  end_date: "Account.usage(before)",
  api_key_id: "Account.usage(apiKeyId)",
  source: "Account.usage(source)",
  trust_mode: "Account.usage(trustMode)",
  model_id: "Account.usage(modelId)",
  tag: "Account.usage(tag)",
};
const BALANCE = {
  deposit_balance: "Balance.deposit",
  credit_balance: "Balance.credit",
  total_balance: "Balance.total",
  balance: "Balance.total",
  held_balance: "Balance.held",
  available_balance: "Balance.available",
};

/** Sessions, keys and the account. */
export const ACCOUNTS: Readonly<Record<string, Parity>> = {
  "GET /v1/generation": {
    fields: ["Query.request"],
    types: ["InferenceRequest"],
    members: {
      id: "Query.request(id)",
      "data.model": "InferenceRequest.modelId",
      "data.provider": "InferenceRequest.providerAddress",
      "data.api_key_id": "InferenceRequest.apiKey",
      "data.cancelled": no("the same as status ABORTED"),
      "data.tokens_prompt": "InferenceRequest.inputTokens",
      "data.tokens_completion": "InferenceRequest.outputTokens",
      "data.native_tokens_prompt": no("the same as tokens_prompt"),
      "data.native_tokens_completion": no("the same as tokens_completion"),
      "data.native_tokens_cached": "InferenceRequest.cachedTokens",
      "data.total_cost": "Cost.total",
      "data.usage": no("the same as total_cost"),
      "data.cache_discount": "Cost.cacheSaving",
      "data.latency": "RequestTiming.durationMs",
      "data.first_byte_latency": "RequestTiming.firstByteMs",
      "data.generation_time": no("the difference of the two"),
      ...openRouterOnly(Object.keys(GENERATION_MEMBERS).map((name) => `data.${name}`)),
    },
  },
  "GET /v1/key": {
    fields: ["Account.apiKeys"],
    types: ["ApiKey"],
    members: {
      "data.label": "ApiKey.name",
      "data.key_preview": "ApiKey.preview",
      "data.usage": "ApiKey.used",
      "data.limit": "ApiKey.creditLimit",
      "data.limit_remaining": no("the difference of the two"),
      "data.limit_reset": "ApiKey.resetPeriod",
      "data.rate_limit.requests": no("in the header X-RateLimit-Limit-Requests of every response"),
      "data.rate_limit.interval": no("one value: a minute"),
      "data.usage_daily": "Account.usage",
      "data.usage_weekly": "Account.usage",
      "data.usage_monthly": "Account.usage",
      ...openRouterOnly([
        "data.rate_limit.note",
        "data.free_model_daily_requests.limit",
        "data.free_model_daily_requests.remaining",
        ...Object.keys(KEY_MEMBERS).map((name) => `data.${name}`),
      ]),
    },
  },
  "GET /v1/credits": {
    fields: ["Account.balance", "Account.usage"],
    members: {
      "data.total_credits": no("the sum of `Balance.total` and the cost of all usage"),
      "data.total_usage": "UsageStats.cost",
    },
  },
  "GET /v1/auth/nonce": { fields: ["Mutation.createSignInNonce"], types: ["CreateSignInNoncePayload"] },
  "POST /v1/auth/signin": {
    fields: ["Mutation.signIn"],
    types: ["SignInInput", "SignInPayload"],
    members: { wallet_address: "Account.address" },
  },
  "POST /v1/auth/signout": {
    fields: ["Mutation.signOut"],
    members: {
      all: "SignOutInput.everywhere",
      sessions_ended: "SignOutPayload.endedSessionCount",
      message: no("a fixed sentence"),
    },
  },
  "GET /v1/auth/me": {
    fields: ["Viewer.session"],
    types: ["WalletSession"],
    members: { auth_type: "Viewer.kind", wallet_address: "Account.address" },
  },
  "GET /v1/api-keys": {
    fields: ["Account.apiKeys"],
    types: ["ApiKey"],
    members: {
      ...KEY,
      ...page("Account.apiKeys"),
      status: "ApiKeyFilterInput.statuses",
      "data.status": "ApiKey.status",
    },
  },
  "POST /v1/api-keys": {
    fields: ["Mutation.createApiKey"],
    types: ["CreateApiKeyInput", "ApiKey"],
    members: NEW_API_KEY,
  },
  "PATCH /v1/api-keys/{id}": {
    fields: ["Mutation.updateApiKey"],
    types: ["UpdateApiKeyInput", "ApiKey"],
    members: { ...KEY, expiration: "UpdateApiKeyInput.expiresAt" },
  },
  "DELETE /v1/api-keys/{id}": {
    fields: ["Mutation.revokeApiKey"],
    types: ["ApiKey"],
    members: { message: no("a fixed sentence") },
  },
  "GET /v1/management-keys": {
    fields: ["Account.managementKeys"],
    types: ["ManagementKey"],
    members: {
      ...MANAGEMENT_KEY,
      ...page("Account.managementKeys"),
      status: "ManagementKeyFilterInput.statuses",
      "data.status": "ManagementKey.status",
    },
  },
  "POST /v1/management-keys": {
    fields: ["Mutation.createManagementKey"],
    types: ["CreateManagementKeyInput", "ManagementKey"],
    members: { ...MANAGEMENT_KEY, key: "CreateManagementKeyPayload.secret" },
  },
  "PATCH /v1/management-keys/{id}": {
    fields: ["Mutation.updateManagementKey"],
    types: ["UpdateManagementKeyInput", "ManagementKey"],
    members: MANAGEMENT_KEY,
  },
  "DELETE /v1/management-keys/{id}": {
    fields: ["Mutation.revokeManagementKey"],
    types: ["ManagementKey"],
    members: { message: no("a fixed sentence") },
  },
  "GET /v1/tag-budgets": {
    fields: ["Account.tagBudgets"],
    types: ["TagBudget", "Tag"],
    members: { max_budgets: no("a fixed number; the description of `CreateTagBudgetInput.tag` says so") },
  },
  "POST /v1/tag-budgets": {
    fields: ["Mutation.createTagBudget"],
    types: ["CreateTagBudgetInput", "TagInput", "TagBudget", "Tag"],
  },
  "GET /v1/tag-budgets/{id}": { fields: ["Query.node"], types: ["TagBudget", "Tag"] },
  "PATCH /v1/tag-budgets/{id}": {
    fields: ["Mutation.updateTagBudget"],
    types: ["UpdateTagBudgetInput", "TagBudget", "Tag"],
  },
  "DELETE /v1/tag-budgets/{id}": {
    fields: ["Mutation.deleteTagBudget"],
    types: ["DeleteTagBudgetPayload"],
    members: { budget_id: "DeleteTagBudgetInput.id" },
  },
  "GET /v1/webhooks": {
    fields: ["Account.webhooks"],
    types: ["Webhook"],
    members: { max_webhooks: no("a fixed number; the description of the list says so") },
  },
  "POST /v1/webhooks": {
    fields: ["Mutation.createWebhook"],
    types: ["CreateWebhookInput", "CreateWebhookPayload", "Webhook"],
  },
  "GET /v1/webhooks/{id}": { fields: ["Query.node"], types: ["Webhook"] },
  "PATCH /v1/webhooks/{id}": { fields: ["Mutation.updateWebhook"], types: ["UpdateWebhookInput", "Webhook"] },
  "DELETE /v1/webhooks/{id}": {
    fields: ["Mutation.deleteWebhook"],
    types: ["DeleteWebhookPayload"],
    members: { webhook_id: "DeleteWebhookInput.id" },
  },
  "GET /v1/webhooks/{id}/attempts": {
    fields: ["Webhook.attempts"],
    types: ["WebhookAttempt", "WebhookResult"],
  },
  "POST /v1/webhooks/{id}/test": { fields: ["Mutation.testWebhook"], types: ["WebhookResult"] },
  "POST /v1/webhooks/{id}/rotate-secret": {
    fields: ["Mutation.rotateWebhookSecret"],
    types: ["RotateWebhookSecretPayload", "Webhook"],
  },
  "POST /v1/webhooks/{id}/replay": {
    fields: ["Mutation.replayWebhook"],
    types: ["ReplayWebhookInput", "Webhook"],
  },
  "GET /v1/account": { fields: ["Viewer.account"], types: ["Account"], members: BALANCE },
  "GET /v1/account/balance": { fields: ["Account.balance"], types: ["Account"], members: BALANCE },
  "GET /v1/account/funds": {
    fields: ["Account.balance", "Account.vaultBalance"],
    types: ["Account"],
    members: {
      total: "Balance.available",
      "router.deposit": "Balance.deposit",
      "router.credit": "Balance.credit",
      "router.pending_charge": "Balance.held",
      "router.subtotal": "Balance.available",
      "payment_layer.balance": "VaultBalance.balance",
      "payment_layer.queried_at": "VaultBalance.asOf",
      "payment_layer.shared_across_products": no("always true; the description of VaultBalance says so"),
    },
  },
  "GET /v1/account/usage/stats": {
    fields: ["Usage.stats"],
    members: {
      ...USAGE,
      total_requests: "UsageStats.requestCount",
      prompt_tokens: "UsageStats.inputTokens",
      completion_tokens: "UsageStats.outputTokens",
      total_tokens: no("the sum of the two"),
      total_cost: "UsageStats.cost",
    },
  },
  "GET /v1/account/usage/daily": {
    fields: ["Usage.daily"],
    types: ["UsageDay", "UsageStats"],
    members: {
      ...USAGE,
      dimensions: "Usage.daily(byTrustMode)",
      "data.request_count": "UsageStats.requestCount",
      "data.model_id": "UsageDay.modelId",
      "data.trust_mode": "UsageDay.trustMode",
    },
  },
  "GET /v1/account/usage/tags": {
    fields: ["Usage.tags"],
    types: ["TagUsage", "Tag", "UsageStats"],
    members: {
      ...USAGE,
      name: "Usage.tags(name)",
      limit: no("the graph lists the 100 most expensive"),
      has_more: no("a name and a range of times select what is not among them"),
      "data.request_count": "UsageStats.requestCount",
    },
  },
  "GET /v1/account/usage/history": {
    fields: ["Usage.history"],
    types: ["UsageRecord"],
    members: {
      ...USAGE,
      ...page("Usage.history"),
      offset: no("pages of the graph are by cursor, which stays right while rows are added"),
      include_total: "UsageStats.requestCount",
      total: "UsageRecordConnection.totalCount",
      "data.id": "UsageRecord.number",
      "data.request_id": "UsageRecord.request",
      "data.cached_from": "InferenceRequest.cachedFrom",
    },
  },
};
