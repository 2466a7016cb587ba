import type { Route } from "../route.ts";

/** A group of endpoints as readers of the documentation look for them, and the URLs that belong to it. */
export type Tag = { readonly name: string; readonly description: string; readonly has: RegExp };

/** The first that fits has an endpoint; they are shown in this order. */
export const TAGS: readonly Tag[] = [
  {
    name: "Chat",
    description: "Text from models, whole or token by token, in OpenAI's and in Anthropic's format.",
    has: /^\/v1\/(chat|messages)/,
  },
  {
    name: "Images and sound",
    description: "Pictures made, changed and answered at once, and sound written down.",
    has: /^\/v1\/(images|audio)/,
  },
  {
    name: "Image jobs",
    description:
      "The same pictures as jobs: taken on at once, done once whatever happens, polled here or followed by the graph's `imageJobProgress(id, after)`.",
    has: /^\/v1\/async/,
  },
  {
    name: "Models and providers",
    description: "Models, their providers and prices, and the provider a request would be routed to.",
    has: /^\/v1\/(models|providers|service-types|routing)/,
  },
  {
    name: "Account",
    description: "Balance, funds and usage. Needs an `mk-` key with `account:read`; `sk-` keys are refused.",
    has: /^\/v1\/account/,
  },
  {
    name: "API keys",
    description: "The `sk-` keys that clients ask models with, and their limits.",
    has: /^\/v1\/api-keys/,
  },
  {
    name: "Management keys",
    description: "The `mk-` keys that look after an account. Only a wallet session manages them.",
    has: /^\/v1\/management-keys/,
  },
  { name: "Signing in", description: "Wallet sessions (EIP-4361).", has: /^\/v1\/auth/ },
  {
    name: "Storage",
    description:
      "Files by root or sequence number, folders, segments, and the JSON-RPC of the official SDKs.",
    has: /./,
  },
];

/** The tag that an endpoint is shown under. */
export function tagOf({ url }: Pick<Route, "url">): string {
  return TAGS.find(({ has }) => has.test(url))?.name ?? "";
}

type Note = { readonly description?: string; readonly example?: unknown };

const conversation = [
  { role: "system", content: "You answer in one sentence." },
  { role: "user", content: "Why is the sea salt?" },
];
const picture = { model: "devnet-image", prompt: "A lighthouse at dusk", n: 1, response_format: "b64_json" };
const BILLED =
  "The maximum cost is held before a provider is called; the actual cost is settled once and shown in neuron in `x_0g_trace`.";

/** What only readers of the documentation need, by method and URL: explanations, and bodies to try. */
export const NOTES: Readonly<Record<string, Note>> = {
  "POST /v1/chat/completions": {
    description: `OpenAI's chat completion; fields that are not named here go to the provider as they are. ${BILLED} With \`stream\`, the trace is in the chunk with the usage when \`stream_options.include_usage\` is sent, else in a comment before \`[DONE]\`. Of several providers, the next one is tried when one fails before its first content.`,
    example: {
      model: "devnet-chat",
      messages: conversation,
      max_tokens: 200,
      stream: true,
      stream_options: { include_usage: true },
    },
  },
  "POST /v1/messages": {
    description: `Anthropic's Messages, for models whose \`supported_formats\` has \`anthropic\`; the key may also come as \`X-Api-Key\`. ${BILLED}`,
    example: {
      model: "devnet-chat",
      max_tokens: 200,
      messages: [{ role: "user", content: "Why is the sea salt?" }],
    },
  },
  "POST /v1/messages/count_tokens": {
    description: "The provider's count, or ours where it has none. Not billed.",
    example: { model: "devnet-chat", messages: [{ role: "user", content: "Why is the sea salt?" }] },
  },
  "POST /v1/images/generations": {
    description: `Answers when the pictures are there. In production, submit a job instead. ${BILLED}`,
    example: picture,
  },
  "POST /v1/images/edits": { description: `Up to 16 pictures, 25 MiB in sum. ${BILLED}` },
  "POST /v1/audio/transcriptions": {
    description: `Up to 25 MiB of sound, billed by the second. ${BILLED} The bill is in the header \`X-0G-Trace\` in every format.`,
    example: { model: "devnet-speech", file_base64: "UklGRiQAAABXQVZF", filename: "talk.wav" },
  },
  "POST /v1/async/images/generations": {
    description:
      "Takes a job on and answers 202 with its `jobId`. It survives any process, is charged once and only for pictures that came. Poll it no sooner than `Retry-After` says, or subscribe.",
    example: picture,
  },
  "POST /v1/async/images/edits": {
    description: "The same for edits; the pictures are kept until the job ends.",
  },
  "GET /v1/async/jobs/:jobId": {
    description:
      "`pending`, `processing`, then `completed` with `data`, `failed` or `cancelled`. Results are kept for 24 h.",
  },
  "DELETE /v1/async/jobs/:jobId": {
    description:
      "A job that no worker has taken yet costs nothing when it is taken back; later ones answer 409.",
  },
  "POST /v1/routing/preview": {
    description:
      "Which providers would be tried, first to last, with these routing headers, and why not the others. Nothing is requested or billed. With `messages`, `max_tokens` and `n` as a chat has them, providers are ranked by what that chat would cost; without them, by an answer of the usual length (400 tokens).",
    example: {
      service_type: "chatbot",
      model: "devnet-chat",
      messages: [{ role: "user", content: "Tell me of the sea" }],
      max_tokens: 100,
    },
  },
  "POST /v1/auth/signin": {
    description:
      "Takes a signed message of EIP-4361 with our nonce; wallets that are contracts sign by EIP-1271.",
    example: {
      message:
        "app.example.com wants you to sign in with your Ethereum account:\n0x…\n\nURI: https://app.example.com\nVersion: 1\nChain ID: 16602\nNonce: …\nIssued At: 2026-01-31T12:00:00.000Z",
      signature: `0x${"00".repeat(65)}`,
    },
  },
  "POST /v1/auth/signout": { example: { all: false } },
  "POST /v1/api-keys": {
    description: "`key` is the secret. It is shown this once; only its hash is kept.",
    example: { label: "weekend", credit_limit: "0.5", reset_period: "weekly" },
  },
  "PATCH /v1/api-keys/:id": {
    description: "Only what is sent changes, from the key's next request on.",
    example: { label: "weekend", credit_limit: "2.5" },
  },
  "DELETE /v1/api-keys/:id": {
    description: "For good: the key's next call is answered 401 `api_key_revoked`.",
  },
  "POST /v1/management-keys": {
    description: "With a preset or with scopes of one's own. `key` is the secret, shown this once.",
    example: { name: "reporting", preset: "read-only" },
  },
  "PATCH /v1/management-keys/:id": { example: { name: "reporting", scopes: ["account:read", "keys:read"] } },
  "GET /file": {
    description:
      "All of it or a range. Every byte is checked against the root; `withProof=true` adds the proofs.",
  },
  "POST /file/segment": {
    description:
      "Segments of a file that the chain knows, in any order, each proven against the root; sent again, one changes nothing.",
    example: {
      root: `0x${"ab".repeat(32)}`,
      index: 0,
      data: "AAAA",
      proof: { lemma: [`0x${"ab".repeat(32)}`], path: [] },
    },
  },
  "POST /": {
    description:
      "`indexer_*`, `zgs_*` and `kv_*`, one call or a batch of up to 100, so that `new Indexer(origin)` and `new KvClient(origin)` work. What fails is told in the answer, with HTTP 200, as those clients need it.",
    example: { jsonrpc: "2.0", id: 1, method: "zgs_getStatus", params: [] },
  },
};

/** What is noted of an endpoint. */
export function noteOf({ method, url }: Pick<Route, "method" | "url">): Note {
  return NOTES[`${method} ${url}`] ?? {};
}
