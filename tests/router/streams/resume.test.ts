// @module-tag large
import { expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { countPromptTokens, countTokens } from "../../../src/inference/billing/tokens.ts";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { balanceAtRest } from "../../support/balance.ts";
import {
  breakOff,
  DONE,
  event,
  FINISH,
  openStream,
  ROLE,
  type Script,
  sendJson,
  trickle,
} from "../../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../../support/router.ts";
import type { Seeded } from "../../support/seed.ts";
import { until } from "../../support/until.ts";

/** Sixty words, as in fault s08 of scenarios.test.ts. */
const WORDS = Array.from({ length: 60 }, (_, n) => ` w${n}`);
const TEXT = WORDS.join("");
const USAGE = { prompt_tokens: 9, completion_tokens: 240, total_tokens: 249 };
const QUESTION = [{ role: "user", content: "What is the sea?" }];
const PROMPT = countPromptTokens(QUESTION);

const says = (text: string) => event({ delta: { content: text } });
const usage = event(undefined, { usage: USAGE });
const cutAfter =
  (count: number, of: readonly string[] = WORDS): Script =>
  async (_, response) => {
    openStream(response);
    await trickle(response, [ROLE, ...of.slice(0, count).map(says)]);
    await breakOff(response);
  };
/** The whole answer, in pieces of seven characters. */
const whole: Script = (_, response) => {
  const pieces = TEXT.match(/.{1,7}/gs) ?? [];
  openStream(response).end([ROLE, ...pieces.map(says), FINISH, usage, DONE].join(""));
};

const MODELS = [
  "s08",
  "thrice",
  "other",
  "shorter",
  "refused",
  "tools",
  "leaving",
  "alone",
  "usage",
] as const;
const CLAUDE = {
  id: "claude",
  supported_formats: ["openai", "anthropic"],
  pricing: { prompt: "2", completion: "3" },
};
const router = await useRouter({
  models: MODELS,
  count: 3,
  more: () => [CLAUDE],
  settings: { RESUME_STREAMS: "on" },
});

function set(model: string, ...scripts: readonly Script[]): void {
  for (const [n, script] of scripts.entries()) router().scripted[n]?.scripts.set(model, script);
}

const callsOf = (model: string) => router().scripted.map((provider) => provider.callsOf(model).length);

type ReadStream = { readonly raw: string; readonly text: string; readonly isWhole: boolean };

async function readStream(reply: Response): Promise<ReadStream> {
  expect(reply.status).toBe(200);
  const raw = await reply.text();
  const chunks = [...raw.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ""));
  const text = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? "").join("");
  return { raw, text, isWhole: raw.endsWith(DONE) };
}

const ask = (seeded: Seeded, model: string, more: object = {}, headers: Record<string, string> = {}) =>
  router().chat(seeded, { model, stream: true, max_tokens: 500, messages: QUESTION, ...more }, headers);

/** The only request of an account, ended, after checking that its ledger is consistent. */
async function requestOf({ account }: Seeded): Promise<InferenceRequest> {
  const { app } = router();
  const request = await until(async () => {
    const { rows } = await app.requests.list(account, { first: 10 });
    expect(rows).toHaveLength(1);
    return rows[0] !== undefined && rows[0].status !== "running" && rows[0];
  });
  const balance = await balanceAtRest(app, account);
  expect(balance).toMatchObject({ held: 0n, total: 10_000_000n - (request.cost?.total ?? 0n) });
  return request;
}

const outcomes = ({ routing }: InferenceRequest) =>
  routing?.attempts.map(({ outcome, reason }) => reason ?? outcome);
const counted = (text: string, { prompt, completion }: (typeof PRICES)[number]) =>
  BigInt(PROMPT) * prompt + BigInt(countTokens(text)) * completion;

test("S08: a stream that breaks after 40 of 60 tokens is resumed by the next provider if it says the same: pass", async () => {
  set("s08", cutAfter(40), whole);
  const seeded = await router().seed();
  const { text, raw, isWhole } = await readStream(await ask(seeded, "s08"));
  expect([text, isWhole]).toEqual([TEXT, true]);
  expect(raw.match(/"role":"assistant"/g)).toHaveLength(1);
  expect(raw.match(/\[DONE\]/g)).toHaveLength(1);
  expect(raw).not.toContain('"error"');
  expect(callsOf("s08")).toEqual([1, 1, 0]);
  const request = await requestOf(seeded);
  expect(request).toMatchObject({ status: "completed", outputTokens: 240, usageEstimated: false });
  expect(outcomes(request)).toEqual(["unreachable", "answered"]);
  expect(request.provider).toBe(request.routing?.attempts[1]?.provider);
  expect(request.cost?.total).toBe(9n * PRICES[1].prompt + 240n * PRICES[1].completion);
});

test("a third provider resumes where the second one broke", async () => {
  set("thrice", cutAfter(20), cutAfter(45), whole);
  const seeded = await router().seed();
  const { text, isWhole } = await readStream(await ask(seeded, "thrice"));
  expect([text, isWhole]).toEqual([TEXT, true]);
  expect(callsOf("thrice")).toEqual([1, 1, 1]);
  const request = await requestOf(seeded);
  expect(outcomes(request)).toEqual(["unreachable", "unreachable", "answered"]);
  expect(request.cost?.total).toBe(9n * PRICES[2].prompt + 240n * PRICES[2].completion);
});

const given = WORDS.slice(0, 40).join("");

test.each<[string, (typeof MODELS)[number], Script, string]>([
  [
    "says something else",
    "other",
    (_, response) =>
      void openStream(response).end([ROLE, says(given.slice(0, 50)), says("and now"), FINISH, DONE].join("")),
    "differs",
  ],
  [
    "says less",
    "shorter",
    (_, response) => void openStream(response).end([ROLE, says(given.slice(0, 50)), FINISH, DONE].join("")),
    "differs",
  ],
  [
    "refuses the request",
    "refused",
    (_, response) => sendJson(response, 400, { error: { message: "prefill is not supported" } }),
    "failed",
  ],
])(
  "when the next provider %s, the stream ends with an error event, and the delivered part is charged at the price of its provider",
  async (_what, model, script, reason) => {
    set(model, cutAfter(40), script);
    const seeded = await router().seed();
    const { text, raw, isWhole } = await readStream(await ask(seeded, model));
    expect([text, isWhole]).toEqual([given, false]);
    expect(raw).toMatch(/data: \{"error":\{.*"code":"upstream_error".*\}\n\n$/);
    expect(raw).not.toContain("prefill");
    expect(callsOf(model)).toEqual([1, 1, 0]);
    const request = await requestOf(seeded);
    expect(request).toMatchObject({ status: "failed", errorCode: "provider_error", usageEstimated: true });
    expect(outcomes(request)).toEqual(["unreachable", reason]);
    expect(request.provider).toBe(request.routing?.attempts[0]?.provider);
    expect(request.cost?.total).toBe(counted(given, PRICES[0]));
  },
);

test("content that cannot be repeated, such as a tool call, is not requested again", async () => {
  const call = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "{" } };
  set("tools", async (_, response) => {
    openStream(response);
    await trickle(response, [ROLE, event({ delta: { tool_calls: [call] } })]);
    await breakOff(response);
  });
  const seeded = await router().seed();
  const { isWhole, raw } = await readStream(await ask(seeded, "tools"));
  expect([isWhole, raw.includes("upstream_error")]).toEqual([false, true]);
  expect(callsOf("tools")).toEqual([1, 0, 0]);
  expect(outcomes(await requestOf(seeded))).toEqual(["unreachable"]);
});

test("a client that disconnects while the next provider repeats pays once for what it received", async () => {
  const gone = Promise.withResolvers<void>();
  set("leaving", cutAfter(40), async (_, response) => {
    response.once("close", () => gone.resolve());
    openStream(response).write(ROLE);
    for (const word of WORDS.slice(0, 10)) await trickle(response, [says(word)]);
  });
  const seeded = await router().seed();
  const leaving = new AbortController();
  const reply = await fetch(`${router().origin}/v1/chat/completions`, {
    method: "POST",
    signal: leaving.signal,
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({ model: "leaving", stream: true, max_tokens: 500, messages: QUESTION }),
  });
  expect(reply.status).toBe(200);
  await until(() => callsOf("leaving")[1] === 1);
  leaving.abort();
  await gone.promise;
  const request = await requestOf(seeded);
  expect(request.status).toBe("aborted");
  expect(request.cost?.total).toBe(counted(given, PRICES[0]));
  expect(callsOf("leaving")).toEqual([1, 1, 0]);
});

test("without fallbacks the same provider resumes where it broke", async () => {
  set("alone", (call, response, n) => (n === 0 ? cutAfter(40) : whole)(call, response, n));
  const seeded = await router().seed();
  const { text, isWhole } = await readStream(
    await ask(seeded, "alone", {}, { "x-0g-provider-allow-fallbacks": "false" }),
  );
  expect([text, isWhole]).toEqual([TEXT, true]);
  expect(callsOf("alone")).toEqual([2, 0, 0]);
  expect((await requestOf(seeded)).cost?.total).toBe(9n * PRICES[0].prompt + 240n * PRICES[0].completion);
});

test("the usage chunk and the bill of a resumed stream are those of the provider that finished it", async () => {
  set("usage", cutAfter(40), whole);
  const seeded = await router().seed();
  const { raw } = await readStream(await ask(seeded, "usage", { stream_options: { include_usage: true } }));
  const last = JSON.parse(/^data: (\{.*"usage".*\})$/m.exec(raw)?.[1] ?? "{}");
  const request = await requestOf(seeded);
  expect(last.usage).toMatchObject(USAGE);
  expect(last.x_0g_trace).toMatchObject({
    provider: request.provider,
    billing: { total_cost: String(request.cost?.total) },
  });
});

test("a message in Anthropic's format is resumed likewise, each event once", async () => {
  const line = (value: { type: string }) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
  const words = (text: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text },
  });
  const begin = [
    { type: "message_start", message: { id: "msg_1", usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ];
  const end = [
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 240 } },
    { type: "message_stop" },
  ];
  set(
    CLAUDE.id,
    async (_, response) => {
      openStream(response);
      await trickle(response, [...begin, ...WORDS.slice(0, 40).map(words)].map(line));
      await breakOff(response);
    },
    (_, response) =>
      void openStream(response).end(
        [...begin, words(TEXT.slice(0, 200)), words(TEXT.slice(200)), ...end].map(line).join(""),
      ),
  );
  const seeded = await router().seed();
  const reply = await fetch(`${router().origin}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({ model: CLAUDE.id, stream: true, max_tokens: 500, messages: QUESTION }),
  });
  const raw = await reply.text();
  const fragments = [...raw.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ""));
  expect(fragments.map((fields) => fields.delta?.text ?? "").join("")).toBe(TEXT);
  const names = fragments.map(({ type }) => type).filter((type) => type !== "content_block_delta");
  expect(names).toEqual([...begin, ...end].map(({ type }) => type));
  expect((await requestOf(seeded)).cost?.total).toBe(9n * 2n + 240n * 3n);
});

test("in the end the ledger is consistent and no hold is open", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});
