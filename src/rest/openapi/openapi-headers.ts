import { MAX_SESSION_ID, PROVIDER_SORTS } from "../../inference/routing/routing-preferences.ts";
import { TAG_HEADER } from "../tag-header.ts";

const price = { type: "string", pattern: "^(0|[1-9]\\d{0,11})(\\.\\d{1,18})?$" };
const addressList = { type: "string", pattern: "^0x[0-9a-fA-F]{40}( *, *0x[0-9a-fA-F]{40}){0,49}$" };
/** Of routes that answer a repeated request with the first response. */
export const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  description:
    "A repeated request with the same key gets the first response again; it is neither executed nor billed again.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};
/** Of routes whose first response has a secret. */
export const IDEMPOTENCY_KEY_OF_SECRETS = {
  ...IDEMPOTENCY_KEY,
  description:
    "A repeated request with the same key is not executed again: it is 409 `idempotency_not_replayable`, as the secret " +
    "in the first response is not stored.",
};
/** Of routes that store answers. */
export const CACHE = {
  name: "X-0G-Cache",
  description:
    "Seconds. An equal request of the same key gets an answer that is not older than this, and the answer is stored for " +
    "this long. The response's `X-0G-Cache` is `hit`, `miss` or `bypass`.",
  schema: { type: "integer", minimum: 1, maximum: 86_400 },
};
/** Of billed routes. */
export const TAGS_OF_REQUEST = {
  name: TAG_HEADER,
  description:
    "Tags of the request, under which its cost counts: up to 10 pairs `name=value`, separated by commas, with other " +
    "characters than printable ASCII, and commas, percent-encoded. The header may be repeated. A chat or a response may " +
    "also have them in `metadata`.",
  schema: { type: "string" },
  example: "team=search, customer=42",
};
/** Of routes that also have Anthropic's shape. */
export const ANTHROPIC_VERSION = {
  name: "anthropic-version",
  description:
    "Sent by Anthropic's clients: the answer and errors are in the shape of Anthropic's Models API.",
  schema: { type: "string" },
  example: "2023-06-01",
};
/** Of every route. */
export const REQUEST_ID = {
  name: "X-Request-ID",
  description: "Returned as it was sent; generated if absent.",
  schema: { type: "string", pattern: "^(?!async-)[A-Za-z0-9._:-]{1,64}$" },
};
/** The routing preferences. Each is also accepted under the other words of `PLATFORM_WORDS`. */
export const ROUTING_HEADERS = [
  {
    name: "X-0G-Provider-Sort",
    description: "How providers are ranked.",
    schema: { enum: PROVIDER_SORTS },
  },
  {
    name: "X-0G-Provider-Address",
    description: "The address of the only provider to use.",
    schema: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" },
  },
  {
    name: "X-0G-Provider-Order",
    description: "Addresses of providers to try first, in this order, separated by commas.",
    schema: addressList,
  },
  {
    name: "X-0G-Provider-Only",
    description: "Addresses of the providers that may be used, separated by commas.",
    schema: addressList,
  },
  {
    name: "X-0G-Provider-Ignore",
    description: "Addresses of providers that may not be used, separated by commas.",
    schema: addressList,
  },
  {
    name: "X-0G-Provider-Fallback-Models",
    description:
      "Models to use, in this order, if no provider of the requested one answers, separated by commas: at most 5. For chats and messages.",
    schema: { type: "string" },
  },
  {
    name: "X-0G-Provider-Allow-Fallbacks",
    description: "Whether another provider may be tried when one fails.",
    schema: { enum: ["true", "false"] },
  },
  {
    name: "X-0G-Provider-Trust-Mode",
    description: "The minimum trust mode of a provider.",
    schema: { enum: ["verified", "private"] },
  },
  {
    name: "X-0G-Provider-Evidence",
    description:
      "The proof that is required. `bound`: the provider recently signed an answer, and this one must be signed too, " +
      "otherwise it is delivered and billed, but marked: `x_0g_trace.error` and the response header " +
      "`X-0G-Provider-Evidence: missing`, or an error event at the end of a stream. `attested`: also, the attestation " +
      "of its enclave passed every check.",
    schema: { enum: ["bound", "attested"] },
  },
  {
    name: "X-0G-Provider-Max-Price-Usd-Prompt",
    description: "The maximum price of input, in USD per million tokens.",
    schema: price,
  },
  {
    name: "X-0G-Provider-Max-Price-Usd-Completion",
    description: "The maximum price of output, in USD per million tokens.",
    schema: price,
  },
  {
    name: "X-0G-Provider-Max-Price-Usd-Image",
    description: "The maximum price of an image, in USD.",
    schema: price,
  },
  {
    name: "X-Session-Id",
    description:
      "The conversation that the request belongs to: its requests go to the provider that has their prompt cached, " +
      "where that costs less and no other preference decides. For chats and messages.",
    schema: { type: "string", maxLength: MAX_SESSION_ID, pattern: "^[ -~]*$" },
  },
];
