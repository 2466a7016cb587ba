import { MAX_TAGS } from "../../accounts/tags/tags.ts";
import { KEY_PATTERN, MAX_KEY_LENGTH } from "../../idempotency/idempotency.service.ts";
import { MAX_FALLBACK_MODELS } from "../../inference/routing/fallback-models.ts";
import { MAX_SESSION_ID, PROVIDER_SORTS, USD_PATTERN } from "../../inference/routing/routing-preferences.ts";
import { TAG_HEADER } from "../tag-header.ts";

const price = { type: "string", pattern: USD_PATTERN };
const addressList = { type: "string", pattern: "^0x[0-9a-fA-F]{40}( *, *0x[0-9a-fA-F]{40}){0,49}$" };
const modelList = `^ *[^, ][^,]*(?:, *[^, ][^,]*){0,${MAX_FALLBACK_MODELS - 1}}$`;
/** Printable ASCII without a comma; a name also has no equals sign. Empty elements of the list are ignored. */
const tagList = `^[ ,]*(?:[!-+.-<>-~-][ -+.-<>-~-]*= *[!-+.-~-][ -+.-~-]*(?:,[ ,]*|$)){0,${MAX_TAGS}}$`;
/** Of routes that answer a repeated request with the first response. */
export const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  description:
    "A repeated request with the same key gets the first response again; it is neither executed nor billed again. A request with another body, or with other headers that the operation reads, is refused with 422 `idempotency_key_reused`; `X-Session-Id` may differ.",
  schema: { type: "string", minLength: 1, maxLength: MAX_KEY_LENGTH, pattern: KEY_PATTERN },
};
/** Of routes whose first response has a secret. */
export const IDEMPOTENCY_KEY_OF_SECRETS = {
  ...IDEMPOTENCY_KEY,
  description:
    "A repeated request with the same key is not executed again: it returns 409 `idempotency_not_replayable`, because the secret in the first response is not stored.",
};
/** Of routes that store answers. */
export const CACHE = {
  name: "X-0G-Cache",
  description:
    "Seconds. The request accepts the stored answer to an identical request by the same key if it is at most this old, and a new answer is stored for this long. The response's `X-0G-Cache` is `hit`, `miss` or `bypass`.",
  schema: { type: "integer", minimum: 1, maximum: 86_400 },
};
/** Of billed routes. */
export const TAGS_OF_REQUEST = {
  name: TAG_HEADER,
  description:
    "Tags of the request, under which its cost is counted: up to 10 pairs `name=value`, separated by commas. Commas and characters outside printable ASCII must be percent-encoded. The header may be repeated. A chat or a response may also have tags in `metadata`.",
  schema: { type: "string", pattern: tagList },
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
  description:
    "Returned as it was sent; one that does not match the pattern, or is absent, is replaced by a generated one.",
  schema: { type: "string", pattern: "^(?!async-)[A-Za-z0-9._:-]{1,64}$" },
};
/** Of routes whose answers may come from another model: those whose body has a list of `models`. */
export const FALLBACK_MODELS_HEADER = {
  name: "X-0G-Provider-Fallback-Models",
  description:
    "At most 5 models, separated by commas, to use in this order if no provider of the requested model answers.",
  schema: { type: "string", pattern: modelList },
};
/** Of downloads. */
export const DOWNLOAD_HEADERS = [
  {
    name: "Range",
    description:
      "The bytes to return, as status 206: one range (`bytes=0-1023`, `bytes=1024-`, `bytes=-1024`). Several ranges, and a malformed one, are ignored: the response is the whole file.",
    schema: { type: "string" },
    example: "bytes=0-1023",
  },
  {
    name: "If-Range",
    description: "The `ETag` of the file that the range is meant for. For another file, `Range` is ignored.",
    schema: { type: "string" },
  },
  {
    name: "If-None-Match",
    description: "`ETag`s of stored copies. If one is the file's, the response is 304 without a body.",
    schema: { type: "string" },
  },
  {
    name: "If-Match",
    description: "`ETag`s. If none of them is the file's, the request is refused with 412.",
    schema: { type: "string" },
  },
];
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
    name: "X-0G-Provider-Allow-Fallbacks",
    description: "Whether another provider may be tried if one fails.",
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
      "The proof that is required. `bound`: the provider recently signed an answer, and must sign this one too. An answer without the signature is still delivered and billed, but is marked by `x_0g_trace.error` and the response header `X-0G-Provider-Evidence: missing`, or by an error event at the end of a stream. `attested`: in addition, the attestation of the provider's enclave passed every check.",
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
      "An identifier of the conversation that the request belongs to. Requests of a conversation go to the provider that has their prompt cached if that costs less and no other preference decides. For chats and messages only.",
    schema: { type: "string", maxLength: MAX_SESSION_ID, pattern: "^[ -~]*$" },
  },
];

type ResponseHeader = { readonly description: string; readonly schema: object };
const text = { type: "string" };

/** The headers of responses, by name: those of every response first. */
export const RESPONSE_HEADERS = {
  "X-Request-ID": {
    description: "The id of the request: the one that was sent, or a generated one.",
    schema: text,
  },
  "Idempotent-Replayed": {
    description: "`true` on the first response of a repeated request with the same `Idempotency-Key`.",
    schema: { const: "true" },
  },
  "X-0G-Cache": {
    description: "Whether the answer was stored, if the request has `X-0G-Cache`.",
    schema: { enum: ["hit", "miss", "bypass"] },
  },
  ETag: { description: "The file, in quotes: equal for equal bytes.", schema: text },
  "Content-Range": { description: "The returned bytes, and the size of the file.", schema: text },
  "Content-Disposition": { description: "`attachment`, with the name of the file.", schema: text },
  "X-Storage-Root": {
    description: "The root of the file, unless it is made of several files.",
    schema: text,
  },
} as const satisfies Readonly<Record<string, ResponseHeader>>;
