import { beforeEach, describe, expect, test } from "vitest";
import { ask } from "../../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../../support/clients/rest-client.ts";
import { useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";

/** Dollars per million tokens of one neuron, and per million of these units. */
const NEURON_USD = 0.000_000_000_001;
const PRICES = { prompt: "2", completion: "3" };
const offer = (id: string, pricing: object, service_type?: string) => ({
  id,
  pricing,
  ...(service_type && { service_type }),
});
const router = await useRouter({
  models: [],
  count: 1,
  settings: { TOKEN_USD: "1" },
  more: () => [
    offer("chat", PRICES),
    offer("embed", { prompt: "2" }, "embedding"),
    offer("rank", { prompt: "2" }, "rerank"),
    offer("voice", { character: "3" }, "text-to-speech"),
    offer("hear", { second: "3" }, "speech-to-text"),
    offer("paint", { image: "5000000" }, "text-to-image"),
  ],
});

let owner: Seeded;
beforeEach(async () => {
  owner = await router().seed();
});

const messages = [{ role: "user", content: "What is the sea?" }];
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

async function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const reply = await rest<RestFailure>(router().origin, `/v1/${path}`, owner.secret, { body, headers });
  const { code, param } = reply.body.error ?? {};
  return { status: reply.status, code, param };
}

/** A request of each kind, the cap that its offer exceeds, and a cap that is set by a header beside it. */
const KINDS = [
  ["chat/completions", { model: "chat", messages }, "completion", "prompt"],
  ["responses", { model: "chat", input: "a" }, "completion", "prompt"],
  ["embeddings", { model: "embed", input: "a" }, "prompt", "completion"],
  ["rerank", { model: "rank", query: "a", documents: ["b"] }, "prompt", "completion"],
  ["audio/speech", { model: "voice", input: "a", voice: "b" }, "completion", "prompt"],
  ["audio/transcriptions", { model: "hear", file_base64: WAV }, "completion", "prompt"],
  ["images/generations", { model: "paint", prompt: "a" }, "image", "prompt"],
  ["async/images/generations", { model: "paint", prompt: "a" }, "image", "prompt"],
] as const;

describe.each(KINDS)("POST /v1/%s", (path, body, exceeded, other) => {
  const low = { [exceeded]: NEURON_USD };
  const refused = { status: 400, code: "no_provider_within_max_price" };

  test("a maximum price of a header replaces no other maximum price of the body", async () => {
    const header = { [`x-0g-provider-max-price-usd-${other}`]: "1" };
    expect(await post(path, { ...body, provider: { max_price: low } }, header)).toMatchObject(refused);
  });

  test("the price that exceeds its maximum is named, as a member of the body and as a header", async () => {
    const param = `provider.max_price.${exceeded}`;
    const both = { [other]: 1, ...low };
    expect(await post(path, { ...body, provider: { max_price: low } })).toEqual({ ...refused, param });
    expect(await post(path, { ...body, provider: { max_price: both } })).toEqual({ ...refused, param });
    const name = (kind: string) => `x-platform-provider-max-price-usd-${kind}`;
    const headers = { [name(other)]: "1", [name(exceeded)]: "0.000000000001" };
    const named = await post(path, body, headers);
    expect({ ...named, param: named.param?.toLowerCase() }).toEqual({ ...refused, param: name(exceeded) });
  });
});

test("the graph names the maximum price that is exceeded, in routing and in options", async () => {
  const fieldOf = async (input: string) => {
    const given = `model: "chat", messages: [{ role: "user", content: "a" }], ${input}`;
    const query = `mutation { completeChat(input: { ${given} }) { userErrors { field } } }`;
    return (await ask(router().origin, owner.secret, query)).data.completeChat.userErrors;
  };
  const usd = "0.000000000001";
  const routing = `routing: { maxPriceUsdPrompt: "1", maxPriceUsdCompletion: "${usd}" }`;
  expect(await fieldOf(routing)).toMatchObject([{ field: "routing.maxPriceUsdCompletion" }]);
  const options = `options: { provider: { max_price: { prompt: 1, completion: "${usd}" } } }`;
  expect(await fieldOf(options)).toMatchObject([{ field: "options.provider.max_price.completion" }]);
});
