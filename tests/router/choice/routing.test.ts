import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { ask } from "../../support/clients/graph-client.ts";
import {
  completion,
  DONE,
  event,
  events,
  openStream,
  sendJson,
  USAGE,
} from "../../support/inference/scripted-provider.ts";
import { scaled } from "../../support/machine.ts";
import { PRICES, type RouterStack, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

const MODELS = ["m-plain", "m-other", "m-latency", "m-hold", "m-money", "m-pin"] as const;
/** One neuron per token is 10^-12 USD per million tokens. */
const router = await useRouter({ models: MODELS, count: 3, settings: { TOKEN_USD: "1" } });

type Preview = {
  readonly providers: readonly {
    readonly address: string;
    readonly endpoint: string | null;
    readonly model_id: string;
  }[];
  readonly refused: readonly { readonly provider: string; readonly reason: string }[];
};

async function preview(
  seeded: Seeded,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${router().origin}/v1/routing/preview`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}`, ...headers },
    body: JSON.stringify({ service_type: "chatbot", ...body }),
  });
}

/** The addresses of the scripted providers for a model, in the order of their prices. */
function addressesOf(model: string): readonly string[] {
  return (router().app.catalogue.model(model)?.providers ?? []).map(({ address }) => address);
}

async function onlyRequestOf({ app }: RouterStack, seeded: Seeded) {
  const { rows } = await app.requests.list(seeded.account, { first: 10 });
  expect(rows).toHaveLength(1);
  const [request] = rows;
  if (!request) throw new Error("no request");
  return request;
}

async function codeOf(reply: Response): Promise<[number, string]> {
  const { error } = (await reply.json()) as { error: { code: string } };
  return [reply.status, error.code];
}

test("the preview names the providers in order, and neither calls nor charges", async () => {
  const seeded = await router().seed();
  const reply = await preview(seeded, { model: "m-plain" });
  expect(reply.status).toBe(200);
  const { providers, refused } = (await reply.json()) as Preview;
  expect(providers.map(({ address }) => address)).toEqual(addressesOf("m-plain"));
  expect(providers[0]).toMatchObject({
    endpoint: null,
    model_id: "m-plain",
  });
  expect(refused).toEqual([]);
  expect(router().scripted.every((provider) => provider.callsOf("m-plain").length === 0)).toBe(true);
  const { rows } = await router().app.requests.list(seeded.account, { first: 1 });
  expect(rows).toEqual([]);
});

test("the preview follows headers and the body's provider object, and the header wins field by field", async () => {
  const seeded = await router().seed();
  const [first, second] = addressesOf("m-plain");
  const look = async (body: object, headers: Record<string, string> = {}) =>
    (await (await preview(seeded, { model: "m-plain", ...body }, headers)).json()) as Preview;
  const pinned = await look({ provider: { address: first } });
  expect(pinned.providers.map(({ address }) => address)).toEqual([first]);
  const overruled = await look(
    { provider: { address: first } },
    { "x-platform-provider-address": String(second) },
  );
  expect(overruled.providers.map(({ address }) => address)).toEqual([second]);
  expect(overruled.refused).toContainEqual({ provider: first, reason: "not_pinned" });
  const alone = await look({}, { "x-0g-provider-allow-fallbacks": "false" });
  expect(alone.providers).toHaveLength(1);
  const capped = await look({}, { "x-0g-provider-max-price-usd-completion": "0.000000000007" });
  expect(capped.providers).toHaveLength(2);
  expect(capped.refused).toEqual([{ provider: addressesOf("m-plain")[2], reason: "above_max_price" }]);
});

test("a preview without a model covers every model of its service type", async () => {
  const seeded = await router().seed();
  const { providers } = (await (await preview(seeded, {})).json()) as Preview;
  expect(new Set(providers.map(({ model_id }) => model_id))).toEqual(new Set([...MODELS, "test-chat"]));
});

const UNKNOWN = `0x${"9".repeat(40)}`;
test.each<[Record<string, string>, object, number, string]>([
  [{ "x-0g-provider-sort": "cheapest" }, {}, 400, "invalid_provider_header"],
  [{ "x-platform-provider-address": "0x1" }, {}, 400, "invalid_provider_header"],
  [{ "x-platform-provider-trust-mode": "standard" }, {}, 400, "invalid_provider_header"],
  [{ "x-platform-provider-max-price-usd-prompt": "1,5" }, {}, 400, "invalid_max_price_usd"],
  [
    { "x-0g-provider-sort": "price", "x-platform-provider-sort": "price" },
    {},
    400,
    "invalid_provider_header",
  ],
  [{ "x-0g-provider-max-price-usd-prompt": "0.000000000001" }, {}, 400, "no_provider_within_max_price"],
  [{ "x-0g-provider-address": UNKNOWN }, {}, 404, "provider_not_found"],
  [{ "x-0g-provider-trust-mode": "private" }, {}, 503, "no_provider_for_trust_mode"],
  [{}, { provider: { sort: "best" } }, 400, "invalid_body"],
  [{}, { provider: { address: "0x1" } }, 400, "invalid_body"],
  [{}, { provider: { address: UNKNOWN } }, 404, "provider_not_found"],
  [{}, { provider: "cheap" }, 400, "invalid_body"],
  [{}, { provider: { max_price: { prompt: 1e-12 } } }, 400, "no_provider_within_max_price"],
  [{}, { provider: { max_price: { completion: "0" } } }, 400, "no_provider_within_max_price"],
  [{}, { provider: { max_price: { prompt: "cheap" } } }, 400, "invalid_body"],
  [{}, { provider: { max_price: { request: 1 } } }, 400, "invalid_body"],
  [{}, { provider: { zdr: true } }, 400, "invalid_body"],
  [{}, { provider: { data_collection: "deny" } }, 400, "invalid_body"],
])(
  "%j %j is %s %s, plain and streamed: no provider is called and nothing is charged",
  async (headers, body, status, code) => {
    const { seed, chat, app, scripted } = router();
    const seeded = await seed();
    const before = scripted.map((provider) => provider.callsOf("m-other").length);
    for (const stream of [false, true])
      expect(await codeOf(await chat(seeded, { model: "m-other", stream, ...body }, headers))).toEqual([
        status,
        code,
      ]);
    expect(scripted.map((provider) => provider.callsOf("m-other").length)).toEqual(before);
    const balance = await balanceAtRest(app, seeded.account);
    expect(balance).toMatchObject({ total: 10_000_000n, held: 0n });
  },
);

test("a pin to a provider of another model, and a pinned provider above the price cap, have their own codes", async () => {
  const { seed, chat } = router();
  const seeded = await seed();
  const [, , mostExpensive] = addressesOf("m-pin");
  const other = addressesOf("m-plain")[0] ?? "";
  const pin = (address: string, headers = {}) =>
    chat(seeded, { model: "m-pin" }, { "x-0g-provider-address": address, ...headers });
  expect(await codeOf(await pin(other))).toEqual([400, "provider_model_mismatch"]);
  const cap = { "x-0g-provider-max-price-usd-completion": "0.000000000012" };
  expect(await codeOf(await pin(mostExpensive ?? "", cap))).toEqual([
    400,
    "pinned_provider_exceeds_max_price",
  ]);
});

test("a pinned provider that fails is not replaced by another", async () => {
  const { seed, chat, scripted } = router();
  const seeded = await seed();
  const [, second] = addressesOf("m-pin");
  scripted[1]?.scripts.set("m-pin", (_, response) => sendJson(response, 404, { error: "gone" }));
  const reply = await chat(seeded, { model: "m-pin" }, { "x-0g-provider-address": second ?? "" });
  expect(await codeOf(reply)).toEqual([502, "provider_error"]);
  expect(scripted.map((provider) => provider.callsOf("m-pin").length)).toEqual([0, 1, 0]);
});

test("sorting by latency tries the fastest first once all are measured", async () => {
  const { seed, chat, scripted } = router();
  const seeded = await seed();
  // On a busy machine, a quick answer takes much longer than its delay.
  for (const [n, delayMs] of [scaled(400), scaled(300), 5].entries())
    scripted[n]?.scripts.set("m-latency", (_, response) => {
      setTimeout(
        () => sendJson(response, 200, { choices: [{ message: { content: "a" } }], usage: USAGE }),
        delayMs,
      );
    });
  const quick = { "x-0g-provider-sort": "latency" };
  for (let n = 0; n < 3; n++) await chat(seeded, { model: "m-latency" }, quick);
  expect(scripted.map((provider) => provider.callsOf("m-latency").length)).toEqual([1, 1, 1]);
  for (let n = 0; n < 3; n++) await chat(seeded, { model: "m-latency" }, quick);
  expect(scripted.map((provider) => provider.callsOf("m-latency").length)).toEqual([1, 1, 4]);
});

test("the hold covers the most expensive candidate, and the charge is that of the provider that answered", async () => {
  const { seed, chat, scripted, app } = router();
  const seeded = await seed();
  const release = Promise.withResolvers<void>();
  const fail = (_: unknown, response: import("node:http").ServerResponse) => sendJson(response, 500, {});
  scripted[0]?.scripts.set("m-hold", fail);
  scripted[1]?.scripts.set("m-hold", fail);
  scripted[2]?.scripts.set("m-hold", async (_, response) => {
    await release.promise;
    sendJson(response, 200, { choices: [{ message: { content: "a" } }], usage: USAGE });
  });
  const asked = chat(seeded, { model: "m-hold", max_tokens: 10 });
  await until(() => (scripted[2]?.callsOf("m-hold").length ?? 0) > 0);
  const during = await balanceAtRest(app, seeded.account);
  const [, , mostExpensive] = PRICES;
  const prompt = BigInt((await tokensOf()) ?? 0);
  expect(during?.held).toBe(prompt * mostExpensive.prompt + 10n * mostExpensive.completion);
  release.resolve();
  const answer = (await (await asked).json()) as {
    x_0g_trace: { provider: string; billing: { total_cost: string } };
  };
  const due =
    BigInt(USAGE.prompt_tokens) * mostExpensive.prompt +
    BigInt(USAGE.completion_tokens) * mostExpensive.completion;
  expect(answer.x_0g_trace).toMatchObject({
    provider: addressesOf("m-hold")[2],
    billing: { total_cost: String(due) },
  });
  const request = await onlyRequestOf(router(), seeded);
  expect(request).toMatchObject({ provider: addressesOf("m-hold")[2], cost: { total: due } });
  expect(request.routing?.attempts.map(({ outcome, reason, status }) => [outcome, reason, status])).toEqual([
    ["failed", "failed", 500],
    ["failed", "failed", 500],
    ["answered", undefined, undefined],
  ]);
});

async function tokensOf(): Promise<number> {
  const { countPromptTokens } = await import("../../../src/inference/billing/tokens.ts");
  return countPromptTokens([{ role: "user", content: "What is the sea?" }]);
}

test("a balance for the cheapest provider alone is admitted, and more expensive ones are not tried in its place", async () => {
  const { seed, chat, scripted, app } = router();
  const [cheapest] = PRICES;
  const enough = BigInt(await tokensOf()) * cheapest.prompt + 10n * cheapest.completion;
  const seeded = await seed(enough);
  scripted[0]?.scripts.set("m-money", (_, response) => sendJson(response, 404, { error: "gone" }));
  expect(await codeOf(await chat(seeded, { model: "m-money", max_tokens: 10 }))).toEqual([
    502,
    "provider_error",
  ]);
  expect(scripted.map((provider) => provider.callsOf("m-money").length)).toEqual([1, 0, 0]);
  const balance = await balanceAtRest(app, seeded.account);
  expect(balance).toMatchObject({ total: enough, held: 0n });
  const poor = await seed(enough - 1n);
  expect(await codeOf(await chat(poor, { model: "m-money", max_tokens: 10 }))).toEqual([
    402,
    "insufficient_balance",
  ]);
});

test("a key restricted to one provider is routed to it, and its preview gives the reason for the others", async () => {
  const { seed, chat, app, scripted } = router();
  const seeded = await seed();
  const [, second] = addressesOf("m-other");
  await app.apiKeys.update(seeded.account, seeded.keyId, { allowedProviders: [second ?? ""] });
  const before = scripted.map((provider) => provider.callsOf("m-other").length);
  expect((await chat(seeded, { model: "m-other" })).status).toBe(200);
  const after = scripted.map((provider) => provider.callsOf("m-other").length);
  expect(after.map((count, n) => count - (before[n] ?? 0))).toEqual([0, 1, 0]);
  const { refused } = (await (await preview(seeded, { model: "m-other" })).json()) as Preview;
  expect(refused.map(({ reason }) => reason)).toEqual(["not_allowed_for_key", "not_allowed_for_key"]);
});

test("in the end the ledger is consistent", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});

test("the preview ranks providers by the cost of the request, on both APIs", async () => {
  const { offer, seed, origin, app } = router();
  await offer(0, { id: "m-sized", pricing: { prompt: "1", completion: "10" } });
  await offer(1, { id: "m-sized", pricing: { prompt: "10", completion: "1" } });
  const seeded = await seed();
  const costlyAnswer = app.catalogue
    .model("m-sized")
    ?.providers.find(({ outputPrice }) => outputPrice === 10n);
  const costlyPrompt = app.catalogue.model("m-sized")?.providers.find(({ inputPrice }) => inputPrice === 10n);
  const long = [{ role: "user", content: "a word and another ".repeat(200) }];
  const short = [{ role: "user", content: "a" }];
  const QUERY = `query ($messages: [ChatMessageInput!], $maxTokens: Int) {
    routingPreview(serviceType: CHATBOT, model: "m-sized", messages: $messages, maxTokens: $maxTokens) {
      providers { address } } }`;
  for (const [size, first] of [
    [{ messages: long, max_tokens: 5 }, costlyAnswer],
    [{ messages: long, max_tokens: 5_000 }, costlyPrompt],
    [{ messages: short, max_tokens: 1_000 }, costlyPrompt],
    [{ messages: long }, costlyAnswer],
    [{}, costlyPrompt],
  ] as readonly [{ messages?: object[]; max_tokens?: number }, { address: string } | undefined][]) {
    const { providers } = (await (await preview(seeded, { model: "m-sized", ...size })).json()) as Preview;
    expect(providers[0]?.address, JSON.stringify(size).slice(0, 40)).toBe(first?.address);
    const { max_tokens: maxTokens, ...rest } = size;
    const { data } = await ask(origin, seeded.secret, QUERY, { ...rest, maxTokens });
    expect(data.routingPreview.providers[0].address.toLowerCase()).toBe(first?.address);
  }
  const manyChoices = { model: "m-sized", messages: long, max_tokens: 50, n: 100 };
  const { providers } = (await (await preview(seeded, manyChoices)).json()) as Preview;
  expect(providers[0]?.address).toBe(costlyPrompt?.address);
  const wrong = await preview(seeded, { model: "m-sized", messages: [{ content: "a" }] });
  expect(await codeOf(wrong)).toEqual([400, "invalid_body"]);
});

test("lists of providers and throughput are taken from headers, the body and the graph alike", async () => {
  const seeded = await router().seed();
  const [first = "", second = "", third = ""] = addressesOf("m-plain");
  const shown = async (body: object, headers: Record<string, string> = {}) => {
    const reply = await preview(seeded, { model: "m-plain", ...body }, headers);
    const { providers, refused } = (await reply.json()) as Preview;
    return [providers.map(({ address }) => address), refused.map(({ reason }) => reason)];
  };
  const checksum = third.replace("0x", "0X").toUpperCase().replace("0X", "0x");
  const ordered = [[third, first, second], []];
  expect(await shown({ provider: { order: [checksum] } })).toEqual(ordered);
  expect(await shown({}, { "x-0g-provider-order": ` ${checksum} ` })).toEqual(ordered);
  expect(await shown({ provider: { order: [second] } }, { "x-0g-provider-order": third })).toEqual(ordered);
  expect(await shown({ provider: { only: [second, third], ignore: [third] } })).toEqual([
    [second],
    ["not_in_only", "ignored"],
  ]);
  expect(
    await shown({}, { "x-0g-provider-only": `${second},${third}`, "x-0g-provider-ignore": third }),
  ).toEqual([[second], ["not_in_only", "ignored"]]);
  const routing = `{ only: ["${second}", "${third}"], ignore: ["${third}"], sort: THROUGHPUT }`;
  const query = `{ routingPreview(serviceType: CHATBOT, model: "m-plain", routing: ${routing}) {
    providers { address } excluded { reason } } }`;
  const { data } = await ask(router().origin, seeded.secret, query);
  expect(data.routingPreview.excluded).toEqual([{ reason: "NOT_IN_ONLY" }, { reason: "IGNORED" }]);
  for (const text of ["", "0x1", `${second},`, `${second} ${third}`, "x".repeat(3_000)]) {
    const reply = await preview(seeded, { model: "m-plain" }, { "x-0g-provider-ignore": text });
    expect(await codeOf(reply)).toEqual([400, "invalid_provider_header"]);
  }
  const malformed = await preview(seeded, { model: "m-plain", provider: { only: ["openai"] } });
  expect(await codeOf(malformed)).toEqual([400, "invalid_body"]);
});

test.each([false, true])(
  "the provider that generated the most tokens per second is tried first (streamed: %s)",
  async (stream) => {
    const model = `m-speed-${stream}`;
    const words = Array.from({ length: 40 }, (_, n) => ` word${n}`);
    const usage = { prompt_tokens: 9, completion_tokens: 40, total_tokens: 49 };
    for (const [n, provider] of router().scripted.entries()) {
      await router().offer(n, { id: model, pricing: { prompt: `${n + 1}`, completion: `${n + 1}` } });
      // The second one is the fastest, and neither the cheapest nor the most expensive.
      provider.scripts.set(model, async (_call, response) => {
        await sleep([120, 5, 240][n] ?? 0);
        if (!stream) return sendJson(response, 200, completion({ usage }));
        openStream(response).end([...events(words).slice(0, -2), event(undefined, { usage }), DONE].join(""));
      });
    }
    const seeded = await router().seed();
    const addresses = addressesOf(model);
    const expected = [addresses[1], addresses[0], addresses[2]].join();
    // A pause of the machine slows single answers: the averages of further ones are right.
    await until(async () => {
      for (const address of addresses)
        for (let n = 0; n < 2; n++) {
          const reply = await router().chat(seeded, { model, stream }, { "x-0g-provider-address": address });
          expect(reply.status, await reply.text()).toBe(200);
        }
      const reply = await preview(seeded, { model }, { "x-0g-provider-sort": "throughput" });
      const { providers } = (await reply.json()) as Preview;
      return providers.map(({ address }) => address).join() === expected;
    });
  },
);
