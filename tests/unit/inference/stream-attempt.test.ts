import { expect, onTestFinished, test, vi } from "vitest";
import type { Ending } from "../../../src/inference/billing/ending.ts";
import { ChatEvents } from "../../../src/inference/chat/chat-events.ts";
import { TextMeter } from "../../../src/inference/chat/text-meter.ts";
import { ReadingTurns } from "../../../src/inference/dispatch/reading-turns.ts";
import type { StreamOptions } from "../../../src/inference/dispatch/stream-options.ts";
import { StreamRelay } from "../../../src/inference/dispatch/stream-relay.ts";
import type { ProviderListener } from "../../../src/inference/providers/exchange/provider-exchange.ts";
import { DeadlineExceeded } from "../../../src/inference/providers/exchange/provider-failure.ts";
import { DONE, event, FINISH, USAGE, USAGE_CHUNK } from "../../support/inference/scripted-provider.ts";
import { until } from "../../support/until.ts";

const CONTENT = event({ delta: { content: "The sea" } });
const HEAD = { status: 200, contentType: "text/event-stream", responseKey: undefined };

test.each([
  ["breaks within an event", "data: {", new Error("socket hang up"), { kind: "unreachable" }],
  ["exceeds its deadline within an event", "data: {", new DeadlineExceeded(), { kind: "silent" }],
  [
    "breaks after an error without a blank line",
    'data: {"error":{"code":"rate_limit_exceeded"}}\n',
    new Error("reset"),
    { kind: "busy" },
  ],
  ["breaks after an invalid event", "data: {\n\n", new Error("reset"), { kind: "malformed" }],
])("a stream that %s fails by what happened to it", async (_, rest, error, failure) => {
  const { provider, run } = await start();
  provider.onHead(HEAD);
  provider.onChunk(Buffer.from(CONTENT + rest));
  provider.onError(error);
  await expect(run).rejects.toMatchObject(failure);
});

test("a stream that ends within an event is the provider's fault", async () => {
  const { provider, run } = await start();
  provider.onHead(HEAD);
  provider.onChunk(Buffer.from(`${CONTENT}data: {`));
  provider.onEnd();
  await expect(run).rejects.toMatchObject({ kind: "malformed" });
});

test("a deadline that ends a stream within an event does not count against the provider if the client was behind", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { provider, run, client } = await start();
  provider.onHead(HEAD);
  client.isBehind = true;
  provider.onChunk(Buffer.from(CONTENT));
  await until(() => client.text !== "");
  vi.advanceTimersByTime(50_000);
  client.drain();
  provider.onChunk(Buffer.from("data: {"));
  provider.onError(new DeadlineExceeded());
  const failure = await run.catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "provider_error" });
  expect(failure).not.toHaveProperty("kind");
});

test("a client that is behind at the end of an answer is charged what its provider reports", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { provider, run, client, bills } = await start();
  provider.onHead(HEAD);
  provider.onChunk(Buffer.from(CONTENT));
  client.isBehind = true;
  provider.onChunk(Buffer.from(FINISH));
  provider.onChunk(Buffer.from(USAGE_CHUNK + DONE));
  vi.advanceTimersByTime(20_000);
  client.drain();
  await run;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = USAGE;
  expect(bills).toMatchObject([
    { outcome: "completed", estimated: false, usage: { inputTokens, outputTokens } },
  ]);
  expect(client.text).toContain("[DONE]");
});

test("a provider that says nothing after its answer is not waited for once the client has caught up", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { provider, run, client, bills } = await start();
  provider.onHead(HEAD);
  client.isBehind = true;
  provider.onChunk(Buffer.from(CONTENT + FINISH));
  client.drain();
  vi.advanceTimersByTime(3_000);
  await run;
  expect(bills).toMatchObject([{ outcome: "completed", estimated: true }]);
});

/** Starts an attempt with a provider whose part the test plays, for a client that reads when the test says so. */
async function start() {
  const bills: Ending[] = [];
  const drains: (() => void)[] = [];
  const client = {
    text: "",
    isBehind: false,
    drain() {
      client.isBehind = false;
      for (const listener of drains) listener();
    },
  };
  const sink = {
    start() {},
    write(bytes: Buffer) {
      client.text += bytes.toString();
      return !client.isBehind;
    },
    end() {},
    abort() {},
    isClosed: () => false,
    onDrain: (listener: () => void) => void drains.push(listener),
    onClose() {},
  };
  const billing = {
    async settle(_: unknown, ending: Ending) {
      bills.push(ending);
      await ending.closing?.({} as never);
      return {};
    },
  };
  const admitted = {
    markDelivered() {},
    markFirstByte() {},
    unproven: () => undefined,
    shownCost: () => ({}),
  };
  const bounds = { maxInputTokens: 1_000, maxOutputTokens: 1_000 };
  const newReader = () =>
    new ChatEvents({
      ...{ wantsUsage: true, choices: 1, limits: bounds },
      text: new TextMeter({ countTexts: async () => 1 }),
    });
  const relay = new StreamRelay({
    ...{ sink, billing, admitted, newReader, turns: new ReadingTurns(), countInput: async () => 1 },
    ...{ firstTokenMs: 60_000, silenceMs: 60_000, stallMs: 60_000, resumes: false },
  } as unknown as StreamOptions);
  const begun = Promise.withResolvers<ProviderListener>();
  const attempt = { provider: { url: "" }, hasOther: false, totalMs: 60_000, firstByte() {}, answered() {} };
  const run = relay.run(attempt as never, async (listener) => {
    begun.resolve(listener);
    return { abort() {}, pause() {}, resume() {} };
  });
  run.catch(() => {});
  return { provider: await begun.promise, run, client, bills };
}
