// @module-tag large
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../../support/clients/rest-client.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import {
  breakOff,
  completion,
  events,
  openStream,
  type Script,
  sendJson,
  USAGE,
} from "../../support/inference/scripted-provider.ts";
import { type RouterStack, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";

const FIRST = { id: "first", pricing: { prompt: "2", completion: "3" } };
const SECOND = { id: "second", upstream_id: "inner-second", pricing: { prompt: "5", completion: "700" } };
const THIRD = { id: "third", pricing: { prompt: "11", completion: "13" } };
/** The first provider has the first model alone, both have the second, the second has the third alone. */
const router = await useRouter({
  models: [],
  settings: { PROVIDER_COOL_DOWN_MS: "1" },
  more: (n) =>
    n === 0 ? [FIRST, SECOND] : [{ ...SECOND, pricing: { prompt: "6", completion: "800" } }, THIRD],
});
const FIRST_COST = 9n * 2n + 8n * 3n;
const SECOND_COST = 9n * 5n + 8n * 700n;
const BALANCE = 10_000_000n;

const broken: Script = (_call, response) => sendJson(response, 500, { error: { message: "broken" } });

let owner: Seeded;
let providers: RouterStack["scripted"];
beforeEach(async () => {
  owner = await router().seed(BALANCE);
  providers = router().scripted;
  for (const { scripts, calls } of providers) {
    scripts.clear();
    calls.length = 0;
  }
});
afterEach(async () => {
  expect((await new LedgerService(router().app.database).verify()).faults).toEqual([]);
});

function fail(...models: string[]): void {
  for (const { scripts } of providers) for (const model of models) scripts.set(model, broken);
}

type Answer = {
  readonly model: string;
  readonly usage: object;
  readonly x_0g_trace: {
    readonly request_id: string;
    readonly provider: string;
    readonly model?: string;
    readonly billing: { readonly total_cost: string };
  };
};

async function answered(body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const reply = await router().chat(owner, body, headers);
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  const chunk = text.split("\n\n").find((one) => one.includes('"x_0g_trace"'));
  return JSON.parse(text.startsWith("{") ? text : (chunk ?? "").slice("data: ".length));
}

async function failureOf(body: object, headers: Record<string, string> = {}) {
  const reply = await router().chat(owner, body, headers);
  const { error } = (await reply.json()) as RestFailure;
  return [reply.status, error.code, error.param];
}

const requestOf = async ({ x_0g_trace }: Answer) =>
  (await router().app.requests.byIds(owner.account, [x_0g_trace.request_id]))[0];

describe.each([false, true])("a request with fallback models (streamed: %s)", (stream) => {
  const options = { stream, ...(stream && { stream_options: { include_usage: true } }) };

  test("is answered by the first model that works, and billed at that model's price", async () => {
    const whole = await answered({ model: "first", models: ["second", "third"], ...options });
    expect(whole.x_0g_trace).toMatchObject({ model: "first", billing: { total_cost: String(FIRST_COST) } });
    await requireAvailable(router().app, owner, { available: BALANCE - FIRST_COST });
    fail("first");
    const other = await answered({ model: "first", models: ["second", "third"], ...options });
    expect(other.x_0g_trace).toMatchObject({ model: "second", billing: { total_cost: String(SECOND_COST) } });
    expect(other.model).toBe("second");
    await requireAvailable(router().app, owner, { available: BALANCE - FIRST_COST - SECOND_COST });
  });

  test("sends each provider its own name of the model, and no list", async () => {
    fail("first");
    await answered({ model: "first", models: ["second"], temperature: 0.5, ...options });
    const [sent] = providers[0]?.callsOf("inner-second") ?? [];
    expect(sent?.body).toMatchObject({ model: "inner-second", temperature: 0.5 });
    expect(sent?.body).not.toHaveProperty("models");
    expect(providers[0]?.callsOf("first")[0]?.body).not.toHaveProperty("models");
  });

  test("is in the history with the model that answered, its price, and each attempt", async () => {
    fail("first");
    const answer = await answered({ models: ["first", "second"], ...options });
    const request = await requestOf(answer);
    expect(request).toMatchObject({ model: "second", status: "completed", cost: { total: SECOND_COST } });
    const addresses = request?.routing?.attempts.map(({ model, outcome }) => [model, outcome]);
    expect(addresses).toEqual([
      ["first", "failed"],
      ["second", "answered"],
    ]);
    const { secret } = await router().app.managementKeys.create(owner.account, "reader", ["account:read"]);
    const history = await rest<{ data: object[] }>(router().origin, "/v1/account/usage/history", secret);
    expect(history.body.data).toMatchObject([{ model_id: "second", cost: String(SECOND_COST) }]);
    const generation = await rest<{ data: object }>(
      router().origin,
      `/v1/generation?id=${answer.x_0g_trace.request_id}`,
      owner.secret,
    );
    expect(generation.body.data).toMatchObject({ model: "second" });
  });

  test("tries every model before a second provider of one of them, three attempts in all", async () => {
    fail("first", "inner-second", "third");
    expect(await failureOf({ model: "second", models: ["first", "third"], ...options })).toEqual([
      502,
      "provider_error",
      null,
    ]);
    const tried = providers.flatMap(({ calls }) => calls).toSorted((a, b) => a.atMs - b.atMs);
    expect(tried.map(({ body }) => body.model)).toEqual(["inner-second", "first", "third"]);
    await requireAvailable(router().app, owner, { available: BALANCE });
  });

  test("is billed to the neuron after an idempotent request held for it by itself", async () => {
    fail("first");
    const headers = { "idempotency-key": `fallback-${stream}` };
    const body = { model: "first", models: ["second"], ...options };
    const answer = await answered(body, headers);
    expect(await requestOf(answer)).toMatchObject({ model: "second", cost: { total: SECOND_COST } });
    expect((await answered(body, headers)).x_0g_trace).toEqual(answer.x_0g_trace);
    await requireAvailable(router().app, owner, { available: BALANCE - SECOND_COST });
  });

  test("skips models that do not exist, that the key may not use, or whose price is too high", async () => {
    const { key, secret } = await router().app.apiKeys.create(owner.account, "limited", {
      allowedModels: ["second", "missing"],
    });
    owner = { ...owner, keyId: key.id, secret };
    const answer = await answered({ models: ["missing", "first", "second"], ...options });
    expect(answer.x_0g_trace.model).toBe("second");
    expect(providers[0]?.callsOf("first")).toEqual([]);
    expect(await failureOf({ models: ["first", "missing"], ...options })).toEqual([
      403,
      "access_denied",
      "model",
    ]);
    expect(await failureOf({ models: ["missing", "first"], ...options })).toEqual([
      404,
      "model_not_found",
      "model",
    ]);
  });
});

test("the hold is that of the most expensive model, although the cheapest is tried first", async () => {
  const body = { models: ["first", "second"], max_tokens: 100 };
  const cheap = await router().seed(2_000n);
  expect((await router().chat(cheap, { model: "first", max_tokens: 100 })).status).toBe(200);
  // What covers the first model alone is held for it alone: the second one is not tried.
  owner = await router().seed(2_000n);
  fail("first");
  expect((await failureOf(body))[0]).toBe(502);
  expect(providers[0]?.callsOf("inner-second")).toEqual([]);
  let held = 0n;
  owner = await router().seed(BALANCE);
  providers[0]?.scripts.set("first", async (_call, response) => {
    await router().app.holds.returnUnused();
    held = (await router().app.balances.byAccount(owner.account)).held;
    sendJson(response, 200, completion());
  });
  await answered(body);
  expect(held).toBeGreaterThanOrEqual(100n * 800n);
  await requireAvailable(router().app, owner, { available: BALANCE - FIRST_COST });
});

test("a stream that breaks after its first content is not continued by another model, and billed as delivered", async () => {
  providers[0]?.scripts.set("first", async (_call, response) => {
    openStream(response).write(events().slice(0, 4).join(""));
    await breakOff(response);
  });
  const reply = await router().chat(owner, { models: ["first", "second"], stream: true });
  expect(await reply.text()).toContain("upstream_error");
  expect(providers.flatMap((provider) => provider.callsOf("inner-second"))).toEqual([]);
  const { rows } = await router().app.requests.list(owner.account, { first: 1 });
  expect(rows[0]).toMatchObject({ model: "first", status: "failed" });
  expect(rows[0]?.cost?.total).toBeGreaterThan(0n);
});

test("the header names fallback models too, also for messages, and replaces those of the body", async () => {
  fail("first");
  const headers = { "x-0g-provider-fallback-models": "missing, second" };
  expect((await answered({ model: "first" }, headers)).x_0g_trace.model).toBe("second");
  expect((await answered({ model: "first", models: ["third"] }, headers)).x_0g_trace.model).toBe("second");
  for (const text of ["", ",", "a,,b", "a,b,c,d,e,f", "x".repeat(257)])
    expect(await failureOf({ model: "first" }, { "x-0g-provider-fallback-models": text })).toEqual([
      400,
      "invalid_provider_header",
      "x-0g-provider-fallback-models",
    ]);
});

test.each([
  [{ models: ["a", "b", "c", "d", "e", "f"] }, "models"],
  [{ models: "second" }, "models"],
  [{ models: ["first", 2] }, "models.1"],
  [{ models: [""] }, "models.0"],
  [{ models: [] }, "model"],
  [{ models: null }, "model"],
  [{}, "model"],
])("the models %j are refused", async (body, param) => {
  expect(await failureOf(body)).toEqual([400, "invalid_body", param]);
});

test("no fallbacks means the first model that may be used, and a pinned provider applies to every model", async () => {
  fail("first");
  expect((await failureOf({ models: ["first", "second"], provider: { allow_fallbacks: false } }))[0]).toBe(
    502,
  );
  const third = router().app.catalogue.model("third")?.providers[0]?.address ?? "";
  const pinned = await answered({ models: ["first", "third"] }, { "x-0g-provider-address": third });
  expect(pinned.x_0g_trace).toMatchObject({ model: "third", provider: third });
});

test("requests without fallback models are as before: their bytes are forwarded, and no model is in the trace", async () => {
  const answer = await answered({ model: "first", max_tokens: 9 });
  expect(answer.x_0g_trace).not.toHaveProperty("model");
  const sent = providers[0]?.callsOf("first")[0]?.bytes.toString();
  expect(sent).toBe(
    JSON.stringify({
      messages: [{ role: "user", content: "What is the sea?" }],
      model: "first",
      max_tokens: 9,
    }),
  );
  expect(answer.usage).toMatchObject(USAGE);
});

test("a preview lists the candidates of all models, in the order in which they are tried", async () => {
  const { origin } = router();
  type Preview = { providers: { model_id: string }[]; refused: { model: string; reason: string }[] };
  const { body } = await rest<Preview>(origin, "/v1/routing/preview", owner.secret, {
    body: { service_type: "chatbot", models: ["missing", "second", "first", "third"] },
  });
  expect(body.providers.map(({ model_id }) => model_id)).toEqual(["second", "first", "third"]);
  expect(body.refused).toMatchObject([{ model: "second", reason: "enough_candidates" }]);
  const query = `{ routingPreview(serviceType: CHATBOT, model: "second", routing: { fallbackModels: ["first", "third"] }) {
    providers { address } excluded { modelId reason } } }`;
  const { data } = await ask(origin, owner.secret, query);
  expect(data.routingPreview.providers).toHaveLength(3);
  expect(data.routingPreview.excluded).toEqual([{ modelId: "second", reason: "ENOUGH_CANDIDATES" }]);
});

test("fallback models in the graph, and the model in the bill", async () => {
  fail("first");
  const input = `{ model: "first", messages: [{ role: "user", content: "Hi" }], routing: { fallbackModels: ["second"] } }`;
  const { data } = await ask(
    router().origin,
    owner.secret,
    `mutation { completeChat(input: ${input}) { completion { bill { modelId cost { total } } } userErrors { code } } }`,
  );
  expect(data.completeChat).toEqual({
    completion: { bill: { modelId: "second", cost: { total: String(SECOND_COST) } } },
    userErrors: [],
  });
});

test.each([
  ["/v1/responses", { input: "hi" }, false],
  ["/v1/responses", { input: "hi", stream: true }, true],
])("%s falls back too, and names the model that answered (%j)", async (path, body, isStream) => {
  fail("first");
  const reply = await fetch(router().origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${owner.secret}` },
    body: JSON.stringify({ models: ["first", "second"], ...body }),
  });
  const text = await reply.text();
  expect(reply.status, text).toBe(200);
  const named = [...text.matchAll(/"model":"([^"]+)"/g)].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set(["second"]));
  expect(named.length).toBe(isStream ? 4 : 2);
  const sent = providers.flatMap(({ calls }) => calls.map(({ body: sentBody }) => sentBody));
  expect(sent.map((one) => (one as { model?: string }).model)).toEqual(["first", "inner-second"]);
  for (const one of sent) expect(one).not.toHaveProperty("models");
  await requireAvailable(router().app, owner, { available: BALANCE - SECOND_COST });
});

test("only chats have fallback models", async () => {
  const { status, body } = await rest<RestFailure>(router().origin, "/v1/embeddings", owner.secret, {
    body: { model: "first", input: "a sea" },
    headers: { "x-0g-provider-fallback-models": "second" },
  });
  expect([status, body.error.code]).toEqual([400, "invalid_parameter"]);
});

describe("a body with models, of a request that is no chat", () => {
  const image = new Blob([Buffer.from("\x89PNG", "latin1")]);
  const bodies: readonly (readonly [string, object])[] = [
    ["/v1/embeddings", { model: "first", input: "a sea" }],
    ["/v1/rerank", { model: "first", query: "a", documents: ["b"] }],
    ["/v1/audio/speech", { model: "first", input: "a sea", voice: "alloy" }],
    ["/v1/images/generations", { model: "first", prompt: "a sea" }],
    ["/v1/async/images/generations", { model: "first", prompt: "a sea", response_format: "b64_json" }],
    ["/v1/audio/transcriptions", { model: "first", file_base64: "UklGRg==" }],
  ];
  const refused = [400, "invalid_body", "models", "models: only a chat may fall back on another model"];

  test.each(bodies)("is refused by %s", async (path, body) => {
    for (const models of [["second"], [], "second"]) {
      const reply = await rest<RestFailure>(router().origin, path, owner.secret, {
        body: { ...body, models },
      });
      const { code, param, message } = reply.body.error;
      expect([reply.status, code, param, message]).toEqual(refused);
    }
    const without = await rest<RestFailure>(router().origin, path, owner.secret, {
      body: { ...body, models: null },
    });
    expect(without.body.error.param).not.toBe("models");
  });

  const forms = ["/v1/images/edits", "/v1/async/images/edits", "/v1/audio/transcriptions"];
  test.each(forms)("is refused by %s as a form", async (path) => {
    const form = new FormData();
    for (const [name, text] of Object.entries({ model: "first", prompt: "a sea", models: "second" }))
      form.set(name, text);
    form.set(path.includes("images") ? "image" : "file", image, "a.png");
    const reply = await fetch(router().origin + path, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.secret}` },
      body: form,
    });
    const { error } = (await reply.json()) as RestFailure;
    expect([reply.status, error.code, error.param, error.message]).toEqual(refused);
  });

  test("is refused in the graph by the path of the option", async () => {
    const query =
      'mutation { generateImages(input: { model: "first", prompt: "a sea", options: { models: ["second"] } }) { userErrors { field message } } }';
    const { data } = await ask(router().origin, owner.secret, query);
    expect(data.generateImages.userErrors).toEqual([
      { field: "options.models", message: "options.models: only a chat may fall back on another model" },
    ]);
  });
});
