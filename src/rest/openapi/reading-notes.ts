/** Descriptions of endpoints that read or delete and need no example, by method and URL. */
export const READING_NOTES = {
  "GET /v1/async/jobs": {
    description:
      "The jobs of the `sk-` key, newest first. With `status`, only those with that status. `next_cursor` leads to the next page.",
  },
  "GET /v1/receipts/key": {
    description: "With this key, receipts and checkpoints can be verified without this server.",
  },
  "GET /v1/models": {
    description:
      "The models that can be used now, each with its cheapest offer. A model must match every filter. Prices in dollars are included while the price of the token is known; `pricing=usd` requires them, and is refused where the router is not configured with one. With the header `anthropic-version`, which Anthropic's clients send, the answer has pages in the shape of Anthropic's Models API, ordered by id.",
  },
  "GET /v1/models/*": {
    description:
      "Slashes in the id may be sent as they are or percent-encoded. With the header `anthropic-version`, the answer is in Anthropic's shape.",
  },
  "GET /v1/providers": {
    description: "The registered providers with what they offer, their prices, health and evidence.",
  },
  "GET /v1/service-types": {
    description: "The kinds of service, with the number of providers of each.",
  },
  "GET /v1/auth/nonce": {
    description: "The nonce may be used once, before `expires_at`, in the message to sign.",
  },
  "GET /v1/auth/me": { description: "The wallet that is signed in, and when its session ends." },
  "GET /v1/api-keys": {
    description: "The keys without their secrets, oldest first. `next_cursor` leads to the next page.",
  },
  "GET /v1/management-keys": {
    description: "The keys without their secrets, oldest first. `next_cursor` leads to the next page.",
  },
  "DELETE /v1/management-keys/:id": {
    description: "Permanent: the key's next request returns 401, and its open streams end.",
  },
  "GET /v1/account": { description: "When the account was opened, and its balance." },
  "GET /v1/account/balance": {
    description:
      "Amounts are in neuron. The amount held for running requests is separate from the available amount.",
  },
  "GET /v1/account/funds": {
    description: "The account's balance at the router, and its deposit in the vault on chain.",
  },
  "GET /v1/account/usage/stats": {
    description:
      "Requests, tokens and cost. Dates are inclusive UTC days, and a request counts on the day on which it began.",
  },
  "GET /v1/account/usage/daily": {
    description:
      "One row for each UTC day and model with requests; with `dimensions=trust_mode`, for each trust mode too.",
  },
  "GET /v1/account/usage/history": {
    description:
      "Newest first. Pages are selected by `cursor`, which costs the same at any depth, or by `offset`. `include_total=true` counts the requests that are listed: those of months that the operator's retention has removed count in `stats`, and are in no list.",
  },
  "GET /v1/webhooks": { description: "All webhooks of the account, without their secrets." },
  "GET /v1/webhooks/:id": {
    description: "The webhook's settings, its state and the position of its deliveries.",
  },
  "DELETE /v1/webhooks/:id": {
    description: "Permanent. Events that have not been delivered yet are dropped.",
  },
  "GET /v1/webhooks/:id/attempts": {
    description: "At most the last 50, newest first, each with the status or the reason of its failure.",
  },
  "GET /file/info/:cid": { description: "`cid` is the root of a file or its sequence number." },
  "GET /files/info": {
    description: "For each `cid`, a root or a sequence number, its metadata, or null if it is unknown.",
  },
  "GET /file/:root": {
    description:
      "Entries are files, directories and links. A file has a `size` unless it is empty. `data` is null for an empty directory. A folder has at most 20,000 entries and 64 nested directories, and each of its files at most 1,024 roots.",
  },
  "GET /file/:root/*": {
    description:
      "Every byte is verified against the file's own root, which is stated in the folder's manifest.",
  },
  "GET /node/status": { description: "How far the storage network has read the chain." },
} as const;
