// @module-tag large
import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { type Script, sendJson } from "../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../support/router.ts";

const LENGTHS = [1_000, 2_000, 100_000] as const;
const CLAUDE_TOO_LONG = {
  type: "error",
  error: { type: "invalid_request_error", message: "prompt is too long: 9 > 8" },
};
/** How servers report that a request exceeds the context of their model. */
const REFUSALS = {
  code: { error: { message: "too long", code: "context_length_exceeded" } },
  vllm: {
    object: "error",
    error: {
      message: "This model's maximum context length is 1000 tokens. However, you requested 1200 tokens.",
      type: "BadRequestError",
      code: 400,
    },
  },
  llama: {
    error: {
      message: "the request exceeds the available context size",
      type: "exceed_context_size_error",
      code: 400,
    },
  },
  anthropic: CLAUDE_TOO_LONG,
  "earlier vllm": {
    object: "error",
    message: "This model's maximum context length is 1000 tokens. However, you requested 1200 tokens.",
    type: "BadRequestError",
    code: 400,
  },
  "vllm's engine": {
    error: { message: "The decoder prompt (length 1200) is longer than the maximum model length of 1000." },
  },
  sglang: {
    object: "error",
    message: "The input (1200 tokens) is longer than the model's context length (1000 tokens).",
    type: "BadRequestError",
  },
} as const;
const MODELS = ["skipped", "answer", "pinned", "unknown", ...Object.keys(REFUSALS)];

const router = await useRouter({
  models: [],
  count: 3,
  more: (n) =>
    MODELS.map((id) => ({
      id,
      pricing: { prompt: String(PRICES[n]?.prompt), completion: String(PRICES[n]?.completion) },
      ...(id !== "unknown" && { context_length: LENGTHS[n] }),
    })),
});

const calls = (model: string) => router().scripted.map((provider) => provider.callsOf(model).length);
const words = (tokens: number) => [{ role: "user", content: "word ".repeat(tokens) }];

async function ask(model: string, body: object, headers: Record<string, string> = {}) {
  const reply = await router().chat(await router().seed(), { model, max_tokens: 10, ...body }, headers);
  const { error } = (await reply.json()) as { error?: { code: string } };
  return [reply.status, error?.code];
}

test("providers whose context is too short for the prompt are skipped", async () => {
  expect(await ask("skipped", { messages: words(3_000) })).toEqual([200, undefined]);
  expect(calls("skipped")).toEqual([0, 0, 1]);
});

test("the maximum answer counts towards the context too", async () => {
  expect(await ask("answer", { max_tokens: 1_500 })).toEqual([200, undefined]);
  expect(calls("answer")).toEqual([0, 1, 0]);
});

test("a prompt that seems to fit no context is still tried", async () => {
  expect(
    await ask("pinned", { messages: words(3_000) }, { "x-0g-provider-allow-fallbacks": "false" }),
  ).toEqual([200, undefined]);
});

test.each(Object.entries(REFUSALS))(
  "a provider that refuses for the length, as %s reports it, is followed by one with a longer context, which is charged",
  async (model, refusal) => {
    const refuse: Script = (_, response) => sendJson(response, 400, refusal);
    for (const provider of router().scripted.slice(0, 2)) provider.scripts.set(model, refuse);
    expect(await ask(model, {})).toEqual([200, undefined]);
    expect(calls(model)).toEqual([1, 1, 1]);
  },
);

test("without a longer context the refusal is final", async () => {
  const refuse: Script = (_, response) => sendJson(response, 400, REFUSALS.code);
  for (const provider of router().scripted) provider.scripts.set("unknown", refuse);
  expect(await ask("unknown", {})).toEqual([400, "context_length_exceeded"]);
  expect(calls("unknown")).toEqual([1, 0, 0]);
});

test("in the end the ledger is consistent and no hold is open", async () => {
  expect(await new LedgerService(router().app.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
});
