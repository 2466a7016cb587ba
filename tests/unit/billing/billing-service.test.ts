import { describe, expect, test } from "vitest";
import type { Settlement } from "../../../src/accounts/settlements.store.ts";
import { Admitted } from "../../../src/inference/billing/admitted.ts";
import { BillingService } from "../../../src/inference/billing/billing.service.ts";
import type { Ending } from "../../../src/inference/billing/ending.ts";
import { nothing, type Verdict } from "../../../src/inference/evidence/tee-signature.ts";
import { ProviderFailure } from "../../../src/inference/providers/exchange/provider-failure.ts";
import type { EndedRequest } from "../../../src/inference/requests/request-observer.ts";
import type { RequestTrace } from "../../../src/inference/requests/request-trace.ts";
import type { PromptCachesService } from "../../../src/inference/routing/prompt-caches.service.ts";
import type { Affinity } from "../../../src/inference/routing/ranking.ts";
import { addressOf, offer } from "../../support/inference/offers.ts";

const [FIRST, SECOND] = [offer(2, { outputPrice: 3n }), offer(5, { isCentralized: true })];
const REFUSED = [{ provider: addressOf(9), reason: "unroutable" }] as const;

/** A request admitted with two candidates at time 100, on a clock that the test sets. */
function admit({
  verifyTee,
  trace,
  affinity,
}: {
  verifyTee?: boolean;
  trace?: RequestTrace;
  affinity?: Affinity;
} = {}) {
  const clock = { nowMs: 100 };
  const admitted = new Admitted({
    requestId: "request-1",
    account: "account-1",
    request: {
      model: "m",
      preferences: {},
      verifyTee,
      body: (provider: object, heldNeuron: bigint) => Buffer.from(`${provider === FIRST} ${heldNeuron}`),
    } as never,
    candidates: [FIRST, SECOND],
    refused: REFUSED,
    heldNeuron: 1_000n,
    clock: { now: () => new Date(0), monotonicMs: () => clock.nowMs },
    startedMs: 100,
    trace,
    affinity,
  });
  return { admitted, at: (ms: number) => Object.assign(clock, { nowMs: 100 + ms }) };
}

/** A billing service that charges the cost, or the given amount, and records what it receives. */
function openBilling({ charged, verdict = "verified" }: { charged?: bigint; verdict?: Verdict } = {}) {
  const settled: Settlement[] = [];
  const observed: EndedRequest[] = [];
  const checked: object[] = [];
  const remembered: Parameters<PromptCachesService["answered"]>[] = [];
  const billing = new BillingService({
    holds: {
      settle: async (settlement) => {
        settled.push(settlement);
        return charged ?? settlement.inputCost + settlement.outputCost;
      },
    },
    evidence: {
      check: async (answer) => {
        checked.push(answer);
        return { verdict, form: "hashes", requestBound: false, responseBound: verdict === "verified" };
      },
    },
    promptCaches: { answered: (...answer) => void remembered.push(answer) },
    observer: { ended: (request) => void observed.push(request) },
  });
  return { billing, settled, observed, checked, remembered };
}

const usage = { inputTokens: 10, outputTokens: 4, cache: { read: 1, write: 0, write1h: 0 } };

describe("a completed request", () => {
  test("is charged at the price of the provider that answered, and its row says how it was routed", async () => {
    const { admitted, at } = admit();
    const { billing, settled } = openBilling();
    admitted.beginAttempt(FIRST);
    at(30);
    admitted.endAttempt("failed", new ProviderFailure("busy", { status: 429 }));
    admitted.beginAttempt(SECOND);
    at(45);
    admitted.markFirstByte();
    at(95.4);
    await billing.settle(admitted, { outcome: "completed", usage });
    expect(settled).toStrictEqual([
      {
        id: "request-1",
        outcome: "completed",
        inputTokens: 10,
        outputTokens: 4,
        cache: usage.cache,
        units: undefined,
        usageEstimated: false,
        inputCost: 50n,
        outputCost: 20n,
        errorCode: undefined,
        firstByteMs: 45,
        durationMs: 95,
        answeredBy: {
          provider: SECOND.address,
          model: "m",
          inputPrice: 5n,
          outputPrice: 5n,
          trustMode: "verified",
        },
        routing: {
          attempts: [
            {
              provider: FIRST.address,
              outcome: "failed",
              reason: "busy",
              status: 429,
              startMs: 0,
              durationMs: 30,
            },
            { provider: SECOND.address, outcome: "answered", startMs: 30, durationMs: 65 },
          ],
          refused: REFUSED,
          streamed: false,
          admittedMs: 0,
        },
        receipt: expect.objectContaining({ endpoint: "/graphql", awaitsReturned: false }),
      },
    ]);
  });

  test("is charged at the price of the tier of its prompt, and shows that price", async () => {
    const { admitted } = admit();
    const { billing, settled } = openBilling();
    const tiers = [{ maxInputTokens: 10, inputPrice: 1n, outputPrice: 1n }];
    await billing.settle(admitted, { outcome: "completed", usage, provider: offer(7, { tiers }) });
    expect(settled[0]).toMatchObject({
      inputCost: 10n,
      outputCost: 4n,
      answeredBy: { provider: addressOf(7), inputPrice: 1n, outputPrice: 1n, trustMode: "private" },
    });
    const short = [{ maxInputTokens: 9, inputPrice: 1n, outputPrice: 1n }];
    const provider = offer(7, { tiers: short });
    await billing.settle(admit().admitted, { outcome: "completed", usage, provider });
    expect(settled[1]).toMatchObject({ inputCost: 70n, answeredBy: { inputPrice: 7n, outputPrice: 7n } });
  });

  test("of images or seconds is charged by their number", async () => {
    const { admitted } = admit();
    const { billing, settled } = openBilling();
    await billing.settle(admitted, { outcome: "completed", usage: { inputUnits: 1, outputUnits: 3 } });
    expect(settled[0]).toMatchObject({ units: 4, inputCost: 2n, outputCost: 9n, inputTokens: undefined });
    expect(settled[0]).not.toHaveProperty("cache");
  });

  test("shows the client what was charged, which may be less than its cost", async () => {
    const shown = async (charged?: bigint) => {
      const { billing } = openBilling(charged === undefined ? {} : { charged });
      const { admitted } = admit();
      return billing.settle(admitted, { outcome: "completed", usage });
    };
    const bill = (input_cost: string, output_cost: string, total_cost: string) => ({
      request_id: "request-1",
      provider: FIRST.address,
      billing: { input_cost, output_cost, total_cost },
    });
    expect(await shown()).toStrictEqual(bill("20", "12", "32"));
    expect(await shown(25n)).toStrictEqual(bill("20", "5", "25"));
    expect(await shown(0n)).toStrictEqual(bill("0", "0", "0"));
  });

  test("says whether its signature is valid, if the client asked for it", async () => {
    const ending: Ending = { outcome: "completed", usage, answerId: "answer-1" };
    for (const verdict of ["verified", "unbound"] as const) {
      const { billing, checked } = openBilling({ verdict });
      const { admitted } = admit({ verifyTee: true });
      expect(admitted.isVerified).toBe(true);
      expect(await billing.settle(admitted, ending)).toMatchObject({
        tee_verified: verdict === "verified",
        tee_evidence: {
          verdict,
          form: "hashes",
          request_bound: false,
          response_bound: verdict === "verified",
        },
      });
      expect(checked).toEqual([
        {
          requestId: "request-1",
          account: "account-1",
          provider: FIRST,
          answerId: "answer-1",
          hashes: undefined,
        },
      ]);
    }
    const { billing, checked } = openBilling();
    const unasked = admit().admitted;
    expect(unasked.isVerified).toBe(false);
    expect(await billing.settle(unasked, ending)).not.toHaveProperty("tee_verified");
    const aborted = admit({ verifyTee: true }).admitted;
    expect(await billing.settle(aborted, { ...ending, outcome: "aborted" })).not.toHaveProperty(
      "tee_verified",
    );
    expect(checked).toEqual([]);
  });
});

describe("a request that was not completed", () => {
  test("is charged for what was delivered, with the reason of its end", async () => {
    const { admitted, at } = admit();
    const { billing, settled, observed } = openBilling();
    admitted.beginAttempt(FIRST);
    at(20);
    const ending: Ending = { outcome: "failed", usage, estimated: true, errorCode: "provider_error" };
    await billing.settle(admitted, ending);
    expect(settled[0]).toMatchObject({
      outcome: "failed",
      errorCode: "provider_error",
      usageEstimated: true,
      inputCost: 20n,
      outputCost: 12n,
      routing: { attempts: [{ provider: FIRST.address, outcome: "failed", durationMs: 20 }] },
    });
    expect(observed[0]).toMatchObject({
      outcome: "provider_error",
      tries: 1,
      inputTokens: 10,
      outputTokens: 4,
    });
  });

  test("costs nothing if nothing was delivered", async () => {
    const { admitted } = admit();
    const { billing, settled, observed } = openBilling();
    const trace = await billing.settle(admitted, { outcome: "aborted", errorCode: "client_closed" });
    expect(trace.billing.total_cost).toBe("0");
    expect(settled[0]).toMatchObject({
      inputTokens: undefined,
      inputCost: 0n,
      outputCost: 0n,
      units: undefined,
    });
    expect(observed[0]).toMatchObject({ outcome: "aborted", tries: 0, inputTokens: undefined });
    await billing.settle(admit().admitted, { outcome: "failed" });
    expect(observed[1]).toMatchObject({ outcome: "failed", serviceType: "chatbot", model: "m" });
  });
});

test("the provider that answers a conversation is remembered, whatever was expected, unless nothing was delivered", async () => {
  const affinity = { conversation: "c", warm: { provider: FIRST.address, tokens: 5 } };
  const { billing, settled, remembered } = openBilling();
  const settle = async (ending: Ending, given: { affinity?: Affinity } = { affinity }) => {
    const { admitted } = admit(given);
    admitted.beginAttempt(FIRST);
    admitted.beginAttempt(SECOND);
    await billing.settle(admitted, ending);
  };
  await settle({ outcome: "completed", usage });
  await settle({ outcome: "completed", usage, estimated: true });
  await settle({ outcome: "aborted", usage });
  await settle({ outcome: "failed", usage });
  await settle({ outcome: "aborted" });
  await settle({ outcome: "completed", usage }, {});
  expect(remembered).toEqual([
    ["c", SECOND, usage, { isStated: true }],
    ["c", SECOND, usage, { isStated: false }],
    ["c", SECOND, usage, { isStated: false }],
  ]);
  expect(settled[0]?.routing).toMatchObject({ cachedBy: FIRST.address });
  expect(settled.at(-1)?.routing).not.toHaveProperty("cachedBy");
});

test("the span of a request contains its settlement and ends with it, even if it fails", async () => {
  const seen: string[] = [];
  const trace = {
    run: (work: () => unknown) => {
      seen.push("run");
      return work();
    },
    settled: ({ provider }: { provider: { address: string } }) => seen.push(`settled ${provider.address}`),
  } as unknown as RequestTrace;
  const failing = new BillingService({
    holds: { settle: () => Promise.reject(new Error("out of reach")) },
    evidence: { check: async () => nothing("missing") },
    promptCaches: { answered: () => {} },
  });
  const { admitted } = admit({ trace });
  await expect(failing.settle(admitted, { outcome: "completed", usage })).rejects.toThrow("out of reach");
  expect(seen).toEqual(["run", `settled ${FIRST.address}`]);
});
