import { type Fields, fieldsOf } from "./fields.ts";
import { invalidField } from "./invalid-field.ts";

/** A member of a body that no prompt may have. */
type RefusedField = {
  /** The member, as a path with dots. */
  readonly field: string;
  /** Where the field is documented. */
  readonly source: string;
  /** Whether a value has an effect; one that turns the field off has none. */
  readonly isRequested: (value: unknown) => boolean;
  /** What the error says; by default, that tools of the provider are not supported. */
  readonly reason?: string;
};

const HOSTED = "tools that the provider runs are not supported";
const OTHER_MODEL = "the model must be one that the router admits: send models";

/** Tiers that never cost more than the listed price, in the words of every provider: `standard_only` is Anthropic's. */
const TIERS = ["auto", "default", "flex", "on_demand", "standard", "standard_only"] as const;

/** Every field by which a prompt requests tools that its provider runs, besides `tools`. */
export const HOSTED_TOOLS: readonly RefusedField[] = [
  {
    field: "web_search_options",
    source: "https://platform.openai.com/docs/api-reference/chat/create",
    isRequested: (value) => value != null,
  },
  {
    field: "mcp_servers",
    source: "https://docs.claude.com/en/docs/agents-and-tools/mcp-connector",
    isRequested: isFilled,
  },
  {
    field: "container",
    source: "https://docs.claude.com/en/docs/agents-and-tools/tool-use/code-execution-tool",
    isRequested: (value) => value != null,
  },
  {
    field: "search_parameters",
    source: "https://docs.x.ai/docs/guides/live-search",
    isRequested: (value) => value != null && fieldsOf(value).mode !== "off",
  },
  {
    field: "enable_search",
    source: "https://www.alibabacloud.com/help/en/model-studio/web-search",
    isRequested: isOn,
  },
  {
    field: "compound_custom.tools.enabled_tools",
    source: "https://console.groq.com/docs/compound/built-in-tools",
    isRequested: isFilled,
  },
  ...(["web_search", "web_scraping", "x_search"] as const).map((name) => ({
    field: `venice_parameters.enable_${name}`,
    source: "https://docs.venice.ai/api-reference/api-spec",
    isRequested: (value: unknown) => isOn(value) && value !== "off",
  })),
  {
    field: "data_sources",
    source: "https://learn.microsoft.com/azure/ai-services/openai/references/on-your-data",
    isRequested: isFilled,
  },
  {
    field: "connectors",
    source: "https://docs.cohere.com/v1/reference/chat",
    isRequested: isFilled,
  },
];

/**
 * Every field by which a provider would use another model than the one that was admitted, or another price than the one
 * that was held: neither is within the limits of the key.
 */
export const OTHER_TERMS: readonly RefusedField[] = [
  {
    field: "fallbacks",
    source:
      "https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback#server-side-fallback",
    isRequested: isFilled,
    reason: OTHER_MODEL,
  },
  {
    field: "preset",
    source: "https://openrouter.ai/docs/features/presets",
    isRequested: (value) => value != null,
    reason: OTHER_MODEL,
  },
  {
    field: "lora_path",
    source: "https://docs.sglang.io/advanced_features/lora.html",
    isRequested: (value) => value != null,
    reason: OTHER_MODEL,
  },
  {
    field: "adapter_id",
    source: "https://loraexchange.ai/models/adapters/",
    isRequested: (value) => value != null && value !== "",
    reason: OTHER_MODEL,
  },
  {
    field: "safety_model",
    source: "https://docs.together.ai/reference/chat-completions-1",
    isRequested: (value) => value != null,
    reason: OTHER_MODEL,
  },
  {
    field: "service_tier",
    source: "https://platform.openai.com/docs/api-reference/chat/create",
    ...onlyAtListedPrice("tier", TIERS),
  },
  {
    field: "speed",
    source: "https://platform.claude.com/docs/en/build-with-claude/fast-mode",
    ...onlyAtListedPrice("speed", ["standard"]),
  },
  {
    field: "inference_geo",
    source: "https://platform.claude.com/docs/en/build-with-claude/data-residency",
    ...onlyAtListedPrice("region", ["global"]),
  },
  {
    field: "reasoning.mode",
    source: "https://platform.openai.com/docs/api-reference/responses/create",
    ...onlyAtListedPrice("mode", ["standard"]),
  },
  {
    field: "extra_body",
    source: "https://docs.litellm.ai/docs/completion/provider_specific_params",
    isRequested: (value) => value != null && Object.keys(fieldsOf(value)).some((name) => name !== "google"),
    reason: "send its members as fields of the body",
  },
];

/** Every field that names what the provider stores. All accounts share the router's own account there. */
export const STORED_STATE: readonly RefusedField[] = [
  {
    field: "thread",
    source: "https://platform.claude.com/docs/en/api/beta/messages/create",
    isRequested: (value) => value != null,
    reason: "conversations are not stored here: send all messages",
  },
  {
    field: "extra_body.google.cached_content",
    source: "https://ai.google.dev/gemini-api/docs/openai",
    isRequested: (value) => value != null,
    reason: "prompts are not stored here: send the whole prompt",
  },
];

const REFUSED_FIELDS = [...HOSTED_TOOLS, ...OTHER_TERMS, ...STORED_STATE].map((refused) => ({
  ...refused,
  path: refused.field.split("."),
}));
/** Ordinary bodies have none of these, so their members are compared with them, and not all of these looked up. */
const FIRST_MEMBERS = new Set(REFUSED_FIELDS.map(({ path: [first] }) => first));

/** Whether `refuseFields` may refuse a field of this name, or a member of it. */
export function isRefusable(name: string): boolean {
  return FIRST_MEMBERS.has(name);
}

/**
 * Throws `invalid_body`, naming the field, for a prompt whose provider would run tools, since these have prices of their
 * own which nothing here holds or charges; and for one that it would answer on other terms than those of the admission.
 */
export function refuseFields(body: Fields): void {
  if (!Object.keys(body).some((name) => FIRST_MEMBERS.has(name))) return;
  for (const { field, path, isRequested, reason = HOSTED } of REFUSED_FIELDS) {
    const value = path.reduce<unknown>((at, name) => fieldsOf(at)[name], body);
    if (isRequested(value)) throw invalidField(field, reason);
  }
}

/** Any other value may turn a tool on: a lenient server takes the text `false` for true. */
function isOn(value: unknown): boolean {
  return value != null && value !== false;
}

/** Whether a list has an item; a value that is no list may request a tool. */
function isFilled(value: unknown): boolean {
  return value != null && !(Array.isArray(value) && value.length === 0);
}

/** Refuses every value of a field but these, and lists them in the error. */
function onlyAtListedPrice(
  what: string,
  values: readonly string[],
): Pick<RefusedField, "isRequested" | "reason"> {
  const listed = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(values);
  return {
    isRequested: (value) => value != null && !values.some((known) => known === value),
    reason: `must be ${listed}: any other ${what} has a price of its own, which is not supported`,
  };
}
