import { expect, test } from "vitest";
import { Admitted } from "../../../src/inference/billing/admitted.ts";
import { ProviderFailure } from "../../../src/inference/providers/exchange/provider-failure.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import type { RequestTrace } from "../../../src/inference/requests/request-trace.ts";
import { offer } from "../../support/inference/offers.ts";

const [FIRST, SECOND] = [offer(1), offer(2)];

function admit(candidates: readonly Provider[] = [FIRST, SECOND], trace?: RequestTrace) {
  const clock = { nowMs: 1_000 };
  const body = ({ address }: Provider, heldNeuron: bigint) => Buffer.from(`${address} ${heldNeuron}`);
  const admitted = new Admitted({
    requestId: "request-1",
    account: "account-1",
    request: { body, preferences: {} } as never,
    candidates,
    refused: [],
    heldNeuron: 77n,
    clock: { now: () => new Date(0), monotonicMs: () => clock.nowMs },
    startedMs: 1_000,
    trace,
  });
  return { admitted, at: (ms: number) => Object.assign(clock, { nowMs: 1_000 + ms }) };
}

test("a provider is sent the body for it and for the held amount", () => {
  expect(admit().admitted.bodyFor(SECOND).toString()).toBe(`${SECOND.address} 77`);
});

test("the time to first byte is that of the attempt that answered, and of its first byte", () => {
  const { admitted, at } = admit();
  admitted.beginAttempt(FIRST);
  at(10);
  admitted.markFirstByte();
  admitted.endAttempt("failed");
  admitted.beginAttempt(SECOND);
  at(30);
  admitted.markFirstByte();
  at(40);
  admitted.markFirstByte();
  expect(admitted.summarize({ outcome: "completed" })).toMatchObject({
    firstByteMs: 30,
    durationMs: 40,
    provider: SECOND,
  });
});

test("once the client has received content, a later attempt does not reset its time to first byte", () => {
  const { admitted, at } = admit();
  admitted.beginAttempt(FIRST);
  at(10);
  admitted.markFirstByte();
  admitted.markDelivered();
  admitted.beginAttempt(SECOND);
  at(30);
  admitted.markFirstByte();
  expect(admitted.summarize({ outcome: "completed" }).firstByteMs).toBe(10);
});

test("the outcome of an attempt is recorded once, the first time", () => {
  const { admitted, at } = admit();
  admitted.endAttempt("failed");
  admitted.beginAttempt(FIRST);
  at(5);
  admitted.endAttempt("aborted", new Error("closed"));
  at(9);
  admitted.endAttempt("answered");
  const { attempts } = admitted.summarize({ outcome: "failed" }).routing;
  expect(attempts).toStrictEqual([
    { provider: FIRST.address, outcome: "aborted", startMs: 0, durationMs: 5 },
  ]);
});

test("the failure of an attempt is recorded by its kind and the provider's status, if it answered", () => {
  const { admitted } = admit();
  for (const failure of [
    new ProviderFailure("failed", { status: 503 }),
    new ProviderFailure("unreachable"),
  ]) {
    admitted.beginAttempt(FIRST);
    admitted.endAttempt("failed", failure);
  }
  expect(admitted.summarize({ outcome: "failed" }).routing.attempts).toStrictEqual([
    { provider: FIRST.address, outcome: "failed", reason: "failed", status: 503, startMs: 0, durationMs: 0 },
    { provider: FIRST.address, outcome: "failed", reason: "unreachable", startMs: 0, durationMs: 0 },
  ]);
});

test.each([
  ["completed", "answered"],
  ["failed", "failed"],
  ["aborted", "aborted"],
] as const)("a request that ends as %s ends its attempt in progress as %s", (ending, outcome) => {
  const { admitted } = admit();
  admitted.beginAttempt(FIRST);
  expect(admitted.summarize({ outcome: ending }).routing.attempts).toMatchObject([{ outcome }]);
});

test("a request that reached no provider counts for its first candidate, and there is always one", () => {
  expect(admit().admitted.summarize({ outcome: "failed" })).toMatchObject({
    provider: FIRST,
    firstByteMs: undefined,
  });
  expect(() => admit([]).admitted.summarize({ outcome: "failed" })).toThrow("without a candidate");
});

test("each attempt is a span of the request's trace", () => {
  const seen: unknown[] = [];
  const trace = {
    beginAttempt: ({ address }: Provider) => seen.push(["begin", address]),
    endAttempt: (outcome: string, error: unknown) => seen.push(["end", outcome, error]),
  } as unknown as RequestTrace;
  const { admitted } = admit([FIRST], trace);
  admitted.beginAttempt(FIRST);
  const error = new Error("closed");
  admitted.endAttempt("failed", error);
  expect(seen).toEqual([
    ["begin", FIRST.address],
    ["end", "failed", error],
  ]);
});
