// @module-tag large
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { boundPrompt } from "../../../src/inference/billing/prompt-bound.ts";
import { countRequestTokens, countTokens } from "../../../src/inference/billing/tokens.ts";
import { BodyPool } from "../../../src/inference/body/body-pool.ts";
import type { BodyResult } from "../../../src/inference/body/body-worker.ts";
import { outlineOf } from "../../../src/inference/body/outline.ts";
import type { ProviderAnswer } from "../../../src/inference/providers/exchange/provider-answer.ts";
import { WorkerPool } from "../../../src/kernel/async/worker-pool.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
import { until } from "../../support/until.ts";

const log = createLogger("silent");
const bodies = new BodyPool({ log });
afterAll(() => bodies.close());

/** 50 ms, plus slack for a busy machine. */
/** Twice the usual allowance: other test files share the processors with the copies of 60 MiB. */
const MAX_TURN_MS = 250;
const LONG = "The sea is a wide and open place. ".repeat(2_000);
/** Takes 20 s to count. */
const SLOW = Array.from({ length: 300_000 }, (_, n) =>
  String.fromCharCode(0x4e00 + ((n * n * 7_919) % 20_000)),
)
  .join("")
  .repeat(20);

describe("a long body parsed on a worker thread gives the result of the event loop", () => {
  const messages = [{ role: "user", content: LONG }];

  test("its text, its prompt and its answer are counted exactly", async () => {
    const request = Buffer.from(JSON.stringify({ messages, tools: [{ name: "look" }] }));
    const chat = Buffer.from(JSON.stringify({ choices: [{ message: { content: LONG } }] }));
    const message = Buffer.from(JSON.stringify({ content: [{ text: LONG }] }));
    expect(await bodies.countTexts([LONG])).toBe(countTokens(LONG));
    expect(await bodies.countRequest(request)).toBe(
      countRequestTokens({ messages, tools: [{ name: "look" }] }),
    );
    expect(await bodies.countAnswer(chat, "chat")).toBe(countTokens(LONG));
    expect(await bodies.countAnswer(message, "message")).toBe(countTokens(LONG));
  });

  test("a prompt does not count for less because of a field of another kind of request", () => {
    const prompts = [
      { messages: [{ role: "user", content: LONG }] },
      { input: LONG },
      { prompt: LONG, suffix: "b" },
      { query: "b", documents: [LONG] },
    ];
    const empty = { messages: [], input: "", prompt: "", query: "", documents: [] };
    for (const prompt of prompts) {
      const tokens = countRequestTokens(prompt as never);
      expect(tokens).toBeGreaterThanOrEqual(countTokens(LONG));
      expect(countRequestTokens({ ...empty, ...prompt })).toBeGreaterThanOrEqual(tokens);
    }
  });

  test("a leading byte order mark changes nothing", async () => {
    const json = Buffer.from(JSON.stringify({ messages: [{ role: "user", content: "a" }] }));
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), json]);
    expect(await bodies.countRequest(marked)).toBe(await bodies.countRequest(json));
  });

  test("of an answer, every judged field is returned, however long other fields are", async () => {
    const choice = { message: { content: LONG }, logprobs: { content: Array(10_000).fill({ token: "a" }) } };
    const answer = { id: "a", choices: Array(50).fill(choice), usage: { prompt_tokens: 1 } };
    const parsed = (await bodies.parseAnswer(Buffer.from(JSON.stringify(answer)))) as typeof answer;
    expect(parsed).toMatchObject({ id: "a", usage: { prompt_tokens: 1 } });
    expect(parsed.choices).toHaveLength(50);
    expect(LONG.startsWith(parsed.choices[49]?.message.content ?? "?")).toBe(true);
    await expect(bodies.parseAnswer(Buffer.alloc(300_000, "["))).rejects.toThrow();
  });

  test("its error names the field", async () => {
    const body = Buffer.from(JSON.stringify({ model: "m", file_base64: "A".repeat(300_000), stream: true }));
    await expect(bodies.readTranscription(body)).rejects.toMatchObject({
      code: "invalid_body",
      param: "stream",
    });
  });
});

describe("a provider's answer about an image job", () => {
  const answerOf = (value: unknown): ProviderAnswer => ({
    status: 200,
    contentType: "application/json",
    responseKey: undefined,
    body: Buffer.from(JSON.stringify(value)),
  });
  const resultOf = (sizeBytes: number) => ({
    created: 1,
    data: Array.from({ length: 10 }, () => ({
      b64_json: "QUJD".repeat(sizeBytes / 40),
      revised_prompt: "中",
    })),
  });

  test.each([
    ["short", 4_000],
    ["long", 400_000],
  ])("is read completely when it is %s", async (_what, sizeBytes) => {
    const data = resultOf(sizeBytes);
    const text = JSON.stringify(data).replaceAll("中", "\\u4e2d");
    const done = { kind: "done", images: 10, result: new TextEncoder().encode(text) };
    expect(await bodies.readSubmission(answerOf({ id: "x", ...data }))).toEqual(done);
    expect(await bodies.readReport(answerOf({ status: "completed", data }))).toEqual(done);
    const bad = { created: 1, data: [...data.data.slice(1), { b64_json: "?" }] };
    expect(await bodies.readSubmission(answerOf(bad))).toMatchObject({ kind: "failed" });
    expect(await bodies.readReport(answerOf({ status: "completed", data: bad }))).toMatchObject({
      kind: "failed",
    });
  });

  test("never blocks the event loop, however long it is", async () => {
    const data = resultOf(60 * 1_048_576);
    const [submission, report] = [answerOf(data), answerOf({ status: "completed", data })];
    for (const read of [() => bodies.readSubmission(submission), () => bodies.readReport(report)]) {
      let kind = "";
      const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
        kind = (await read()).kind;
      });
      expect(kind).toBe("done");
      expect(turnMs).toBeLessThan(MAX_TURN_MS);
    }
  });
});

test("many short texts that become due together are counted in several turns", async () => {
  const texts = Array.from({ length: 200 }, (_, n) => `${n}`.padEnd(16_000, "ab"));
  let tokens: number[] = [];
  const longestMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    tokens = await Promise.all(texts.map((text) => bodies.countTexts([text])));
  });
  expect(longestMs).toBeLessThan(MAX_TURN_MS);
  expect(tokens[7]).toBe(countTokens(texts[7] ?? ""));
});

test("a word of 10 million letters is counted", () => {
  const perLetter = countTokens("a".repeat(65_536)) / 65_536;
  expect(countTokens("a".repeat(10_000_000)) / 10_000_000).toBeCloseTo(perLetter, 3);
});

test("the outline of a short value is the value", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const json = JSON.parse(JSON.stringify(value).replaceAll("__proto__", "proto"));
      expect(outlineOf(json)).toEqual(json);
    }),
  );
});

describe("a thread pool", () => {
  const newPool = (options: { maxBytes?: number; deadlineMs?: number; idleMs?: number } = {}) =>
    new WorkerPool<BodyResult>({
      file: new URL("../../../src/inference/body/body-worker.ts", import.meta.url),
      threads: 1,
      longBytes: 100,
      maxBytes: 1_000,
      deadlineMs: 60_000,
      idleMs: 60_000,
      ...options,
    });
  const quick = { kind: "count-texts", texts: ["a"] };
  const slow = { kind: "count-texts", texts: [SLOW] };

  const endless = (deadlineMs: number, threads = 1) =>
    new WorkerPool<string>({
      file: new URL("../../support/attack/endless-worker.ts", import.meta.url),
      ...{ threads, longBytes: 100, maxBytes: 1_000, deadlineMs, idleMs: 60_000 },
    });

  test("leaves a thread to short tasks, which do not wait for long ones", async () => {
    const pool = endless(60_000, 2);
    const long = Array.from({ length: 3 }, () => pool.run({ kind: "endless" }, 101));
    const ended = Promise.allSettled(long);
    expect(await pool.run({ kind: "echo", value: "one" }, 100)).toBe("one");
    expect(await pool.run({ kind: "echo", value: "two" }, 100)).toBe("two");
    expect(pool.threads).toBe(2);
    await pool.close();
    expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });

  test("aborts tasks past their deadline, waiting or running, and continues with the next", async () => {
    const pool = endless(2_000);
    const late = [pool.run({ kind: "endless" }, 1), pool.run({ kind: "endless" }, 1)];
    await Promise.all(late.map((task) => expect(task).rejects.toMatchObject({ code: "unavailable" })));
    expect(await pool.run({ kind: "echo", value: "next" }, 1)).toBe("next");
    await pool.close();
  });

  test("does not count the time in which a busy machine runs something else", async () => {
    const pool = endless(2_000);
    // Starting the thread uses processor time, which counts.
    expect(await pool.run({ kind: "echo", value: "started" }, 1)).toBe("started");
    expect(await pool.run({ kind: "echo", value: "late", suspendedMs: 3_000 }, 1)).toBe("late");
    const never = pool.run({ kind: "echo", value: "never", suspendedMs: 600_000 }, 1);
    await expect(never).rejects.toMatchObject({ code: "unavailable" });
    expect(await pool.run({ kind: "echo", value: "next" }, 1)).toBe("next");
    await pool.close();
  });

  test("refuses a task when its queue is full, and accepts one when there is room again", async () => {
    const pool = newPool();
    const first = pool.run(quick, 900);
    await expect(pool.run(quick, 200)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    await first;
    expect(await pool.run(quick, 200)).toEqual({ kind: "count", tokens: 1 });
    await pool.close();
  });

  test("reads what a provider answered however much is waiting, since the work is done", async () => {
    const full = newPool();
    const first = full.run(quick, 900);
    const answer = JSON.stringify({ id: "a".repeat(300_000), usage: { prompt_tokens: 1 } });
    const reader = new BodyPool({ log, threads: full });
    expect(await reader.parseAnswer(Buffer.from(answer))).toMatchObject({ usage: { prompt_tokens: 1 } });
    await first;
    await reader.close();
  });

  test("lets a task that must wait do so for longer than its deadline", async () => {
    const pool = endless(2_000);
    const running = expect(pool.run({ kind: "endless" }, 1)).rejects.toMatchObject({ code: "unavailable" });
    const waiting = pool.run({ kind: "echo", value: "later" }, 1, [], { mustWait: true });
    expect(await waiting).toBe("later");
    await running;
    await pool.close();
  });

  test("stops idle threads, and starts new ones on demand", async () => {
    const pool = newPool({ idleMs: 10 });
    await pool.run(quick, 1);
    await until(() => expect(pool.threads).toBe(0));
    expect(await pool.run(quick, 1)).toEqual({ kind: "count", tokens: 1 });
    await pool.close();
    expect(pool.threads).toBe(0);
  });

  test("fails running tasks when it closes, and accepts no more", async () => {
    const pool = newPool();
    const tasks = [pool.run(slow, 1), pool.run(quick, 1)].map((task) =>
      expect(task).rejects.toMatchObject({ code: "unavailable" }),
    );
    await pool.close();
    await Promise.all(tasks);
    await expect(pool.run(quick, 1)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("estimates tokens while it is busy, so that delivered answers are billed", async () => {
    const busy = new BodyPool({ log, threads: newPool({ maxBytes: 1, deadlineMs: 1 }) });
    expect(await busy.countTexts(["a".repeat(40_000)])).toBe(10_000);
    await busy.close();
  });
});

test("the upper bound of a prompt is never below its count", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 3_000 });
  const part = fc.oneof(
    text.map((said) => ({ type: "text", text: said })),
    fc.base64String().map((url) => ({ type: "image_url", image_url: { url } })),
    fc.base64String().map((data) => ({ type: "image", source: { type: "base64", data } })),
    text.map((data) => ({ type: "document", source: { type: "text", data } })),
    fc.base64String().map((data) => ({
      type: "tool_result",
      content: [{ type: "image", source: { type: "base64", data } }],
    })),
  );
  const message = fc.record({ role: fc.constant("user"), content: fc.oneof(text, fc.array(part)) });
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 5 }), (messages) => {
      const fields = { messages };
      const bytes = Buffer.from(JSON.stringify(fields));
      expect(boundPrompt(fields, bytes).maxTokens).toBeGreaterThanOrEqual(countRequestTokens(fields));
    }),
  );
});
