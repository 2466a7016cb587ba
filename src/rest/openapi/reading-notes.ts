/** Descriptions of endpoints that read or delete and need no example, by method and URL. */
export const READING_NOTES = {
  "GET /v1/async/jobs": {
    description:
      "The jobs of the `sk-` key, newest first, of one `status` if it is sent. Pages are read by `next_cursor`.",
  },
  "GET /v1/receipts/key": {
    description: "With it receipts and checkpoints are verified without this server.",
  },
  "GET /v1/models": {
    description:
      "The models that can be used now, each with its cheapest offer. Filters apply together; `pricing=usd` adds prices in dollars where the price of the token is known. With the header `anthropic-version`, which Anthropic's clients send, the answer has pages in the shape of Anthropic's Models API, ordered by id.",
  },
  "GET /v1/models/*": {
    description:
      "The id may contain slashes, as it is or percent-encoded. With the header `anthropic-version`, the answer is in Anthropic's shape.",
  },
  "GET /v1/providers": {
    description: "The registered providers with what they offer, their prices, health and evidence.",
  },
  "GET /v1/service-types": {
    description: "The kinds of service, with the number of providers and models of each.",
  },
  "GET /v1/auth/nonce": { description: "It may be used once, before `expires_at`, in the message to sign." },
  "GET /v1/auth/me": { description: "The wallet that is signed in, and when its session ends." },
  "GET /v1/api-keys": {
    description: "Without their secrets, newest first. Pages are read by `next_cursor`.",
  },
  "GET /v1/management-keys": {
    description: "Without their secrets, newest first. Pages are read by `next_cursor`.",
  },
  "DELETE /v1/management-keys/:id": {
    description: "Permanent: the key's next request returns 401, and its open streams end.",
  },
  "GET /v1/account": { description: "When it was opened, and what it has and uses in total." },
  "GET /v1/account/balance": {
    description: "In neuron. What is held for running requests is shown apart from what is available.",
  },
  "GET /v1/account/funds": {
    description: "The balance at the router beside the deposit of the wallet in the vault on chain.",
  },
  "GET /v1/account/usage/stats": {
    description:
      "Requests, tokens and cost. Dates are inclusive UTC days, and a request counts on the day it ended.",
  },
  "GET /v1/account/usage/daily": {
    description:
      "One row for each UTC day and model with requests; with `dimensions=trust_mode`, for each trust mode too.",
  },
  "GET /v1/account/usage/history": {
    description:
      "Newest first. Pages are read by `cursor`, which costs the same at any depth, or by `offset`. `include_total=true` counts the requests.",
  },
  "GET /v1/webhooks": { description: "All webhooks of the account, without their secrets." },
  "GET /v1/webhooks/:id": { description: "Its settings, its state and where its deliveries stand." },
  "DELETE /v1/webhooks/:id": { description: "Permanent. Events that were not delivered yet are dropped." },
  "GET /v1/webhooks/:id/attempts": {
    description: "At most the last 50, newest first, each with the status or the reason of its failure.",
  },
  "GET /file/info/:cid": { description: "`cid` is the root of a file or its sequence number." },
  "GET /files/info": {
    description: "For each `cid`, a root or a sequence number, its metadata, or null if it is unknown.",
  },
  "GET /file/:root": { description: "Entries are files, directories and links; files have a size." },
  "GET /file/:root/*": {
    description: "Every byte is verified against the file's own root, which the folder's manifest has.",
  },
  "GET /node/status": { description: "How far the storage network has read the chain." },
} as const;
