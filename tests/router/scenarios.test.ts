// @module-tag large
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import {
  breakOff,
  completion,
  DONE,
  event,
  events,
  FINISH,
  openStream,
  ROLE,
  type Script,
  sendJson,
  trickle,
  USAGE,
  USAGE_CHUNK,
} from "../support/inference/scripted-provider.ts";
import { PRICES, useRouter } from "../support/router.ts";
import { until } from "../support/until.ts";

/**
 * The sixteen provider faults of a public benchmark, each for a stream and for a whole answer. All settings
 * are the defaults; times are a tenth of theirs. `pass` is the whole answer with every check of conduct,
 * `safe` a bounded and clean error, `fail` everything else.
 */
const TENTH = {
  PROVIDER_FIRST_BYTE_MS: "6000",
  PROVIDER_FIRST_TOKEN_MS: "1000",
  PROVIDER_SILENCE_MS: "6000",
  PROVIDER_TOTAL_MS: "60000",
  PROVIDER_COOL_DOWN_MS: "500",
} as const;

const MODES = ["stream", "whole"] as const;
type Mode = (typeof MODES)[number];
type Score = "pass" | "safe" | "fail";
type Outcome = {
  readonly status: number;
  readonly text: string;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly model: string | undefined;
  readonly usage: unknown;
  readonly provider: string | undefined;
  readonly tookMs: number;
  /** Whether the answer was complete with its end marker. */
  readonly isWhole: boolean;
};

const WORDS = Array.from({ length: 60 }, (_, n) => ` w${n}`);
const TEXT = WORDS.join("");
const LONG = WORDS.map((content) => event({ delta: { content } }));
const COMPLETION = completion({
  choices: [{ index: 0, message: { role: "assistant", content: TEXT }, finish_reason: "stop" }],
});
const BYTES = JSON.stringify(COMPLETION);
const JSON_TYPE = { "content-type": "application/json" };

/** A healthy provider: all of them give the same answer. */
const sound: Script = (call, response) => {
  if (!call.body.stream) sendJson(response, 200, COMPLETION);
  else openStream(response).end(events(WORDS).join(""));
};
const busy: Script = (_, response) => sendJson(response, 429, { error: { message: "slow down" } });
const down: Script = (_, response) => sendJson(response, 503, { error: { message: "down" } });
const once =
  (bad: Script): Script =>
  (call, response, n) =>
    (n === 0 ? bad : sound)(call, response, n);
const either =
  (stream: Script, whole: Script): Script =>
  (call, response, n) =>
    (call.body.stream ? stream : whole)(call, response, n);
/** Sends the first `words` of an answer, or the same share of its bytes, and then does what `then` does. */
const cutAfter = (words: number, then: (response: Parameters<Script>[1]) => Promise<void>): Script =>
  either(
    async (_, response) => {
      openStream(response);
      await trickle(response, [ROLE, ...LONG.slice(0, words)]);
      await then(response);
    },
    async (_, response) => {
      response.writeHead(200, { ...JSON_TYPE, "content-length": BYTES.length });
      await trickle(response, [BYTES.slice(0, (BYTES.length * words) / WORDS.length)]);
      await then(response);
    },
  );

type Fault = {
  readonly fault: string;
  readonly first: Script;
  readonly second?: Script;
  /** The checks of conduct; `attempts` are the times of all of them. */
  conduct?(outcome: Outcome, attempts: readonly number[], mode: Mode): boolean;
  /** The error code that is expected in place of an answer. */
  readonly expectedCode?: string;
  /** Whether the same provider must answer another request at once. */
  readonly alive?: boolean;
};

const SECOND_CONTEXT = 131_072;
const FAULTS: Readonly<Record<string, Fault>> = {
  s01: {
    fault: "429 with Retry-After, then fine",
    first: once((_, response) => sendJson(response, 429, {}, { "retry-after": "2" })),
    conduct: (_, attempts) => within(attempts, 1_500) <= 2,
  },
  s02: {
    fault: "429 for ever",
    first: busy,
    conduct: (_, attempts) => within(attempts, 3_000) <= 4 && attempts.length <= 6,
  },
  s03: { fault: "one 500, then fine", first: once((_, response) => sendJson(response, 500, {})) },
  s04: { fault: "503 for ever", first: down, conduct: (_, attempts) => attempts.length <= 6 },
  s05: {
    fault: "reset before the headers, then fine",
    first: once((_, response) => void response.socket?.resetAndDestroy()),
  },
  s06: {
    fault: "accepts and never answers",
    first: () => {},
    conduct: ({ tookMs }, attempts) => attempts.length === 2 && tookMs < 10_000,
  },
  s07: {
    fault: "headers at once, the first token late",
    first: either(
      async (_, response) => {
        openStream(response).flushHeaders();
        await sleep(2_000);
        response.end(events(WORDS).join(""));
      },
      async (_, response) => {
        response.writeHead(200, JSON_TYPE).flushHeaders();
        await sleep(2_000);
        response.end(BYTES);
      },
    ),
    conduct: ({ tookMs }) => tookMs <= 1_500,
  },
  s08: { fault: "cut after 40 of 60 tokens", first: cutAfter(40, breakOff) },
  s09: {
    fault: "silent after 20 tokens, then closed",
    first: once(
      cutAfter(20, async (response) => {
        await sleep(3_000);
        response.destroy();
      }),
    ),
    conduct: ({ tookMs }) => tookMs <= 4_500,
    alive: true,
  },
  s10: {
    fault: "broken JSON",
    first: once(
      either(
        (_, response) => {
          const broken = [...LONG.slice(0, 8), 'data: {"choices":[{"delta":{"con\n\n', ...LONG.slice(9)];
          openStream(response).end([ROLE, ...broken, FINISH, DONE].join(""));
        },
        (_, response) =>
          void response.writeHead(200, JSON_TYPE).end(BYTES.replace('"choices":[', '"choices":')),
      ),
    ),
    alive: true,
  },
  s11: {
    fault: "whole without [DONE], or without a length",
    first: either(
      (_, response) => void openStream(response).write([ROLE, ...LONG, FINISH, USAGE_CHUNK].join("")),
      async (_, response) => {
        response.writeHead(200, JSON_TYPE);
        await trickle(response, [BYTES.slice(0, 100), BYTES.slice(100)]);
        response.end();
      },
    ),
    conduct: ({ tookMs, usage }, attempts) => tookMs <= 8_000 && attempts.length === 1 && isReported(usage),
  },
  s12: {
    fault: "400 context_length_exceeded, and another provider has a longer context",
    first: (_, response) =>
      sendJson(response, 400, { error: { message: "too long", code: "context_length_exceeded" } }),
    conduct: (_, attempts) => attempts.length === 2,
  },
  s12b: {
    fault: "400 context_length_exceeded, and no provider has a longer one",
    first: (_, response) =>
      sendJson(response, 400, { error: { message: "because of that", code: "context_length_exceeded" } }),
    conduct: ({ message = "" }, attempts) => attempts.length === 1 && message.includes("because of that"),
    expectedCode: "context_length_exceeded",
  },
  s13: {
    fault: "400 content_policy_violation",
    first: (_, response) =>
      sendJson(response, 400, { error: { message: "because of that", code: "content_policy_violation" } }),
    conduct: ({ message = "" }, attempts) => attempts.length === 1 && message.includes("because of that"),
    expectedCode: "content_policy_violation",
  },
  s14: {
    fault: "cut, and the other provider refuses a prefill",
    first: cutAfter(40, breakOff),
    second: (call, response, n) => {
      const messages = call.body.messages as readonly { readonly role: string }[];
      if (messages.at(-1)?.role !== "assistant") return sound(call, response, n);
      sendJson(response, 400, { error: { message: "prefill is not supported" } });
    },
  },
  s16: {
    fault: "503 for ever, and another provider answers",
    first: down,
    conduct: ({ usage, model }, attempts) =>
      attempts.length === 2 && model !== undefined && isReported(usage),
  },
};

/** Whether a usage is the provider's, with the cost that the router adds. */
function isReported(usage: unknown): boolean {
  const { cost, ...reported } = Object(usage) as { readonly cost?: unknown };
  return typeof cost === "number" && JSON.stringify(reported) === JSON.stringify(USAGE);
}

const nameOf = (id: string, mode: Mode) => `${id}-${mode}`;
const IDS = [...Object.keys(FAULTS), "s15"];
const NAMES = IDS.filter((id) => id !== "s12").flatMap((id) => MODES.map((mode) => nameOf(id, mode)));
const ALONE = Array.from({ length: 10 }, (_, n) => `alone-${n}`);

const router = await useRouter({
  models: [...NAMES, ...ALONE, ...MODES.map((mode) => nameOf("pause", mode))],
  more: (n) =>
    MODES.map((mode) => ({
      id: nameOf("s12", mode),
      context_length: n === 0 ? 4_096 : SECOND_CONTEXT,
      pricing: { prompt: String(PRICES[n]?.prompt), completion: String(PRICES[n]?.completion) },
    })),
  settings: TENTH,
});
const scores = new Map<string, { score: Score; note: string }>();

async function ask(name: string, mode: Mode, headers: Record<string, string> = {}): Promise<Outcome> {
  const { chat, seed } = router();
  const seeded = await seed();
  const startedMs = performance.now();
  const stream = mode === "stream";
  const options = stream && { stream_options: { include_usage: true } };
  const reply = await chat(seeded, { model: name, max_tokens: 100, stream, ...options }, headers);
  const body = await reply.text();
  const { status } = reply;
  const isStream = stream && status === 200;
  const parts = isStream
    ? [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ""))
    : [JSON.parse(body)];
  const error = parts.find((part) => part.error)?.error;
  const choices = parts.map((part) => part.choices?.[0]);
  return {
    status,
    text: choices.map((choice) => (choice?.delta ?? choice?.message)?.content ?? "").join(""),
    code: error?.code,
    message: error?.message,
    model: parts[0]?.model,
    usage: parts.at(-1)?.usage,
    provider: parts.at(-1)?.x_0g_trace?.provider,
    tookMs: performance.now() - startedMs,
    isWhole: !error && (isStream ? body.endsWith(DONE) : status === 200),
  };
}

function set(name: string, first: Script, second: Script = sound): void {
  for (const [n, script] of [first, second].entries()) router().scripted[n]?.scripts.set(name, script);
}

function attemptsOf(name: string): readonly number[] {
  return router()
    .scripted.flatMap((provider) => provider.callsOf(name))
    .map(({ atMs }) => atMs)
    .toSorted((a, b) => a - b);
}

function within(times: readonly number[], ms: number): number {
  const [first = 0] = times;
  return times.filter((at) => at - first <= ms).length;
}

function judge(
  name: string,
  outcome: Outcome,
  { isGood, expectedCode }: { isGood: boolean; expectedCode?: string | undefined },
): void {
  const { status, code, tookMs, isWhole, text } = outcome;
  const isAnswered = expectedCode === undefined ? isWhole && text === TEXT : code === expectedCode;
  const isClean = !isWhole && code !== undefined;
  const score = isGood && isAnswered ? "pass" : isGood && isClean ? "safe" : "fail";
  const note = `${status} ${code ?? ""} ${Math.round(tookMs)} ms, ${attemptsOf(name).length} attempts`;
  scores.set(name, { score, note });
  expect({ score, note }).toEqual({ score: "pass", note });
}

describe.each(MODES)("%s", (mode) => {
  test.each(Object.entries(FAULTS).map(([id, fault]) => ({ id, ...fault })))(
    "$id: $fault",
    async ({ id, first, second, conduct, expectedCode, alive }) => {
      const name = nameOf(id, mode);
      set(name, first, second);
      const outcome = await ask(name, mode);
      const isGood = conduct?.(outcome, attemptsOf(name), mode) ?? true;
      const isAlive = !alive || (await ask(name, mode)).text === TEXT;
      judge(name, outcome, { isGood: isGood && isAlive, expectedCode });
    },
  );

  test("s15: down for a while, then healthy: the circuit opens, others serve, a probe closes it", async () => {
    const name = nameOf("s15", mode);
    set(name, down);
    const [first] = router().scripted;
    const calls = () => first?.callsOf(name).length ?? 0;
    const answers: Outcome[] = [];
    const askUntil = async (isDone: () => boolean) => {
      while (!isDone()) {
        answers.push(await ask(name, mode));
        await sleep(400);
      }
    };
    const recoverAtMs = performance.now() + 6_000;
    await askUntil(() => performance.now() >= recoverAtMs);
    const whileDown = calls();
    expect(whileDown).toBeLessThan(answers.length);
    first?.scripts.set(name, sound);
    const recoveredMs = performance.now();
    await askUntil(() => calls() > whileDown || performance.now() - recoveredMs > 4_000);
    const [last] = answers.slice(-1);
    const isGood = answers.every(({ text }) => text === TEXT) && performance.now() - recoveredMs <= 3_000;
    if (last) judge(name, last, { isGood });
  });

  test("s16: failed attempts cost nothing, and the provider that answered is charged", async () => {
    const { app, chat, seed } = router();
    const seeded = await seed();
    const name = nameOf("s16", mode);
    set(name, down);
    await (await chat(seeded, { model: name, max_tokens: 100, stream: mode === "stream" })).text();
    const { rows } = await app.requests.list(seeded.account, { first: 10 });
    const [, price] = PRICES;
    const due =
      BigInt(USAGE.prompt_tokens) * price.prompt + BigInt(USAGE.completion_tokens) * price.completion;
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      status: "completed",
      inputTokens: 9,
      outputTokens: 8,
      cost: { total: due },
    });
  });
});

const PASSING = [
  {
    fault: "429 with Retry-After, then fine",
    script: once((_, response) => sendJson(response, 429, {}, { "retry-after": "1" })),
    expectedStatus: 200,
    leastPauseMs: 950,
  },
  {
    fault: "one 500, then fine",
    script: once((_, response) => sendJson(response, 500, {})),
    expectedStatus: 200,
  },
  {
    fault: "one reset, then fine",
    script: once((_, response) => void response.socket?.resetAndDestroy()),
    expectedStatus: 200,
  },
  { fault: "503 for ever", script: down, expectedStatus: 502 },
  { fault: "429 for ever", script: busy, expectedStatus: 503 },
].flatMap((row, n) => MODES.map((mode, m) => ({ ...row, mode, name: ALONE[2 * n + m] ?? "" })));

test.each(PASSING)(
  "$mode: $fault, without fallbacks: the same provider is retried, at most three times",
  async ({ name, mode, script, expectedStatus, leastPauseMs = 100 }) => {
    set(name, script);
    const [first, second] = router().scripted;
    const outcome = await ask(name, mode, { "x-0g-provider-allow-fallbacks": "false" });
    expect(outcome.status).toBe(expectedStatus);
    expect(second?.callsOf(name)).toHaveLength(0);
    const calls = (first?.callsOf(name) ?? []).map(({ atMs }) => atMs);
    expect(calls).toHaveLength(expectedStatus === 200 ? 2 : 3);
    const pauses = calls.slice(1).map((at, n) => at - (calls[n] ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(leastPauseMs);
    if (pauses[1] !== undefined) expect(pauses[1]).toBeGreaterThanOrEqual(200);
  },
);

test.each(MODES)(
  "%s: a pinned provider that sent Retry-After is not called before it is over",
  async (mode) => {
    const name = nameOf("pause", mode);
    set(
      name,
      once((_, response) => sendJson(response, 429, {}, { "retry-after": "2" })),
    );
    const { app } = router();
    const [provider] = app.catalogue.model(name, "chatbot")?.providers ?? [];
    if (!provider) throw new Error("nobody offers the model");
    const pin = { "x-0g-provider-address": provider.address };
    const both = await Promise.all([
      ask(name, mode, pin),
      until(() => app.health.of(provider).isResting).then(() => ask(name, mode, pin)),
    ]);
    expect(both.map(({ text }) => text)).toEqual([TEXT, TEXT]);
    const [refusedAtMs = 0, ...later] = attemptsOf(name);
    expect(later).toHaveLength(2);
    for (const atMs of later) expect(atMs - refusedAtMs).toBeGreaterThanOrEqual(1_900);
  },
);

test("the score: all pass", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
  for (const mode of MODES) {
    const passed = IDS.filter((id) => scores.get(nameOf(id, mode))?.score === "pass");
    expect([mode, passed]).toEqual([mode, IDS]);
  }
});

afterAll(() => {
  const lines = IDS.flatMap((id) => MODES.map((mode) => nameOf(id, mode))).map((name) => {
    const { score, note } = scores.get(name) ?? { score: "fail", note: "not run" };
    return `  ${name.padEnd(12)}  ${score.padEnd(5)}  ${note}`;
  });
  process.stdout.write(`provider faults\n${lines.join("\n")}\n`);
});
