import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { countTokens } from "../../src/inference/billing/tokens.ts";
import type { InferenceRequest } from "../../src/inference/requests/requests.service.ts";
import { balanceAtRest } from "../support/balance.ts";
import {
  breakOff,
  DONE,
  openStream,
  type Script,
  sendJson,
  trickle,
} from "../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../support/router.ts";
import type { Seeded } from "../support/seed.ts";
import { until } from "../support/until.ts";

const MODELS = ["whole", "breaks", "resumes", "left", "fails", "unstated"] as const;
const WORDS = ["The", " sea", " is", " wide"];
const TEXT = WORDS.join("");
const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const START = 10_000_000n;
const [CHEAP, OTHER] = PRICES;
const router = await useRouter({
  models: ["chat"],
  settings: { RESUME_STREAMS: "on" },
  more: (n) =>
    MODELS.map((id) => ({
      id,
      context_length: 100,
      supported_formats: ["completions"],
      pricing: { prompt: String(PRICES[n]?.prompt), completion: String(PRICES[n]?.completion) },
    })),
});

const HEAD = { id: "cmpl-1", object: "text_completion", created: 1, model: "theirs" };
const line = (choices: readonly object[], more: object = {}) =>
  `data: ${JSON.stringify({ ...HEAD, choices, ...more })}\n\n`;
const says = (text: string, index = 0) => line([{ index, text, logprobs: null, finish_reason: null }]);
const FINISH = line([{ index: 0, text: "", logprobs: null, finish_reason: "stop" }]);
const STATED = line([], { usage: USAGE });
const answer = (count: number, more: object = { usage: USAGE }) => ({
  ...HEAD,
  choices: Array.from({ length: count }, (_, index) => ({
    index,
    text: TEXT,
    logprobs: null,
    finish_reason: "stop",
  })),
  ...more,
});
const good: Script = ({ body }, response) => {
  if (body.stream)
    openStream(response).end([...WORDS.map((word) => says(word)), FINISH, STATED, DONE].join(""));
  else sendJson(response, 200, answer(Array.isArray(body.prompt) ? body.prompt.length : Number(body.n ?? 1)));
};
const costOf = ({ prompt, completion }: { prompt: bigint; completion: bigint }, input = 3, output = 4) =>
  BigInt(input) * prompt + BigInt(output) * completion;

function set(model: (typeof MODELS)[number], ...scripts: readonly Script[]): void {
  for (const [n, script] of scripts.entries()) router().scripted[n]?.scripts.set(model, script);
}

function post({ secret }: Seeded, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${router().origin}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ prompt: "The sea", ...body }),
    ...(signal && { signal }),
  });
}

const textOf = (raw: string) =>
  [...raw.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, data]) => JSON.parse(data ?? "").choices?.[0]?.text ?? "")
    .join("");

/** The only request of an account, ended, after checking that its ledger is consistent. */
async function requestOf({ account }: Seeded): Promise<InferenceRequest> {
  const { app } = router();
  const request = await until(async () => {
    const { rows } = await app.requests.list(account, { first: 10 });
    expect(rows).toHaveLength(1);
    return rows[0] !== undefined && rows[0].status !== "running" && rows[0];
  });
  const balance = await balanceAtRest(app, account);
  expect(balance).toMatchObject({ held: 0n, total: START - (request.cost?.total ?? 0n) });
  return request;
}

test("OpenAI's client gets a completion, whole and streamed, charged exactly", async () => {
  set("whole", good);
  const seeded = await router().seed();
  const client = new OpenAI({ apiKey: seeded.secret, baseURL: `${router().origin}/v1`, maxRetries: 0 });
  const fields = { model: "whole", prompt: "The sea", suffix: "!", max_tokens: 9 };
  const whole = await client.completions.create({ ...fields, n: 1 });
  expect(whole).toMatchObject({
    choices: [{ text: TEXT }],
    usage: USAGE,
    x_0g_trace: { billing: { total_cost: String(costOf(CHEAP)) } },
  });
  const sent = router().scripted[0]?.callsOf("whole").at(-1);
  expect(sent).toMatchObject({ path: "/v1/completions", body: { ...fields, n: 1 } });
  const options = { stream: true, stream_options: { include_usage: true } } as const;
  const chunks = await Array.fromAsync(await client.completions.create({ ...fields, ...options }));
  expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe(TEXT);
  expect(chunks.at(-1)).toMatchObject({ object: "text_completion", choices: [], usage: USAGE });
  const balance = await balanceAtRest(router().app, seeded.account);
  expect(balance?.available).toBe(START - 2n * costOf(CHEAP));
});

test("each prompt gets its answers, as long as the model's context each", async () => {
  const usage = { prompt_tokens: 150, completion_tokens: 8, total_tokens: 158 };
  set("whole", (_, response) => sendJson(response, 200, answer(2, { usage })));
  const seeded = await router().seed();
  const reply = await post(seeded, { model: "whole", prompt: [[1, 2], [3]] });
  expect(await reply.json()).toMatchObject({ usage, choices: [{ index: 0 }, { index: 1 }] });
  expect((await requestOf(seeded)).cost?.total).toBe(costOf(CHEAP, 150, 8));
});

test("an answer that lacks choices is another provider's to give, and 16 tokens are the default", async () => {
  set(
    "whole",
    (_, response) => sendJson(response, 200, answer(1)),
    (_, response) => sendJson(response, 200, answer(2)),
  );
  const seeded = await router().seed();
  expect((await post(seeded, { model: "whole", prompt: ["a", "b"] })).status).toBe(200);
  expect(router().scripted[1]?.callsOf("whole").at(-1)?.body).toMatchObject({ max_tokens: 16 });
  expect((await requestOf(seeded)).cost?.total).toBe(costOf(OTHER));
});

test("what a provider does not report is counted: prompt, suffix and answer", async () => {
  set("unstated", (_, response) => sendJson(response, 200, answer(1, {})));
  const seeded = await router().seed();
  const reply = await post(seeded, { model: "unstated", prompt: "The sea", suffix: " and shore" });
  const prompt_tokens = countTokens("The sea") + countTokens(" and shore");
  const completion_tokens = countTokens(TEXT);
  expect(await reply.json()).toMatchObject({ usage: { prompt_tokens, completion_tokens } });
  expect((await requestOf(seeded)).cost?.total).toBe(costOf(CHEAP, prompt_tokens, completion_tokens));
});

describe("a stream", () => {
  const cut: Script = async (_, response) => {
    openStream(response);
    await trickle(
      response,
      WORDS.slice(0, 2).map((word) => says(word)),
    );
    await breakOff(response);
  };
  const delivered = WORDS.slice(0, 2).join("");
  const deliveredCost = costOf(CHEAP, countTokens("The sea"), countTokens(delivered));

  test("that breaks is charged as delivered, and ends with an error", async () => {
    set("breaks", cut, (_, response) => sendJson(response, 400, { error: { message: "no" } }));
    const seeded = await router().seed();
    const raw = await (await post(seeded, { model: "breaks", stream: true })).text();
    expect([textOf(raw), raw.includes("upstream_error"), raw.includes("[DONE]")]).toEqual([
      delivered,
      true,
      false,
    ]);
    expect(await requestOf(seeded)).toMatchObject({ status: "failed", cost: { total: deliveredCost } });
  });

  test("that breaks is resumed by a provider that says the same", async () => {
    const whole: Script = (_, response) => {
      const pieces = [TEXT.slice(0, 5), TEXT.slice(5)].map((text) => says(text));
      openStream(response).end([...pieces, FINISH, STATED, DONE].join(""));
    };
    set("resumes", cut, whole);
    const seeded = await router().seed();
    const raw = await (await post(seeded, { model: "resumes", stream: true })).text();
    expect([textOf(raw), raw.endsWith(DONE)]).toEqual([TEXT, true]);
    expect((await requestOf(seeded)).cost?.total).toBe(costOf(OTHER));
  });

  test("whose client leaves is charged as delivered", async () => {
    set("left", async (_, response) => {
      openStream(response);
      await trickle(
        response,
        WORDS.slice(0, 2).map((word) => says(word)),
      );
    });
    const seeded = await router().seed();
    const leaving = new AbortController();
    const reply = await post(seeded, { model: "left", stream: true }, leaving.signal);
    const reader = reply.body?.getReader();
    let raw = "";
    while (textOf(raw) !== delivered) raw += Buffer.from((await reader?.read())?.value ?? []).toString();
    leaving.abort();
    expect(await requestOf(seeded)).toMatchObject({ status: "aborted", cost: { total: deliveredCost } });
  });
});

test.each([false, true])(
  "a completion that every provider failed costs nothing, with stream %s",
  async (stream) => {
    const down: Script = (_, response) => sendJson(response, 500, { error: { message: "down" } });
    set("fails", down, down);
    const seeded = await router().seed();
    expect((await post(seeded, { model: "fails", stream })).status).toBe(502);
    expect(await requestOf(seeded)).toMatchObject({ status: "failed", cost: { total: 0n } });
  },
);

test.each<[string, object]>([
  ["prompt", { prompt: [] }],
  ["prompt", { prompt: [1, "a"] }],
  ["prompt", { prompt: Array.from({ length: 129 }, () => "a") }],
  ["n", { prompt: ["a", "b"], n: 65 }],
  ["best_of", { best_of: 2 }],
  ["max_tokens", { max_tokens: -1 }],
  ["model", { model: "chat" }],
])("400 names %s, of %j", async (param, body) => {
  const seeded = await router().seed();
  const reply = await post(seeded, { model: "whole", ...body });
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { code: "invalid_body", param } }]);
});
