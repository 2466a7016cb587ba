import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { AttemptOptions } from "../../../src/inference/dispatch/attempt.ts";
import { ReadingTurns } from "../../../src/inference/dispatch/reading-turns.ts";
import { CLIENT_GONE } from "../../../src/inference/dispatch/stream-attempt.ts";
import type { StreamOptions } from "../../../src/inference/dispatch/stream-options.ts";
import { StreamRelay } from "../../../src/inference/dispatch/stream-relay.ts";
import { ProviderClient } from "../../../src/inference/providers/exchange/provider.client.ts";
import type { ProviderListener } from "../../../src/inference/providers/exchange/provider-exchange.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";

const STOPPED = new AppError("unavailable", "The server is shutting down.");

test.each([
  ["whose client leaves", (relay: Started) => relay.leave(), CLIENT_GONE],
  ["that is stopped", ({ relay }: Started) => relay.stop(STOPPED), STOPPED],
] as const)(
  "a stream %s while the credential of its provider is read from the chain fails by itself",
  async (_, end, failure) => {
    const unhandled: unknown[] = [];
    const listener = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", listener);
    onTestFinished(() => void process.off("unhandledRejection", listener));
    const { url, requests } = await startServer();
    const secret = Promise.withResolvers<string>();
    const client = new ProviderClient({
      credentials: { secretFor: () => secret.promise, forget() {} },
      deadlines: { connectMs: 60_000, firstByteMs: 60_000, silenceMs: 60_000, totalMs: 60_000 },
      connections: 1,
      allowsPrivate: true,
    });
    onTestFinished(() => client.close());
    const provider = { address: "0x01", source: "chain", url } as unknown as Provider;
    const started = startRelay();
    const run = started.relay.run(
      { provider, hasOther: true, totalMs: 60_000, firstByte() {}, answered() {} },
      (to) => client.post(provider, "/chat/completions", Buffer.from("{}"), to),
    );
    const outcome = run.catch((error: unknown) => error);
    end(started);
    // A rejection that nothing handles is reported after the turn in which it was made.
    await new Promise((resolve) => setImmediate(resolve));
    secret.resolve("");
    expect(await outcome).toBe(failure);
    expect([unhandled, requests()]).toEqual([[], 0]);
  },
);

test("streams whose provider ends share the turns of the event loop", async () => {
  const turnMs = await repeatedTurnMs(50, async () => {
    const breaking = Array.from({ length: STREAMS }, startDelivering);
    for (const { breakOff } of breaking) breakOff();
    await Promise.all(breaking.map(({ ended }) => ended));
  });
  expect(turnMs).toBeLessThan(50);
});

const STREAMS = 200;
/** What the end of one stream takes, milliseconds. */
const ENDING_MS = 1;

/** A stream that has delivered content, and takes `ENDING_MS` to be billed when `breakOff` breaks it. */
function startDelivering() {
  const reader = {
    read: () => "content",
    accept() {},
    shown: (event: Buffer) => event,
    isFinished: false,
    async meter() {
      const untilMs = performance.now() + ENDING_MS;
      while (performance.now() < untilMs);
      return { usage: { inputTokens: 1, outputTokens: 1 } };
    },
    broken: () => Buffer.from("data: broken\n\n"),
  };
  const sink = { isClosed: () => false, onClose() {}, onDrain() {}, start() {}, write: () => true, end() {} };
  const admitted = { markFirstByte() {}, markDelivered() {}, shownCost() {} };
  const relay = new StreamRelay({
    ...{ sink, admitted, turns: new ReadingTurns(), newReader: () => reader, resumes: false },
    ...{ silenceMs: 60_000, stallMs: 60_000, firstTokenMs: 60_000, billing: { settle: async () => ({}) } },
  } as unknown as StreamOptions);
  const posted = Promise.withResolvers<ProviderListener>();
  const attempt = { provider: {}, hasOther: false, totalMs: 60_000, firstByte() {}, answered() {} };
  const run = relay.run(attempt as unknown as AttemptOptions, async (listener) => {
    listener.onHead({ status: 200, contentType: "text/event-stream", responseKey: undefined });
    listener.onChunk(Buffer.from("data: word\n\n"));
    posted.resolve(listener);
    return { abort() {}, pause() {}, resume() {} };
  });
  return {
    breakOff: () => void posted.promise.then((listener) => listener.onError(new Error("closed"))),
    ended: run.catch((error) => relay.breakOff(error)),
  };
}

type Started = ReturnType<typeof startRelay>;

/** A relay that has delivered nothing, to a client that `leave` disconnects. */
function startRelay() {
  const leaving: (() => void)[] = [];
  const sink = {
    isClosed: () => false,
    onClose: (listener: () => void) => void leaving.push(listener),
    onDrain() {},
  };
  const options = {
    sink,
    turns: new ReadingTurns(),
    newReader: () => ({}),
    firstTokenMs: 60_000,
    resumes: false,
  };
  const relay = new StreamRelay(options as unknown as StreamOptions);
  return { relay, leave: () => leaving.forEach((listener) => void listener()) };
}

/** A server that counts the requests that it gets. */
async function startServer() {
  let count = 0;
  const server = createServer(() => void count++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => count };
}
