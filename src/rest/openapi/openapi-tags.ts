import type { Route } from "../route.ts";

/** A group of endpoints in the documentation, and the URLs that belong to it. */
export type Tag = { readonly name: string; readonly description: string; readonly has: RegExp };

/** An endpoint belongs to the first tag that matches; tags are shown in this order. */
export const TAGS: readonly Tag[] = [
  {
    name: "Chat",
    description: "Text generation, as one response or streamed, in OpenAI's and Anthropic's format.",
    has: /^\/v1\/(chat|responses|completions|messages)/,
  },
  {
    name: "Images and audio",
    description: "Synchronous image generation and editing, audio transcription, and speech.",
    has: /^\/v1\/(images|audio)/,
  },
  {
    name: "Search",
    description: "Embeddings of texts, and the ranking of documents by a query.",
    has: /^\/v1\/(embeddings|rerank)/,
  },
  {
    name: "Image jobs",
    description:
      "Image generation and editing as jobs, which are accepted at once and executed exactly once. Poll them here, or subscribe to `imageJobProgress(id, after)` over GraphQL.",
    has: /^\/v1\/async/,
  },
  {
    name: "Batches",
    description:
      "Batches of requests in OpenAI's format. The requests are sent within 24 h, and each is billed when it is answered. Poll batches here, or subscribe to `batchProgress(id, after)` over GraphQL.",
    has: /^\/v1\/(batches|files)/,
  },
  {
    name: "Receipts",
    description:
      "Signed receipts of billed requests. They form an append-only log, whose signed head anyone may read (RFC 6962, C2SP).",
    has: /^\/v1\/receipts/,
  },
  {
    name: "Models and providers",
    description: "Models, their providers and prices, and a preview of how a request would be routed.",
    has: /^\/v1\/(models|providers|service-types|routing)/,
  },
  {
    name: "Account",
    description:
      "Balance, funds and usage. `/v1/account` needs an `mk-` key with `account:read` or a wallet session; `sk-` keys are refused there.",
    has: /^\/v1\/(account|credits|generation|key)$|^\/v1\/account\//,
  },
  {
    name: "Tags",
    description:
      "Budgets of tags. A budget limits what the requests with a tag may spend in a period. Requests are tagged by `X-Tag` or `metadata`.",
    has: /^\/v1\/tag-budgets/,
  },
  {
    name: "API keys",
    description: "The `sk-` keys with which clients run inference, and their limits.",
    has: /^\/v1\/api-keys/,
  },
  {
    name: "Management keys",
    description: "The `mk-` keys that manage an account. Only a wallet session can manage them.",
    has: /^\/v1\/management-keys/,
  },
  {
    name: "Webhooks",
    description:
      "URLs to which events of the account are posted, signed according to Standard Webhooks. Needs an `mk-` key or a wallet session.",
    has: /^\/v1\/webhooks/,
  },
  { name: "Signing in", description: "Wallet sessions (EIP-4361).", has: /^\/v1\/auth/ },
  {
    name: "Storage",
    description:
      "Files by root or sequence number, folders, segments, and the JSON-RPC of the official SDKs.",
    has: /./,
  },
];

/** The tag of an endpoint. */
export function tagOf({ url }: Pick<Route, "url">): string {
  return TAGS.find(({ has }) => has.test(url))?.name ?? "";
}
