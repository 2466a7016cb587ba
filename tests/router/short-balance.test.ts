import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { ask as askGraph } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { completion, event, events, openStream, sendJson } from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";

const CACHED = {
  id: "cached",
  pricing: { prompt: "10", completion: "20", cached_prompt: "1" },
};
/** The charge for an answer of this model does not show whether the balance covered the prompt. */
const FREE_OUTPUT = { ...CACHED, id: "free-output", pricing: { ...CACHED.pricing, completion: "0" } };
const NEURON = 3_000n;

const router = await useRouter({ models: [], more: () => [CACHED, FREE_OUTPUT] });

/** What each API says of the request: its bill, and what the cache saved. */
async function savingsOf(cachedTokens: number, stream: boolean, model = CACHED.id) {
  const { app, origin, seed, scripted, chat } = router();
  const usage = {
    prompt_tokens: 1_000,
    completion_tokens: 5,
    total_tokens: 1_005,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
  for (const provider of scripted)
    provider.scripts.set(model, (call, response) => {
      if (!call.body.stream) return sendJson(response, 200, completion({ usage }));
      openStream(response).end(
        [...events().slice(0, -2), event(undefined, { usage }), "data: [DONE]\n\n"].join(""),
      );
    });
  const seeded = await seed(NEURON);
  const reply = await chat(seeded, { model, max_tokens: 9, stream });
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  const [, traced] = /^: x_0g_trace (.*)$/m.exec(text) ?? [];
  const trace = traced === undefined ? JSON.parse(text).x_0g_trace : JSON.parse(traced);
  const reader = (await app.managementKeys.create(seeded.account, "reader", ["account:read"])).secret;
  const history = await rest<{ data: { cost: string; cache_saving: string | null }[] }>(
    origin,
    "/v1/account/usage/history",
    reader,
  );
  const generation = await rest<{ data: { cache_discount: number | null } }>(
    origin,
    `/v1/generation?id=${trace.request_id}`,
    seeded.secret,
  );
  const query = `{ request(id: "${trace.request_id}") { cost { total cacheSaving } } }`;
  const { cacheSaving: sum } = await app.usage.performance(seeded.account, { from: new Date(0) });
  const [row] = history.body.data;
  const { cost } = (await askGraph(origin, reader, query)).data.request;
  expect([trace.billing.total_cost, row?.cost, cost.total]).toEqual(Array(3).fill(`${NEURON}`));
  return {
    trace: trace.billing.cache_saving,
    history: row?.cache_saving,
    generation: generation.body.data.cache_discount,
    graph: cost.cacheSaving,
    sum,
  };
}

test.each([
  [CACHED.id, false],
  [CACHED.id, true],
  [FREE_OUTPUT.id, false],
  [FREE_OUTPUT.id, true],
])(
  "what the cache saved of a request beyond the balance is null everywhere (%s, streamed: %s)",
  async (model, stream) => {
    expect(await savingsOf(500, stream, model)).toEqual({
      trace: null,
      history: null,
      generation: null,
      graph: null,
      sum: 0n,
    });
  },
);

test.each([false, true])(
  "without a cache, it is nothing everywhere, also beyond the balance (streamed: %s)",
  async (stream) => {
    expect(await savingsOf(0, stream)).toEqual({
      trace: undefined,
      history: "0",
      generation: 0,
      graph: "0",
      sum: 0n,
    });
  },
);

test("a ledger with costs beyond the balance is verified again from where it was", async () => {
  const ledger = new LedgerService(router().app.database);
  for (const cachedTokens of [500, 0]) await savingsOf(cachedTokens, false);
  expect((await ledger.verify()).faults).toEqual([]);
  expect(await ledger.verifyNew()).toMatchObject({ faults: [] });
  await savingsOf(500, true);
  expect(await ledger.verifyNew()).toMatchObject({ faults: [] });
});
