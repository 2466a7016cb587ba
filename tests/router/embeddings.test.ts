// @module-tag large
import OpenAI from "openai";
import { beforeEach, describe, expect, test } from "vitest";
import type { RestFailure } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { useRouter } from "../support/router.ts";
import type { Seeded } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";

type Vectors = {
  readonly model: string;
  readonly data: readonly { readonly embedding: readonly number[] | string }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
  readonly x_0g_trace: {
    readonly billing: { readonly total_cost: string };
    readonly usage_estimated?: boolean;
  };
};

const RICH = 1_000_000_000n;
const PRICES = [2n, 5n];
const MODEL = "embed";
const offer = (n: number) => ({
  id: MODEL,
  upstream_id: `upstream-${n}`,
  pricing: { prompt: String(PRICES[n]) },
  service_type: "embedding",
});
const router = await useRouter({
  models: [],
  // Each test begins with providers that may be tried, whatever they answered before.
  settings: { PROVIDER_COOL_DOWN_MS: "1" },
  more: (n) => [offer(n), { ...offer(n), id: "short", context_length: 10 }],
});
useServices(router, ["embeddings"]);

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed(RICH);
  for (const { scripts } of router().scripted) scripts.clear();
});

function send(
  body: object,
  { secret = owner.secret, signal }: { secret?: string; signal?: AbortSignal } = {},
) {
  return fetch(`${router().origin}/v1/embeddings`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: MODEL, ...body }),
    ...(signal && { signal }),
  });
}

/** Makes the `n`th provider answer with this. */
function answer(n: number, body: object | string, status = 200) {
  router().scripted[n]?.scripts.set(`upstream-${n}`, (_call, response) => {
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(typeof body === "string" ? body : JSON.stringify(body));
  });
}

const listOf = (vectors: readonly (readonly number[] | string)[], more: object = {}) => ({
  object: "list",
  model: "upstream-0",
  data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
  usage: { prompt_tokens: 7, total_tokens: 7 },
  ...more,
});

describe("with the official client", () => {
  const client = () => new OpenAI({ apiKey: owner.secret, baseURL: `${router().origin}/v1`, maxRetries: 0 });
  const { model, inputPrice } = SERVICES.embeddings;

  test("a batch of texts has a vector each, and is charged by its tokens", async () => {
    const input = ["the quiet river", "the quiet river", "open field"];
    const { data, usage } = await client().embeddings.create({ model, input, dimensions: 64 });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([64, 64, 64]);
    expect(data[0]?.embedding).toEqual(data[1]?.embedding);
    expect(data[0]?.embedding).not.toEqual(data[2]?.embedding);
    expect(usage.prompt_tokens).toBeGreaterThan(0);
    await requireAvailable(router().app, owner, {
      available: RICH - BigInt(usage.prompt_tokens) * inputPrice,
    });
  });

  test("lists of numbers from a provider that ignores base64 arrive as the same numbers", async () => {
    answer(
      0,
      listOf([
        [0.5, -1.25, 3],
        [1e-3, 0, 2],
      ]),
    );
    const { data } = await client().embeddings.create({ model: MODEL, input: ["a", "b"] });
    expect(data.map(({ embedding }) => [...embedding])).toEqual([
      [0.5, -1.25, 3],
      [Math.fround(1e-3), 0, 2],
    ]);
    expect(router().scripted[0]?.calls.at(-1)?.body).toMatchObject({ encoding_format: "base64" });
  });
});

test("the model is renamed on the way, and only the model", async () => {
  answer(
    0,
    '{"object":"list","data":[{"embedding":[0.10,1e2],"index":0}],"model":"upstream-0","usage":{"prompt_tokens":3,"total_tokens":3}}',
  );
  const reply = await send({ input: "a sea", user: "u", dimensions: 2 });
  const text = await reply.text();
  expect([reply.status, text]).toEqual([200, expect.stringContaining('"embedding":[0.10,1e2]')]);
  expect(JSON.parse(text)).toMatchObject({ model: MODEL, x_0g_trace: { billing: { total_cost: "6" } } });
  expect(router().scripted[0]?.calls.at(-1)).toMatchObject({
    path: "/v1/embeddings",
    body: { model: "upstream-0", input: "a sea", user: "u", dimensions: 2 },
  });
  await requireAvailable(router().app, owner, { available: RICH - 6n });
});

test.each([
  ["no usage", { usage: undefined }],
  ["more tokens than its context has", { usage: { prompt_tokens: 21, total_tokens: 21 } }],
  ["a negative number", { usage: { prompt_tokens: -1, total_tokens: -1 } }],
  ["a total that is not the sum", { usage: { prompt_tokens: 0, total_tokens: 9 } }],
  ["a total that differs from our own count", { usage: { prompt_tokens: 7, total_tokens: 9 } }],
])("an answer with %s is charged by our own count", async (_what, more) => {
  answer(0, listOf([[1], [2]], more));
  const reply = await send({ model: "short", input: ["one light", [1, 2, 3].join(" ")] });
  const { usage, x_0g_trace } = (await reply.json()) as Vectors;
  expect(usage.prompt_tokens).toBe(7);
  expect(usage.total_tokens).toBe(7);
  expect(x_0g_trace.billing.total_cost).toBe(String(7n * 2n));
  await requireAvailable(router().app, owner, { available: RICH - 14n });
});

test("an answer that states only a total is charged by it, and shows the prompt, too", async () => {
  answer(0, listOf([[1]], { usage: { total_tokens: 9 } }));
  const { usage, x_0g_trace } = (await (await send({ input: "light" })).json()) as Vectors;
  expect([usage, x_0g_trace.billing.total_cost]).toEqual([
    { prompt_tokens: 9, total_tokens: 9, cost: 18e-18 },
    "18",
  ]);
});

test("a list of tokens is one input, and each counts as one", async () => {
  answer(0, listOf([[1]], { usage: undefined }));
  const reply = await send({ input: [9, 8, 7, 6] });
  expect((await reply.json()) as Vectors).toMatchObject({ usage: { prompt_tokens: 4, total_tokens: 4 } });
});

test.each<[string, object | string, number]>([
  ["fewer vectors than inputs", listOf([[1]]), 200],
  ["a vector without numbers", listOf([[1], []]), 200],
  ["text where numbers were requested", listOf([[1], "AACAPw=="]), 200],
  ["a null", '{"object":"list","data":[{"embedding":[1]},{"embedding":[null]}]}', 200],
  ["an error", { error: { message: "overloaded" } }, 200],
  ["no JSON", "[", 200],
  ["status 500", {}, 500],
])(
  "an answer with %s fails: the next provider is tried, and it alone is paid",
  async (_what, body, status) => {
    answer(0, body, status);
    answer(1, listOf([[1], [2]]));
    const reply = await send({ input: ["a", "b"] });
    const { x_0g_trace } = (await reply.json()) as Vectors;
    expect([reply.status, x_0g_trace.billing.total_cost]).toEqual([200, "35"]);
    await requireAvailable(router().app, owner, { available: RICH - 35n });
  },
);

test("an answer that repeats a vector's member is not encoded one way and read another", async () => {
  for (const n of [0, 1])
    answer(n, '{"data":[{"embedding":[1],"embedding":[2]}],"usage":{"prompt_tokens":1,"total_tokens":1}}');
  const reply = await send({ input: "a", encoding_format: "base64" });
  expect(reply.status).toBe(502);
  await requireAvailable(router().app, owner, { available: RICH });
});

test.each<[string, object, string]>([
  ["no input", {}, "input"],
  ["an empty text", { input: "" }, "input"],
  ["an empty list", { input: [] }, "input"],
  ["a list of both", { input: ["a", [1]] }, "input"],
  ["fractions", { input: [1.5] }, "input"],
  ["2,049 texts", { input: Array(2_049).fill("a") }, "input"],
  ["an unknown encoding", { input: "a", encoding_format: "hex" }, "encoding_format"],
  ["no dimensions", { input: "a", dimensions: 0 }, "dimensions"],
])("%s is refused by name", async (_what, body, param) => {
  const reply = await send(body);
  const { error } = (await reply.json()) as RestFailure;
  expect([reply.status, error.code, error.param]).toEqual([400, "invalid_body", param]);
  await requireAvailable(router().app, owner, { available: RICH });
});

test("a model of another service is not found, and a balance that does not cover the input is refused", async () => {
  const chat = await send({ model: "other", input: "a" });
  expect([chat.status, ((await chat.json()) as RestFailure).error.code]).toEqual([404, "model_not_found"]);
  const poor = await router().seed(3n);
  const refused = await send({ input: "the quiet river" }, { secret: poor.secret });
  expect(refused.status).toBe(402);
  await requireAvailable(router().app, poor, { available: 3n });
});

test("a client that leaves before the answer pays nothing", async () => {
  const leave = new AbortController();
  router().scripted[0]?.scripts.set("upstream-0", () => leave.abort());
  await expect(send({ input: "a" }, { signal: leave.signal })).rejects.toThrow();
  await requireAvailable(router().app, owner, { available: RICH });
});

test.each([
  ["300,000 tokens in 200 lists", Array.from({ length: 200 }, () => Array(1_500).fill(150_000))],
  ["2,048 texts of 1,020 characters", Array(2_048).fill("word ".repeat(204))],
])("%s, as the official client sends them, pass unchanged and are charged once", async (_what, input) => {
  const usage = { prompt_tokens: 300_000, total_tokens: 300_000 };
  answer(0, listOf(Array(input.length).fill([0.5]), { usage }));
  const reply = await send({ input });
  expect([reply.status, (await reply.json()) as Vectors]).toMatchObject([200, { usage }]);
  const sent = JSON.parse(router().scripted[0]?.calls.at(-1)?.bytes.toString() ?? "");
  expect(sent.model).toBe("upstream-0");
  // Compared as text, as the difference of two long lists takes minutes to print.
  expect(JSON.stringify(sent.input) === JSON.stringify(input)).toBe(true);
  await requireAvailable(router().app, owner, { available: RICH - 600_000n });
});

test("a batch of 3 MiB and its 20 MB of vectors pass in base64, charged once", async () => {
  const vector = Array.from({ length: 1_536 }, (_, n) => n / 1_537);
  const input = Array.from({ length: 700 }, () => "the quiet river ".repeat(280));
  answer(0, listOf(Array(700).fill(vector), { usage: { prompt_tokens: 700_000, total_tokens: 700_000 } }));
  const reply = await send({ input, encoding_format: "base64" });
  const { data } = (await reply.json()) as Vectors;
  expect([reply.status, data.length]).toEqual([200, 700]);
  const floats = Buffer.from(String(data[699]?.embedding), "base64");
  expect([floats.length, floats.readFloatLE(4)]).toEqual([1_536 * 4, Math.fround(1 / 1_537)]);
  await requireAvailable(router().app, owner, { available: RICH - 1_400_000n });
});
