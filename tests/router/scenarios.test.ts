import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { PRICES, useRouter } from "../support/router.ts";
import {
  breakOff,
  type completion,
  DONE,
  event,
  FINISH,
  good,
  openStream,
  ROLE,
  type Script,
  type ScriptedProvider,
  sendJson,
  TEXT,
  trickle,
  USAGE,
  USAGE_CHUNK,
} from "../support/scripted-provider.ts";

/**
 * The sixteen provider faults of facts/promises.md 4, with times and deadlines a tenth of what they are. `pass` is the
 * whole answer with every check of conduct, `partial` with an advisory one missed, `safe` a bounded and clean error.
 */
const TENTH = {
  PROVIDER_FIRST_BYTE_MS: "6000",
  PROVIDER_FIRST_TOKEN_MS: "1000",
  PROVIDER_SILENCE_MS: "6000",
  PROVIDER_TOTAL_MS: "60000",
  PROVIDER_COOL_DOWN_MS: "500",
} as const;

type Score = "pass" | "partial" | "safe" | "fail";
type Outcome = {
  readonly status: number;
  readonly text: string;
  readonly code: string | undefined;
  readonly tookMs: number;
  /** Whether the end of the answer was told as such. */
  readonly isWhole: boolean;
};

const LONG = Array.from({ length: 60 }, (_, n) => event({ delta: { content: ` w${n}` } }));
const LONG_TEXT = Array.from({ length: 60 }, (_, n) => ` w${n}`).join("");
const NAMES = Array.from({ length: 16 }, (_, n) => `s${String(n + 1).padStart(2, "0")}`);
const ALONE = Array.from({ length: 5 }, (_, n) => `alone-${n}`);

const router = await useRouter({ models: [...NAMES, ...ALONE], settings: TENTH });
const scores = new Map<string, { score: Score; note: string }>();

const busy: Script = (_, response) => sendJson(response, 429, { error: { message: "slow down" } });
const down: Script = (_, response) => sendJson(response, 503, { error: { message: "down" } });
const once =
  (bad: Script): Script =>
  (call, response, n) =>
    (n === 0 ? bad : good)(call, response, n);

async function ask(name: string, stream = true, headers: Record<string, string> = {}): Promise<Outcome> {
  const { chat, seed } = router();
  const seeded = await seed();
  const startedMs = performance.now();
  const reply = await chat(
    seeded,
    { model: name, max_tokens: 100, stream, ...(stream && { stream_options: { include_usage: true } }) },
    headers,
  );
  const body = await reply.text();
  const tookMs = performance.now() - startedMs;
  if (!stream || reply.status !== 200) {
    const answer = JSON.parse(body);
    const text = answer.choices?.[0]?.message.content ?? "";
    return { status: reply.status, text, code: answer.error?.code, tookMs, isWhole: reply.status === 200 };
  }
  const chunks = [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ""));
  const text = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? "").join("");
  const code = chunks.find((chunk) => chunk.error)?.error.code;
  return { status: 200, text, code, tookMs, isWhole: body.endsWith(DONE) && code === undefined };
}

function set(name: string, script: Script): readonly [ScriptedProvider, ScriptedProvider] {
  const [first, second] = router().scripted;
  if (!first || !second) throw new Error("two providers are needed");
  first.scripts.set(name, script);
  return [first, second];
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
  given: { text?: string; ok?: boolean; advisory?: boolean },
): void {
  const { text = TEXT, ok = true, advisory = true } = given;
  const note = `${outcome.status} ${outcome.code ?? ""} ${Math.round(outcome.tookMs)} ms, ${attemptsOf(name).length} attempts`;
  const isCutAsWhole = outcome.isWhole && outcome.text !== text;
  const score: Score =
    !ok || isCutAsWhole
      ? "fail"
      : outcome.isWhole
        ? advisory
          ? "pass"
          : "partial"
        : outcome.code
          ? "safe"
          : "fail";
  scores.set(name, { score, note });
  expect(score).not.toBe("fail");
}

test("S01: 429 with Retry-After, then fine", async () => {
  const script: Script = (call, response, n) =>
    n === 0 ? sendJson(response, 429, {}, { "retry-after": "2" }) : good(call, response, n);
  set("s01", script);
  const outcome = await ask("s01");
  judge("s01", outcome, { ok: within(attemptsOf("s01"), 1_500) <= 2 });
});

test("S02: 429 for ever", async () => {
  set("s02", busy);
  const outcome = await ask("s02");
  judge("s02", outcome, { ok: within(attemptsOf("s02"), 3_000) <= 4 && attemptsOf("s02").length <= 6 });
});

test("S03: one 500, then fine", async () => {
  set(
    "s03",
    once((_, response) => sendJson(response, 500, { error: "oops" })),
  );
  judge("s03", await ask("s03"), {});
});

test("S04: 503 for ever", async () => {
  set("s04", down);
  judge("s04", await ask("s04"), { ok: attemptsOf("s04").length <= 6 });
});

test("S05: the connection is reset before the headers, then fine", async () => {
  set(
    "s05",
    once((_, response) => void response.socket?.resetAndDestroy()),
  );
  judge("s05", await ask("s05", false), {});
});

test("S06: accepts and never answers", async () => {
  const [first] = set("s06", () => {});
  const outcome = await ask("s06", false);
  judge("s06", outcome, { ok: first.callsOf("s06").length === 1 && outcome.tookMs < 10_000 });
});

test("S07: headers at once, the first token late", async () => {
  const script: Script = async (_, response) => {
    openStream(response).flushHeaders();
    await sleep(2_000);
    if (!response.destroyed) response.end([ROLE, ...LONG, FINISH, DONE].join(""));
  };
  set("s07", script);
  const outcome = await ask("s07");
  judge("s07", outcome, { ok: outcome.tookMs <= 1_500 + 500 });
});

test("S08: the stream dies after 40 of 60 tokens", async () => {
  const script: Script = async (_, response) => {
    openStream(response);
    await trickle(response, [ROLE, ...LONG.slice(0, 40)]);
    await breakOff(response);
  };
  set("s08", script);
  judge("s08", await ask("s08"), { text: LONG_TEXT });
});

test("S09: the stream is silent for a while after 20 tokens", async () => {
  const script: Script = async (_, response) => {
    openStream(response);
    await trickle(response, [ROLE, ...LONG.slice(0, 20)]);
    await sleep(3_000);
    response.end([...LONG.slice(20), FINISH, USAGE_CHUNK, DONE].join(""));
  };
  const [first] = set("s09", script);
  const outcome = await ask("s09");
  first.scripts.delete("s09");
  const next = await ask("s09");
  judge("s09", outcome, { text: LONG_TEXT, ok: outcome.tookMs <= 4_500 && next.isWhole });
});

test("S10: the tenth event is broken JSON", async () => {
  const script: Script = (_, response) => {
    const broken = [
      ROLE,
      ...LONG.slice(0, 8),
      'data: {"choices":[{"delta":{"con\n\n',
      ...LONG.slice(9),
      FINISH,
      DONE,
    ];
    openStream(response).end(broken.join(""));
  };
  const [first] = set("s10", script);
  const outcome = await ask("s10");
  first.scripts.delete("s10");
  judge("s10", outcome, { text: LONG_TEXT, ok: (await ask("s10")).isWhole });
});

test("S11: a whole stream without [DONE], and the line stays open", async () => {
  const script: Script = (_, response) =>
    void openStream(response).write([ROLE, ...LONG, FINISH, USAGE_CHUNK].join(""));
  set("s11", script);
  const outcome = await ask("s11");
  judge("s11", outcome, { text: LONG_TEXT, ok: outcome.tookMs <= 8_000 });
});

test.each([
  ["s12", "context_length_exceeded"],
  ["s13", "content_policy_violation"],
])("%s: 400 %s is one attempt, and its reason is passed on", async (name, code) => {
  set(name, (_, response) => sendJson(response, 400, { error: { message: "because of that", code } }));
  const outcome = await ask(name);
  expect([outcome.status, outcome.code, attemptsOf(name).length]).toEqual([400, code, 1]);
  // The reason is the whole answer that is owed here.
  judge(name, { ...outcome, isWhole: true, text: TEXT }, {});
});

test("S14: a cut stream, and a fallback that refuses an assistant's beginning", async () => {
  const script: Script = async (_, response) => {
    openStream(response);
    await trickle(response, [ROLE, ...LONG.slice(0, 20)]);
    await breakOff(response);
  };
  const [, second] = set("s14", script);
  second.scripts.set("s14", (_, response) =>
    sendJson(response, 400, { error: { message: "prefill is not supported" } }),
  );
  const outcome = await ask("s14");
  judge("s14", outcome, {
    text: LONG_TEXT,
    ok: outcome.code === "upstream_error" && attemptsOf("s14").length === 1,
  });
});

test("S15: down for a while, then healthy: the circuit opens, others serve, a probe closes it", async () => {
  const [first] = set("s15", down);
  const recoverAtMs = performance.now() + 6_000;
  const served: boolean[] = [];
  while (performance.now() < recoverAtMs) {
    served.push((await ask("s15", false)).text === TEXT);
    await sleep(400);
  }
  const whileDown = first.callsOf("s15").length;
  first.scripts.set("s15", good);
  const recoveredMs = performance.now();
  let backAfterMs = Number.POSITIVE_INFINITY;
  while (performance.now() - recoveredMs < 4_000 && backAfterMs === Number.POSITIVE_INFINITY) {
    const before = first.callsOf("s15").length;
    served.push((await ask("s15", false)).text === TEXT);
    if (first.callsOf("s15").length > before) backAfterMs = performance.now() - recoveredMs;
    await sleep(400);
  }
  expect(served.every(Boolean)).toBe(true);
  expect(whileDown).toBeLessThan(served.length);
  judge(
    "s15",
    { status: 200, text: TEXT, code: undefined, tookMs: backAfterMs, isWhole: true },
    { ok: backAfterMs <= 3_000 },
  );
});

test("S16: 503 for ever, and the fallback answers: its usage and its price, and nothing for the failed attempts", async () => {
  set("s16", down);
  const { app, chat, seed } = router();
  const seeded = await seed();
  const startedMs = performance.now();
  const reply = await chat(seeded, { model: "s16", max_tokens: 100 });
  const answer = (await reply.json()) as ReturnType<typeof completion> & {
    usage: typeof USAGE;
    x_0g_trace: { provider: string };
  };
  const { rows } = await app.requests.list(seeded.account, { first: 10 });
  const [, price] = PRICES;
  const due = BigInt(USAGE.prompt_tokens) * price.prompt + BigInt(USAGE.completion_tokens) * price.completion;
  const [request] = rows;
  expect(request).toMatchObject({ status: "completed", inputTokens: 9, outputTokens: 8 });
  expect(request?.provider).toBe(answer.x_0g_trace.provider);
  const ok = answer.usage.completion_tokens === 8 && request?.cost?.total === due && rows.length === 1;
  const outcome = {
    status: reply.status,
    text: TEXT,
    code: undefined,
    tookMs: performance.now() - startedMs,
    isWhole: true,
  };
  judge("s16", outcome, { ok });
});

const PASSING = [
  {
    fault: "429 with Retry-After, then fine",
    script: once((_, response) => sendJson(response, 429, {}, { "retry-after": "1" })),
    owed: 200,
    leastPauseMs: 950,
  },
  { fault: "one 500, then fine", script: once((_, response) => sendJson(response, 500, {})), owed: 200 },
  {
    fault: "one reset, then fine",
    script: once((_, response) => void response.socket?.resetAndDestroy()),
    owed: 200,
  },
  { fault: "503 for ever", script: down, owed: 502 },
  { fault: "429 for ever", script: busy, owed: 503 },
].map((row, n) => ({ ...row, name: ALONE[n] ?? "" }));

test.each(PASSING)(
  "$fault, and the client wants no other provider: the same one is asked again, thrice at the most",
  async ({ name, script, owed, leastPauseMs = 100 }) => {
    const [first, second] = set(name, script);
    const outcome = await ask(name, false, { "x-0g-provider-allow-fallbacks": "false" });
    expect(outcome.status).toBe(owed);
    expect(second.callsOf(name)).toHaveLength(0);
    const calls = first.callsOf(name).map(({ atMs }) => atMs);
    expect(calls).toHaveLength(owed === 200 ? 2 : 3);
    const pauses = calls.slice(1).map((at, n) => at - (calls[n] ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(leastPauseMs);
    if (pauses[1] !== undefined) expect(pauses[1]).toBeGreaterThanOrEqual(200);
  },
);

test("the score: no fail, and at least thirteen pass", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
  const all = NAMES.map((name) => scores.get(name)?.score ?? "fail");
  expect(all.filter((score) => score === "fail")).toEqual([]);
  expect(all.filter((score) => score === "pass").length).toBeGreaterThanOrEqual(13);
});

afterAll(() => {
  const lines = NAMES.map((name) => {
    const { score, note } = scores.get(name) ?? { score: "fail", note: "not run" };
    return `  ${name.toUpperCase()}  ${score.padEnd(7)}  ${note}`;
  });
  const count = (wanted: Score) => [...scores.values()].filter(({ score }) => score === wanted).length;
  process.stdout.write(
    `provider faults: ${count("pass")} pass, ${count("partial")} partial, ${count("safe")} safe, ${count("fail")} fail\n${lines.join("\n")}\n`,
  );
});
