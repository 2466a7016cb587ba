import { describe, expect, test } from "vitest";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { longestAnswerMs, repeatedTurnMs } from "../support/attack/event-loop.ts";
import { balanceAtRest } from "../support/balance.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { scatteredBytes, scatteredHan } from "../support/inference/scattered-text.ts";
import { completion, sendJson } from "../support/inference/scripted-provider.ts";
import { scaled } from "../support/machine.ts";
import { useRouter } from "../support/router.ts";

/** As much as a body of 2 MiB can carry: 1.8 MB of text that no tokenizer has words for. */
const MAX_TURN_MS = 250;
const BASE64 = scatteredBytes(1_350_000).toString("base64");
const HAN = scatteredHan(600_000);
const INPUT_PRICE = 2n;
const OUTPUT_PRICE = 3n;
const RICH = 10_000_000n;

const router = await useRouter({
  models: [],
  count: 1,
  more: () => [
    {
      id: "eyes",
      pricing: { prompt: String(INPUT_PRICE), completion: String(OUTPUT_PRICE) },
      supported_formats: ["openai", "anthropic"],
    },
  ],
});

type Reply = { readonly x_0g_trace: { readonly billing: { readonly total_cost: string } } };

const question = { type: "text", text: "What is this?" };
const file = {
  type: "file",
  file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${BASE64}` },
};
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: BASE64 } };
const chatOf = (...content: readonly object[]) => ({
  url: "/v1/chat/completions",
  body: { model: "eyes", max_tokens: 20, messages: [{ role: "user", content }] },
  answer: (usage: Usage) =>
    completion({
      usage: usage && { prompt_tokens: usage.input, completion_tokens: usage.output },
    }),
});
const messageOf = (...content: readonly object[]) => ({
  ...chatOf(...content),
  url: "/v1/messages",
  answer: (usage: Usage) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "The sea." }],
    stop_reason: "end_turn",
    usage: usage && { input_tokens: usage.input, output_tokens: usage.output },
  }),
});
type Asked = ReturnType<typeof chatOf> | ReturnType<typeof messageOf>;
type Usage = { readonly input: number; readonly output: number } | undefined;

/** Sends the request, and returns the hold while the provider worked and the charge. */
async function bill(
  { url, body, answer }: Asked,
  { usage, balance = RICH }: { usage: Usage; balance?: bigint },
) {
  const { app, origin, scripted } = router();
  const seeded = await router().seed(balance);
  let held = 0n;
  scripted[0]?.scripts.set("eyes", async (_call, response) => {
    const state = await balanceAtRest(app, seeded.account);
    held = state?.held ?? 0n;
    sendJson(response, 200, answer(usage));
  });
  const reply = await rest<Reply & RestFailure>(origin, url, seeded.secret, { body });
  const charged = BigInt(reply.body.x_0g_trace?.billing.total_cost ?? 0);
  await requireAvailable(app, seeded, { available: balance - charged });
  return { status: reply.status, code: reply.body.error?.code, held, charged };
}

describe.each([
  ["a chat with a file", chatOf(question, file), { input: 100_000, output: 8 }],
  ["a message with an image", messageOf(question, image), { input: 16_000, output: 8 }],
] as const)("%s of 1.8 MB in base64", (_what, asked, usage) => {
  test("is answered, its hold covers the charge, and other requests are answered at once meanwhile", async () => {
    const answers: Awaited<ReturnType<typeof bill>>[] = [];
    const longestMs = await longestAnswerMs(`${router().origin}/v1/models`, async () => {
      answers.push(await bill(asked, { usage }));
    });
    expect(longestMs).toBeLessThan(scaled(1_000));
    const [{ status, held, charged } = { status: 0, held: 0n, charged: 0n }] = answers;
    expect(status).toBe(200);
    expect(charged).toBe(BigInt(usage.input) * INPUT_PRICE + BigInt(usage.output) * OUTPUT_PRICE);
    expect(held).toBeGreaterThanOrEqual(charged);
    expect(held).toBeLessThan(RICH / 10n);
  });

  test("is charged by its kind, not by its base64, when the provider reports no usage", async () => {
    const { status, charged } = await bill(asked, { usage: undefined });
    expect(status).toBe(200);
    expect(charged).toBeLessThan(11_000n * INPUT_PRICE);
  });
});

test("1.8 MB of text without usage is counted exactly, and does not block the event loop", async () => {
  const asked = chatOf({ type: "text", text: HAN });
  const messages = [{ role: "user", content: HAN.slice(0, 10_000) }];
  const answers: Awaited<ReturnType<typeof bill>>[] = [];
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    answers.push(await bill(asked, { usage: undefined }));
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  const perCharacter = countPromptTokens(messages) / 10_000;
  const expected = perCharacter * HAN.length * Number(INPUT_PRICE);
  const [{ status, charged } = { status: 0, charged: 0n }] = answers;
  expect(status).toBe(200);
  expect(Number(charged)).toBeGreaterThan(expected * 0.95);
  expect(Number(charged)).toBeLessThan(expected * 1.05);
});

describe("a balance below the upper bound of a long prompt", () => {
  const text = "The sea is a wide and open place. ".repeat(500);
  const asked = chatOf({ type: "text", text });
  const count = countPromptTokens(asked.body.messages);
  const usage = { input: count, output: 20 };
  const cost = BigInt(count) * INPUT_PRICE + 20n * OUTPUT_PRICE;

  test("suffices when it covers the count", async () => {
    expect(text.length).toBeGreaterThan(3 * count);
    expect(await bill(asked, { usage, balance: cost })).toMatchObject({
      status: 200,
      charged: cost,
      held: cost,
    });
  });

  test("does not suffice when it does not cover the count", async () => {
    expect(await bill(asked, { usage, balance: cost - 1n })).toMatchObject({
      status: 402,
      code: "insufficient_balance",
      charged: 0n,
    });
  });
});
