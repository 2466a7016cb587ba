// @module-tag large
import { beforeEach, expect, test } from "vitest";
import type { RestFailure } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { useRouter } from "../support/router.ts";
import type { Seeded } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";

type Ranking = {
  readonly model?: string;
  readonly results: readonly { readonly index: number; readonly relevance_score: number }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
  readonly x_0g_trace: { readonly billing: { readonly total_cost: string } };
};

const RICH = 1_000_000_000n;
const PRICES = [2n, 5n];
const MODEL = "ranker";
const offer = (n: number) => ({
  id: MODEL,
  upstream_id: `upstream-${n}`,
  service_type: "rerank",
  pricing: { prompt: String(PRICES[n]) },
});
const router = await useRouter({
  models: [],
  settings: { PROVIDER_COOL_DOWN_MS: "1" },
  more: (n) => [offer(n), { ...offer(n), id: "short", context_length: 10 }],
});
useServices(router, ["rerank"]);

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed(RICH);
  for (const { scripts } of router().scripted) scripts.clear();
});

function send(
  body: object,
  {
    secret = owner.secret,
    signal,
    path = "/v1/rerank",
  }: { secret?: string; signal?: AbortSignal; path?: string } = {},
) {
  return fetch(router().origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: MODEL, query: "sea", documents: ["a", "b"], ...body }),
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

const rankingOf = (indexes: readonly unknown[], more: object = {}) => ({
  id: "r",
  results: indexes.map((index, n) => ({ index, relevance_score: 1 - n / 10 })),
  usage: { prompt_tokens: 7, total_tokens: 7 },
  ...more,
});

const costOf = async (reply: Response) => ((await reply.json()) as Ranking).x_0g_trace.billing.total_cost;

// The second is the path of Cohere's present clients.
test.each(["/v1/rerank", "/v2/rerank"])(
  "documents are ranked by %s, returned, and charged by their tokens",
  async (path) => {
    const { model, inputPrice } = SERVICES.rerank;
    const documents = ["an open field", { text: "a quiet river" }, "a river"];
    const ranked = { model, query: "quiet river", documents, top_n: 2, return_documents: true };
    const reply = await send(ranked, { path });
    const { results, usage, x_0g_trace } = (await reply.json()) as Ranking;
    expect([reply.status, results]).toEqual([
      200,
      [
        { index: 1, relevance_score: 1, document: { text: "a quiet river" } },
        { index: 2, relevance_score: 0.5, document: { text: "a river" } },
      ],
    ]);
    const cost = BigInt(usage.prompt_tokens) * inputPrice;
    expect(x_0g_trace.billing.total_cost).toBe(String(cost));
    await requireAvailable(router().app, owner, { available: RICH - cost });
  },
);

test("the model is renamed on the way, and only the model", async () => {
  answer(
    0,
    '{"model":"upstream-0","results":[{"index":1,"relevance_score":1.50}],"usage":{"total_tokens":3}}',
  );
  const reply = await send({ top_n: 1, max_tokens_per_doc: 9 });
  const text = await reply.text();
  expect([reply.status, text]).toEqual([200, expect.stringContaining('"relevance_score":1.50')]);
  expect(JSON.parse(text)).toMatchObject({ model: MODEL, x_0g_trace: { billing: { total_cost: "6" } } });
  expect(router().scripted[0]?.calls.at(-1)).toMatchObject({
    path: "/v1/rerank",
    body: { model: "upstream-0", query: "sea", documents: ["a", "b"], top_n: 1, max_tokens_per_doc: 9 },
  });
});

test.each<[string, object, string]>([
  ["vLLM's form", { usage: { prompt_tokens: 9, total_tokens: 9 } }, "18"],
  ["Jina's form", { usage: { total_tokens: 9 } }, "18"],
  ["Cohere's form", { usage: undefined, meta: { tokens: { input_tokens: 9 } } }, "18"],
  ["Jina's form beside a null", { usage: { prompt_tokens: null, total_tokens: 9 } }, "18"],
  [
    "vLLM's form with an answer",
    { usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } },
    "18",
  ],
  // Two documents of one token, each with the query of one.
  ["numbers that differ", { usage: { prompt_tokens: 0, total_tokens: 9 } }, "8"],
  ["no form", { usage: undefined, meta: { billed_units: { search_units: 1 } } }, "8"],
  ["negative numbers", { usage: { prompt_tokens: -1, total_tokens: -1 } }, "8"],
])("usage in %s is charged", async (_what, more, cost) => {
  answer(0, rankingOf([1, 0], more));
  expect(await costOf(await send({}))).toBe(cost);
  await requireAvailable(router().app, owner, { available: RICH - BigInt(cost) });
});

test("more tokens than the context has for each document are charged by our own count, and shown", async () => {
  answer(0, rankingOf([1, 0], { usage: { prompt_tokens: 21, total_tokens: 21 } }));
  const { usage, x_0g_trace } = (await (await send({ model: "short" })).json()) as Ranking;
  expect([usage, x_0g_trace.billing.total_cost]).toEqual([
    { prompt_tokens: 4, total_tokens: 4, cost: 8e-18 },
    "8",
  ]);
});

test.each<[string, object | string, number]>([
  ["fewer results than requested", rankingOf([1]), 200],
  ["more results than documents", rankingOf([0, 1, 1]), 200],
  ["a document twice", rankingOf([1, 1]), 200],
  ["a document that was not sent", rankingOf([0, 2]), 200],
  ["a text as its index", rankingOf([0, "1"]), 200],
  ["no score", { results: [{ index: 0 }, { index: 1 }] }, 200],
  ["no list", { data: [] }, 200],
  ["an error", { error: { message: "overloaded" } }, 200],
  ["no JSON", "[", 200],
  ["status 500", {}, 500],
])(
  "an answer with %s fails: the next provider is tried, and it alone is paid",
  async (_what, body, status) => {
    answer(0, body, status);
    answer(1, rankingOf([1, 0]));
    expect(await costOf(await send({}))).toBe("35");
    await requireAvailable(router().app, owner, { available: RICH - 35n });
  },
);

test.each<[string, object, string]>([
  ["no query", { query: undefined }, "query"],
  ["an empty query", { query: "" }, "query"],
  ["no documents", { documents: [] }, "documents"],
  ["1,001 documents", { documents: Array(1_001).fill("a") }, "documents"],
  ["an empty document", { documents: ["a", ""] }, "documents.1"],
  ["a document without a text", { documents: [{ title: "a" }] }, "documents.0"],
  ["no results", { top_n: 0 }, "top_n"],
])("%s is refused by name", async (_what, body, param) => {
  const reply = await send(body);
  const { error } = (await reply.json()) as RestFailure;
  expect([reply.status, error.code, error.param]).toEqual([400, "invalid_body", param]);
  await requireAvailable(router().app, owner, { available: RICH });
});

test("a balance that does not cover the documents, each with the query, is refused", async () => {
  // Ten documents of one token, each with a query of four: 50 tokens.
  const poor = await router().seed(99n);
  const body = { query: "the deep blue sea", documents: Array(10).fill("a") };
  expect((await send(body, { secret: poor.secret })).status).toBe(402);
  await requireAvailable(router().app, poor, { available: 99n });
});

test("a client that leaves before the answer pays nothing", async () => {
  const leave = new AbortController();
  router().scripted[0]?.scripts.set("upstream-0", () => leave.abort());
  await expect(send({}, { signal: leave.signal })).rejects.toThrow();
  await requireAvailable(router().app, owner, { available: RICH });
});

test("our own count is never more than the model can read, which is what was held", async () => {
  answer(0, rankingOf([0], { usage: undefined }));
  const reply = await send({ model: "short", query: "a sea", documents: ["a quiet river ".repeat(50)] });
  // The context of the model has 10 tokens.
  expect(await costOf(reply)).toBe("20");
  await requireAvailable(router().app, owner, { available: RICH - 20n });
});

test("1,000 documents of 3 KB and their results pass, charged once", async () => {
  const documents = Array.from({ length: 1_000 }, () => ({ text: "the quiet river ".repeat(190) }));
  const results = documents.map((document, index) => ({ index, relevance_score: 0.5, document }));
  answer(0, { results, usage: { total_tokens: 600_000 } });
  const reply = await send({ documents, return_documents: true });
  const ranking = (await reply.json()) as Ranking;
  expect([reply.status, ranking.results.length]).toEqual([200, 1_000]);
  await requireAvailable(router().app, owner, { available: RICH - 1_200_000n });
});
