import { beforeEach, expect, test } from "vitest";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { formatToken } from "../../src/kernel/text/amount.ts";
import { rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const services = useServices(stack, ["messages"]);
const { model, inputPrice, outputPrice } = SERVICES.messages;
const messages = [{ role: "user", content: "Say something." }];
const START = 10_000_000_000n;
const COMPACTION = { context_management: { edits: [{ type: "compact_20260112" }] } };
/** Anthropic's usage of an answer to a summarized conversation: its own, and in the list that of the summary as well. */
const USAGE = {
  input_tokens: 23,
  output_tokens: 4,
  cache_read_input_tokens: 10,
  iterations: [
    { type: "compaction", input_tokens: 180, output_tokens: 35, cache_read_input_tokens: 40 },
    { type: "message", input_tokens: 23, output_tokens: 4, cache_read_input_tokens: 10 },
    { type: "compaction", input_tokens: -1, output_tokens: 5 },
    null,
  ],
};
const COST = (33n + 220n) * inputPrice + 39n * outputPrice;

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, START);
  services().messages.behaviour = {};
});

test("a summary of the conversation is charged like the answer, and the usage shown is the provider's", async () => {
  services().messages.behaviour = { usageJson: JSON.stringify(USAGE) };
  const { body } = await post<{ usage: object; x_0g_trace: { billing: object } }>({ ...COMPACTION });
  expect(body.x_0g_trace.billing).toMatchObject({ total_cost: String(COST) });
  expect(body.usage).toEqual({ ...USAGE, cost: Number(formatToken(COST)) });
  await requireAvailable(stack().app, owner, { available: START - COST });
  const { rows } = await stack().app.requests.list(owner.account, { first: 1 });
  expect(rows[0]).toMatchObject({ inputTokens: 253, outputTokens: 39, cachedTokens: 50 });
});

test("a streamed summary is charged like the answer, and the usage shown is the provider's", async () => {
  const events = [
    {
      type: "message_start",
      message: { id: "msg_1", type: "message", content: [], usage: { input_tokens: 23 } },
    },
    { type: "content_block_start", index: 0, content_block: { type: "compaction", content: null } },
    { type: "content_block_delta", index: 0, delta: { type: "compaction_delta", content: "They spoke." } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "The sea is" } },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: USAGE },
    { type: "message_stop" },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  services().messages.behaviour = { instead: { status: 200, contentType: "text/event-stream", body } };
  const reply = await fetch(`${stack().origin}/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model, max_tokens: 5, messages, stream: true, ...COMPACTION }),
  });
  const [, end = ""] = /^event: message_delta\ndata: (.*)$/m.exec(await reply.text()) ?? [];
  expect(JSON.parse(end).usage).toEqual({ ...USAGE, cost: Number(formatToken(COST)) });
  await requireAvailable(stack().app, owner, { available: START - COST });
});

test.each([
  ["that a threshold may start", COMPACTION],
  ["of an explicit request", { compaction: { type: "summarize" } }],
])(
  "a summary %s is held for: an account with money for the answer alone is refused",
  async (_what, fields) => {
    const answer = BigInt(countPromptTokens(messages)) * inputPrice + 5n * outputPrice;
    const poor = await seedAccount(stack().app.database, 2n * answer);
    expect((await post({}, poor)).status).toBe(200);
    expect((await post(fields, poor)).status).toBe(402);
  },
);

test("usage beyond one summary and one answer is counted by the router", async () => {
  const iterations = [{ type: "compaction", input_tokens: 10, output_tokens: 20_000 }];
  services().messages.behaviour = { usageJson: JSON.stringify({ ...USAGE, iterations }) };
  const { body } = await post<{ usage: object }>({ ...COMPACTION });
  expect(body.usage).toMatchObject({ input_tokens: 33, cache_read_input_tokens: 10 });
  expect(body.usage).not.toHaveProperty("iterations");
});

function post<Body>(fields: object, { secret }: Pick<Seeded, "secret"> = owner) {
  return rest<Body>(stack().origin, "/v1/messages", secret, {
    body: { model, max_tokens: 5, messages, ...fields },
  });
}
