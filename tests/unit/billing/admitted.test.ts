import { expect, test } from "vitest";
import { Admitted } from "../../../src/inference/billing/admitted.ts";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { ProviderFailure } from "../../../src/inference/providers/exchange/provider-failure.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import type { RequestTrace } from "../../../src/inference/requests/request-trace.ts";
import { ExactNumber } from "../../../src/kernel/text/exact-json.ts";
import { offer } from "../../support/inference/offers.ts";

const [FIRST, SECOND] = [offer(1), offer(2)];

function admit(
  candidates: readonly Provider[] = [FIRST, SECOND],
  given: Partial<ConstructorParameters<typeof Admitted>[0]> = {},
) {
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
    ...given,
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
  const { admitted } = admit([FIRST], { trace });
  admitted.beginAttempt(FIRST);
  const error = new Error("closed");
  admitted.endAttempt("failed", error);
  expect(seen).toEqual([
    ["begin", FIRST.address],
    ["end", "failed", error],
  ]);
});

test("the answer's signature is verified if the client or its key requires proof", () => {
  const request = { preferences: {} } as never;
  const verifying = { preferences: {}, verifyTee: true } as never;
  expect(admit([FIRST], { request }).admitted.isVerified).toBe(false);
  expect(admit([FIRST], { request: verifying }).admitted.isVerified).toBe(true);
  expect(admit([FIRST], { requiredEvidence: "bound" }).admitted.isVerified).toBe(true);
});

test("an answer without the required proof is named as such, and only then", () => {
  const bill = (verdict?: "verified" | "missing") =>
    ({ ...(verdict && { tee_evidence: { verdict } }) }) as unknown as Trace;
  const required = admit([FIRST], { requiredEvidence: "attested" }).admitted;
  expect(required.unproven(bill("verified"))).toBeUndefined();
  expect(required.unproven(bill("missing"))).toMatchObject({
    code: "evidence_missing",
    message: expect.stringContaining("(missing)"),
  });
  expect(required.unproven(bill())).toMatchObject({ code: "evidence_missing" });
  expect(admit().admitted.unproven(bill("missing"))).toBeUndefined();
});

test("the cost of an answer is shown in the token, and in dollars at the price when it was admitted", () => {
  const bill = { billing: { total_cost: "1500000000000000000" } } as Trace;
  expect(admit().admitted.shownCost(bill)).toStrictEqual({ cost: new ExactNumber("1.5") });
  const priced = admit([FIRST], { tokenUsd: 2n * 10n ** 18n }).admitted;
  expect(priced.shownCost(bill)).toStrictEqual({
    cost: new ExactNumber("1.5"),
    cost_usd: new ExactNumber("3"),
  });
});

test("a request is reduced only if its admission says so, and knows its cache request and conversation", () => {
  const { admitted } = admit();
  expect(admitted).toMatchObject({
    isReduced: false,
    cache: undefined,
    affinity: undefined,
    hasModels: false,
  });
  const cache = { name: "n", maxAgeSeconds: 1, key: {} as never };
  const affinity = { conversation: "c", warm: { provider: SECOND.address, tokens: 1 } };
  const given = admit([FIRST], { isReduced: true, cache, affinity }).admitted;
  expect(given).toMatchObject({ isReduced: true, cache, affinity });
  expect(given.summarize({ outcome: "completed" }).routing).toMatchObject({ cachedBy: SECOND.address });
  const cold = admit([FIRST], { affinity: { conversation: "c", warm: undefined } }).admitted;
  expect(cold.summarize({ outcome: "completed" }).routing).not.toHaveProperty("cachedBy");
});

test("its routing says whether the answer was streamed, why it ended, and what the provider keeps of it", () => {
  const { admitted } = admit();
  expect(admitted.hasher).toBeUndefined();
  admitted.markStreamed();
  admitted.markKept("resp_1");
  const completed = { outcome: "completed", finishReason: "stop" } as const;
  expect(admitted.summarize(completed).routing).toStrictEqual({
    attempts: [],
    refused: [],
    streamed: true,
    admittedMs: 0,
    finishReason: "stop",
    keptResponse: "resp_1",
  });
  // A response that was not completed cannot be continued.
  expect(admitted.summarize({ outcome: "aborted" }).routing).toStrictEqual({
    attempts: [],
    refused: [],
    streamed: true,
    admittedMs: 0,
  });
});

test("content that was delivered is known, and what came of the client's cache request", () => {
  const { admitted } = admit();
  expect([admitted.isDelivered, admitted.cacheUse, admitted.served]).toEqual([false, undefined, undefined]);
  admitted.markDelivered();
  admitted.markCacheUse({ status: "miss" });
  expect([admitted.isDelivered, admitted.cacheUse, admitted.served]).toEqual([
    true,
    { status: "miss" },
    undefined,
  ]);
});
