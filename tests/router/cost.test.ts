// @module-tag large
import { beforeEach, describe, expect, test } from "vitest";
import { priceInUsd } from "../../src/inference/routing/routing-preferences.ts";
import { formatToken } from "../../src/kernel/text/amount.ts";
import { rest } from "../support/clients/rest-client.ts";
import {
  completion,
  event,
  events,
  openStream,
  sendJson,
  USAGE,
} from "../support/inference/scripted-provider.ts";
import { type RouterStack, useRouter } from "../support/router.ts";
import type { Seeded } from "../support/seed.ts";

const MODEL = "priced";
/** The provider has its own name for it, so that every answer is renamed for the client. */
const RENAMED = { id: "renamed", upstream_id: "inner", pricing: { prompt: "2", completion: "3" } };
const IMAGES = { id: "images", pricing: { image: "70" }, service_type: "text-to-image" };
const VECTORS = { id: "vectors", pricing: { prompt: "5" }, service_type: "embedding" };
const EIGHTH = 125_000_000_000_000_000n;
const router = await useRouter({
  models: [MODEL],
  count: 1,
  settings: { TOKEN_USD: "0.125", PROVIDER_COOL_DOWN_MS: "1" },
  more: () => [RENAMED, IMAGES, VECTORS],
});
const PROMPT_PRICE = 2n;
const COMPLETION_PRICE = 3n;
const COST = 9n * PROMPT_PRICE + 8n * COMPLETION_PRICE;

type Shown = {
  readonly usage: Readonly<Record<string, unknown>>;
  readonly x_0g_trace: { readonly billing: { readonly total_cost: string } };
};

let provider: RouterStack["scripted"][number];
beforeEach(() => {
  const [first] = router().scripted;
  if (!first) throw new Error("no provider");
  provider = first;
  provider.scripts.clear();
});

const shownAs = (neuron: bigint) => ({
  cost: Number(formatToken(neuron)),
  cost_usd: Number(priceInUsd(neuron, EIGHTH)),
});

/** The usage of an answer, and its bill: whole, or from the last chunk of a stream. */
async function answerOf(seeded: Seeded, body: object): Promise<Shown> {
  const reply = await router().chat(seeded, { stream_options: { include_usage: true }, ...body });
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  const chunk = text.split("\n\n").find((one) => one.includes('"usage"'));
  return JSON.parse(text.startsWith("{") ? text : (chunk ?? "").replaceAll(/^data: ?/gm, ""));
}

describe.each([false, true])("the cost in the usage of a chat (streamed: %s)", (stream) => {
  const say = (usage: object | undefined) => {
    for (const model of [MODEL, "inner"])
      provider.scripts.set(model, (call, response) => {
        if (!call.body.stream) return sendJson(response, 200, completion({ usage }));
        const last = usage ? [event(undefined, { usage })] : [];
        openStream(response).end([...events().slice(0, -2), ...last, "data: [DONE]\n\n"].join(""));
      });
  };

  test("is what the bill says and what was taken from the balance, in tokens and in dollars", async () => {
    const { app, seed } = router();
    const seeded = await seed(1_000_000n);
    const { usage, x_0g_trace } = await answerOf(seeded, { model: MODEL, stream });
    expect(usage).toEqual({ ...USAGE, ...shownAs(COST) });
    expect(x_0g_trace.billing.total_cost).toBe(String(COST));
    expect((await app.balances.byAccount(seeded.account)).total).toBe(1_000_000n - COST);
  });

  test.each([MODEL, RENAMED.id])(
    "replaces the provider's own, whose other details stay as they are (%s)",
    async (model) => {
      say({ ...USAGE, cost: 0.1, cost_usd: "free", completion_tokens_details: { reasoning_tokens: 3 } });
      const { usage } = await answerOf(await router().seed(), { model, stream });
      expect(usage).toMatchObject({ ...USAGE, ...shownAs(COST) });
      if (!stream || model === MODEL)
        expect(usage.completion_tokens_details).toEqual({ reasoning_tokens: 3 });
    },
  );

  test("is that of the router's own count where the provider reports none", async () => {
    say(undefined);
    const { usage, x_0g_trace } = await answerOf(await router().seed(), { model: MODEL, stream });
    expect(usage).toMatchObject(shownAs(BigInt(x_0g_trace.billing.total_cost)));
    expect(x_0g_trace.billing.total_cost).not.toBe("0");
  });

  test("is the charge where the balance did not cover the usage", async () => {
    say({ prompt_tokens: 1_000_000, completion_tokens: 8, total_tokens: 1_000_008 });
    const seeded = await router().seed(10_000n);
    const { usage } = await answerOf(seeded, { model: MODEL, stream, max_tokens: 8 });
    expect(usage).toMatchObject({ prompt_tokens: 1_000_000, ...shownAs(10_000n) });
  });
});

test.each([
  [IMAGES.id, "/v1/images/generations", { prompt: "a sea" }, { data: [{ b64_json: "iVBORw0KGgo=" }] }, 70n],
  [VECTORS.id, "/v1/embeddings", { input: "a sea" }, { data: [{ embedding: [1] }] }, 20n],
])("is in the usage of %s", async (model, path, body, answer, cost) => {
  const { origin, seed } = router();
  const usage = { prompt_tokens: 4, total_tokens: 4 };
  provider.scripts.set(model, (_call, response) => sendJson(response, 200, { ...answer, usage }));
  const { secret } = await seed();
  const reply = await rest<Shown>(origin, path, secret, { body: { model, ...body } });
  expect(reply.body.usage).toEqual({ ...usage, ...shownAs(cost) });
  expect(reply.body.x_0g_trace.billing.total_cost).toBe(String(cost));
});

test("a stream whose client wants no usage has no usage chunk, and the cost is in the trace", async () => {
  const reply = await router().chat(await router().seed(), { model: MODEL, stream: true });
  const text = await reply.text();
  expect(text).not.toContain('"usage"');
  expect(text).toContain(`"total_cost":"${COST}"`);
});

test("a usage that the provider repeats too often fails a whole answer, and is replaced in a stream", async () => {
  const repeated = Array.from({ length: 17 }, () => `"usage":${JSON.stringify(USAGE)}`).join();
  provider.scripts.set(MODEL, (call, response) => {
    if (call.body.stream) {
      const last = `data: {"id":"c","created":1,"choices":[],${repeated}}\n\n`;
      openStream(response).end([...events().slice(0, -2), last, "data: [DONE]\n\n"].join(""));
    } else {
      const text = JSON.stringify(completion({ usage: undefined }));
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(`${text.slice(0, -1)},${repeated}}`);
    }
  });
  const seeded = await router().seed(1_000_000n);
  const { usage } = await answerOf(seeded, { model: MODEL, stream: true });
  expect(usage).toEqual({ ...USAGE, ...shownAs(COST) });
  expect((await router().chat(seeded, { model: MODEL })).status).toBe(502);
  expect((await router().app.balances.byAccount(seeded.account)).total).toBe(1_000_000n - COST);
});
