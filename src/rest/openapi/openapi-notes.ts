import type { Route } from "../route.ts";
import { READING_NOTES } from "./reading-notes.ts";

type Note = { readonly description: string; readonly example?: unknown };

const conversation = [
  { role: "system", content: "You answer in one sentence." },
  { role: "user", content: "Why is the sea salt?" },
];
const imageRequest = {
  model: "devnet-image",
  prompt: "A lighthouse at dusk",
  n: 1,
  response_format: "b64_json",
};
const SETTLED =
  "The maximum cost is held before a provider is called. The actual cost is settled once and returned in neuron in";
const BILLED = `${SETTLED} \`x_0g_trace\`, and in the network's token in \`usage.cost\`.`;
/** Of images, whose answers have `usage` only where the provider reports one. */
const IMAGES_BILLED = `${SETTLED} \`billing.total_cost\` of \`x_0g_trace\`; an answer with the provider's own \`usage\` also has it in the network's token, in \`usage.cost\`.`;
/** Of audio: its answer has no JSON. */
const AUDIO_BILLED = `${SETTLED} \`billing.total_cost\` of the trace, which is JSON in the header \`X-0G-Trace\`.`;

/** Descriptions and example bodies for the documentation, by method and URL. */
export const NOTES: Readonly<Record<string, Note>> = {
  ...READING_NOTES,
  "POST /v1/chat/completions": {
    description: `OpenAI's chat completion. Fields that are not listed here are passed to the provider unchanged. ${BILLED} With \`stream\`, the trace is in the usage chunk if \`stream_options.include_usage\` is sent, and otherwise in a comment before \`[DONE]\`. If a provider fails before its first content, the next one is tried.`,
    example: {
      model: "devnet-chat",
      messages: conversation,
      max_tokens: 200,
      stream: true,
      stream_options: { include_usage: true },
    },
  },
  "POST /v1/responses": {
    description: `OpenAI's Responses API. \`input\` is the whole conversation, unless \`previous_response_id\` names a response created with \`store: true\`, which only some providers keep. Providers with the format \`responses\` receive the request itself. For all others it is translated to a chat completion, so every chat model supports this endpoint. Fields that are not listed here are passed to the provider. ${BILLED} With \`stream\`, the trace is in the response of the last event.`,
    example: {
      model: "devnet-chat",
      instructions: "You answer in one sentence.",
      input: "Why is the sea salt?",
      max_output_tokens: 200,
    },
  },
  "POST /v1/completions": {
    description: `OpenAI's legacy text completions, for models whose \`supported_formats\` include \`completions\`: up to 128 prompts as texts or lists of tokens. \`suffix\` is the text that follows the completion. Fields that are not listed here are passed to the provider unchanged. ${BILLED}`,
    example: { model: "devnet-chat", prompt: "The sea is", max_tokens: 16 },
  },
  "POST /v1/messages": {
    description: `Anthropic's Messages API, for models whose \`supported_formats\` include \`anthropic\`; the key may also be sent as \`X-Api-Key\`. ${BILLED}`,
    example: {
      model: "devnet-chat",
      max_tokens: 200,
      messages: [{ role: "user", content: "Why is the sea salt?" }],
    },
  },
  "POST /v1/messages/count_tokens": {
    description:
      "The provider's token count, or the router's own if the provider has none. Not billed. The guardrails of the key are checked before anything is sent.",
    example: { model: "devnet-chat", messages: [{ role: "user", content: "Why is the sea salt?" }] },
  },
  "POST /v1/images/generations": {
    description: `Responds when the images are ready. In production, submit a job instead. ${IMAGES_BILLED}`,
    example: imageRequest,
  },
  "POST /v1/images/edits": { description: `Up to 16 images, 25 MiB in total. ${IMAGES_BILLED}` },
  "POST /v1/audio/transcriptions": {
    description: `Up to 25 MiB of audio, billed per second. ${BILLED} In every format the trace is also in the header \`X-0G-Trace\`.`,
    example: { model: "devnet-speech", file_base64: "UklGRiQAAABXQVZF", filename: "talk.wav" },
  },
  "POST /v1/audio/speech": {
    description: `Up to 16,384 characters, billed per character. The media type is that of the provider's audio. ${AUDIO_BILLED}`,
    example: { model: "devnet-voice", input: "The sea is salt.", voice: "alloy", response_format: "wav" },
  },
  "POST /v1/rerank": {
    description: `Up to 1,000 documents: strings, or objects with a \`text\`. Billed by the tokens of each document with the query. ${BILLED}`,
    example: {
      model: "devnet-rerank",
      query: "quiet water",
      documents: ["an open field", "a quiet river"],
      top_n: 1,
    },
  },
  "POST /v1/embeddings": {
    description: `Returns a vector for each of up to 2,048 texts or lists of tokens. Billed by the tokens of the input. ${BILLED}`,
    example: { model: "devnet-embedding", input: ["a quiet river", "an open field"] },
  },
  "POST /v1/async/images/generations": {
    description:
      "Accepts a job and returns 202 with its `jobId`. The job survives restarts. It is charged once, and only for delivered images. Poll it no sooner than `Retry-After`, or subscribe.",
    example: imageRequest,
  },
  "POST /v1/async/images/edits": {
    description: "Submits an image edit as a job; the input images are stored until the job ends.",
  },
  "GET /v1/async/jobs/:jobId": {
    description:
      "The status is `pending`, then `processing`, and finally `completed` with `data`, `failed` or `cancelled`. Results are stored for 24 h.",
  },
  "DELETE /v1/async/jobs/:jobId": {
    description:
      "A job that no worker has started is cancelled without charge. After that, the call returns 409.",
  },
  "POST /v1/files": {
    description:
      'The input of a batch: up to 100 MiB of lines such as `{"custom_id", "method": "POST", "url", "body"}`, with `purpose` `batch`. It is stored encrypted, for 30 days or until `expires_after[seconds]`. Repeating an upload creates another file, because an `Idempotency-Key` is ignored here.',
  },
  "GET /v1/files": {
    description:
      "Files that the caller uploaded, and the output and error files of its batches, newest first. The next page begins after `last_id`; a page has at most 100.",
  },
  "GET /v1/files/:id": { description: "The name, size, purpose and expiry of a file, without its content." },
  "GET /v1/files/:id/content": {
    description:
      'The content of the input, output or error file of a batch: lines such as `{"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error"}`, in the order of the input.',
  },
  "DELETE /v1/files/:id": {
    description: "A batch that reads the file continues. The file's storage is freed within a minute.",
  },
  "POST /v1/batches": {
    description:
      "Checks the input file in the background, then runs its requests with the caller's key. The cost of each request is held and charged, and the request listed, as for a request sent directly. A line that fails is in the error file with its response, and costs nothing. Up to 50,000 lines of at most 1 MiB.",
    example: {
      input_file_id: "file-0123456789abcdef0123456789abcdef",
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
      metadata: { job: "nightly" },
    },
  },
  "GET /v1/batches": {
    description: "Batches, newest first. The next page begins after `last_id`.",
  },
  "GET /v1/batches/:id": {
    description:
      "The status is `validating`, `in_progress`, `finalizing`, then `completed`; or else `failed`, `expired`, or `cancelling` and then `cancelled`. The output and error files are set when the batch has ended. Not billed.",
  },
  "POST /v1/batches/:id/cancel": {
    description:
      "Sends no more requests. Those that were sent are answered and charged; the others are in the error file as `batch_cancelled`. A batch that has ended returns 409.",
  },
  "GET /v1/receipts/checkpoint": {
    description:
      "A C2SP checkpoint: the name of the log, the number of its receipts and its root, signed with the router's key.",
  },
  "GET /v1/receipts/consistency": {
    description: "An RFC 6962 consistency proof from the head of size `from` to the newest signed head.",
  },
  "GET /v1/receipts/:requestId": {
    description:
      "Requires the `sk-` key of the request, a management key with `account:read`, or the wallet. Until a signed head covers the receipt, the answer is 409 `receipt_pending` with `Retry-After`.",
  },
  "GET /v1/generation": {
    description:
      "`id` is the `request_id` of `x_0g_trace`. Requires the `sk-` key of the request, a management key with `account:read`, or the wallet. A request is listed once it has ended, or has run for a second.",
  },
  "GET /v1/key": { description: "The `sk-` key that the request is sent with." },
  "GET /v1/credits": {
    description:
      "The balance is `total_credits` minus `total_usage`. `sk-` keys may read it too; they may read no other amount of their account.",
  },
  "POST /v1/routing/preview": {
    description:
      "Returns the providers that would be tried with these routing headers, in order, and why the others are excluded. No provider is called and nothing is billed. With the `messages`, `max_tokens` and `n` of a chat, providers are ranked by the cost of that chat; without them, by the cost of a typical completion (400 tokens).",
    example: {
      service_type: "chatbot",
      model: "devnet-chat",
      messages: [{ role: "user", content: "Tell me about the sea" }],
      max_tokens: 100,
    },
  },
  "POST /v1/auth/signin": {
    description:
      "Accepts a signed EIP-4361 message with a nonce from this API; contract wallets sign by EIP-1271.",
    example: {
      message:
        "app.example.com wants you to sign in with your Ethereum account:\n0x…\n\n\nURI: https://app.example.com\nVersion: 1\nChain ID: 16602\nNonce: …\nIssued At: 2026-01-31T12:00:00.000Z",
      signature: `0x${"00".repeat(65)}`,
    },
  },
  "POST /v1/auth/signout": {
    description: "The next request with this session returns 401, and its open streams end.",
    example: { all: false },
  },
  "POST /v1/api-keys": {
    description: "`key` is the secret. It is returned only once; only its hash is stored.",
    example: { label: "weekend", credit_limit: "0.5", reset_period: "weekly" },
  },
  "PATCH /v1/api-keys/:id": {
    description:
      'Changes only the fields that are sent, from the key\'s next request on. Null leaves a field unchanged; `""` removes a limit, and `[]` empties a list.',
    example: { label: "weekend", credit_limit: "2.5" },
  },
  "DELETE /v1/api-keys/:id": {
    description: "Permanent: the key's next request returns 401 `api_key_revoked`.",
  },
  "POST /v1/webhooks": {
    description:
      "The response has the signing secret, which is only returned here and by a rotation. At most 10 webhooks.",
    example: {
      name: "billing",
      url: "https://example.com/hook",
      events: ["deposit.credited", "balance.low"],
      balance_threshold: "1000000000000000000",
    },
  },
  "PATCH /v1/webhooks/:id": {
    description:
      "Changes only the fields that are sent. Null removes `balance_threshold`, and leaves any other field unchanged. `enabled: true` resumes deliveries after the last delivered event.",
    example: { enabled: true },
  },
  "POST /v1/webhooks/:id/test": {
    description:
      "Delivers `webhook.test` at once, also to a disabled webhook, and returns how the receiver answered.",
    example: {},
  },
  "POST /v1/webhooks/:id/rotate-secret": {
    description: "Returns a new secret; for 24 h deliveries are signed with the previous one as well.",
    example: {},
  },
  "POST /v1/webhooks/:id/replay": {
    description: "Delivers the events after this cursor again, at most 24 h back, and enables the webhook.",
    example: { after: "q3Zk1mB0" },
  },
  "GET /v1/account/usage/tags": {
    description:
      "The most expensive tags first: all tags, or those with the name `name`. A request counts for each of its tags, so totals of tags with different names overlap. Totals of tags with the same name do not.",
  },
  "POST /v1/tag-budgets": {
    description:
      "Requests with the tag are admitted while their costs stay within `credit_limit` tokens of the network per period, whichever key pays. After that, they return 402 `credit_limit_exceeded`. The amount that the tag already spent in the current period counts. The response is sent once every process applies the budget.",
    example: { name: "team", value: "search", credit_limit: "5", reset_period: "monthly" },
  },
  "GET /v1/tag-budgets": {
    description: "All budgets of the account's tags, oldest first, each with the amounts now used and held.",
  },
  "GET /v1/tag-budgets/:id": {
    description: "A budget: its tag, its limit, and the amount used in the current period.",
  },
  "DELETE /v1/tag-budgets/:id": {
    description:
      "The budget no longer limits requests with the tag. The amounts that they spent stay in the usage.",
  },
  "PATCH /v1/tag-budgets/:id": {
    description: "After a change of `reset_period`, the amount that the tag spent in the new period counts.",
    example: { credit_limit: "10" },
  },
  "POST /v1/management-keys": {
    description: "Takes a preset or a list of scopes. `key` is the secret; it is returned only once.",
    example: { name: "reporting", preset: "read-only" },
  },
  "PATCH /v1/management-keys/:id": {
    description: "Changes only the fields that are sent, from the key's next request on.",
    example: { name: "reporting", scopes: ["account:read", "keys:read"] },
  },
  "GET /file": {
    description:
      "The whole file or a range. Every byte is verified against the root; `withProof=true` adds the proofs, as a multipart answer with one part for each segment. To verify a part, pad it with zeros to 1,024 chunks of 256 bytes; the last segment only to the end of the padded file, if that is nearer. The padded file has the chunks of the file, rounded up to a multiple of a sixteenth of the smallest power of two that is at least their number (of 1, if that power is below 16).",
  },
  "POST /file/segment": {
    description:
      "Accepts the segments of a file that was submitted to the chain, in any order, each proven against the root. `data` is padded with zeros to whole chunks of 256 bytes; the proof begins with the root of the segment in the padded file, which may have more chunks of zeros (see `GET /file`). The `data` of an error names the field: `proof: validation failed`. Sending a segment again has no effect.",
    example: {
      root: `0x${"ab".repeat(32)}`,
      index: 0,
      data: "AAAA",
      proof: { lemma: [`0x${"ab".repeat(32)}`], path: [] },
    },
  },
  "POST /": {
    description:
      "`indexer_*`, `zgs_*` and `kv_*`, as one call or a batch of up to 100. `new Indexer(origin)` and `new KvClient(origin)` work with it. Errors are in the body, with HTTP 200, as those clients require.",
    example: { jsonrpc: "2.0", id: 1, method: "zgs_getStatus", params: [] },
  },
};

/** The note of an endpoint, which every one has. */
export function noteOf({ method, url }: Pick<Route, "method" | "url">): Partial<Note> {
  return NOTES[`${method} ${url}`] ?? {};
}
