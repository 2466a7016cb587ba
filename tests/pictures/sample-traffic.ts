import { readFileSync } from "node:fs";
import OpenAI from "openai";
import type { Product } from "../browser/product.ts";
import { ask } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";

/** What pages for one thing are shown of. */
export type Sample = {
  readonly requestId: string;
  readonly jobId: string;
  readonly batchId: string;
  /** An agent token, as contract and id. */
  readonly token: string;
};

const QUESTIONS = [
  "Why is the sea salty?",
  "Name three rivers of Asia.",
  "What is a merkle tree?",
  "Write a haiku about rain.",
  "How far away is the moon?",
  "Explain prompt caching in one sentence.",
];
const CHATS_PER_MODEL = 12;
const CHAT_MODELS = ["devnet-chat", "devnet-chat-cached", "devnet-responses"];
const TEAMS = ["search", "support", "research"];

/** Uses a product as its customers do, so that its pages have something to show. */
export async function makeSampleTraffic({ origin, sk, mk }: Product): Promise<Sample> {
  const client = new OpenAI({ apiKey: sk, baseURL: `${origin}/v1`, maxRetries: 5 });
  for (let n = 0; n < CHATS_PER_MODEL; n++)
    await Promise.all(
      CHAT_MODELS.map((model, m) =>
        client.chat.completions.create(
          {
            model,
            messages: [{ role: "user", content: QUESTIONS[(n + m) % QUESTIONS.length] as string }],
            max_tokens: 20 + 40 * ((n + m) % 3),
          },
          { headers: { "X-Tag": `team=${TEAMS[(n + m) % TEAMS.length]}` } },
        ),
      ),
    );
  await client.embeddings.create({ model: "devnet-embedding", input: QUESTIONS });
  // Two that fail.
  await client.chat.completions
    .create({ model: "devnet-chat", messages: [{ role: "user", content: "x" }], max_tokens: 2_000_000 })
    .catch(() => {});
  const budget = { name: "team", value: "search", credit_limit: "2", reset_period: "monthly" };
  await rest(origin, "/v1/tag-budgets", mk, { body: budget });
  await rest(origin, "/v1/webhooks", mk, {
    body: {
      name: "billing",
      url: "https://example.com/hooks",
      events: ["job.ended", "api_key.limit_reached"],
    },
  });
  const lines = QUESTIONS.map((content, n) =>
    JSON.stringify({
      custom_id: `question-${n + 1}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: "devnet-chat", messages: [{ role: "user", content }] },
    }),
  );
  const file = await client.files.create({
    file: new File([`${lines.join("\n")}\n`], "questions.jsonl"),
    purpose: "batch",
  });
  const batch = await client.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  const job = await rest<{ readonly jobId: string }>(origin, "/v1/async/images/generations", sk, {
    body: { model: "devnet-image", prompt: "A lighthouse in the rain", size: "256x256" },
  });
  const last = await client.chat.completions.create({
    model: "devnet-chat",
    messages: [{ role: "user", content: readFileSync("README.md", "utf8").slice(0, 2_000) }],
    max_tokens: 80,
  });
  const { x_0g_trace: trace } = last as unknown as { readonly x_0g_trace: { readonly request_id: string } };
  const { data } = await ask(origin, undefined, "{ agentTokens(first: 1) { nodes { contract tokenId } } }");
  const [{ contract, tokenId }] = data.agentTokens.nodes;
  return {
    ...{ requestId: trace.request_id, jobId: job.body.jobId, batchId: batch.id },
    token: `${contract}/${tokenId}`,
  };
}
